// SPDX-License-Identifier: Apache-2.0

package pending

import (
	"testing"
	"time"
)

func TestPendingWritesOrderResponsesAndEvents(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tc := range map[string]struct {
		steps string // "(" begins an own write, "A" is a response with state a, "a" an event with state a
		want  string // for each event and response: y if it is applied, n if not
	}{
		"the event of an own write":                         {"(Aa", "yy"},
		"an event before its answer":                        {"(aA", "yn"},
		"a user's edit between event and answer":            {"(abA", "yyn"},
		"a user's edit before the own event":                {"(bAa", "yyy"},
		"a late event of an earlier own write":              {"(A(Bab", "yyny"},
		"events lost, then a user's edit":                   {"(A(Bc", "yyy"},
		"a user restores an earlier state after all events": {"(A(Baba", "yynyy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, got := &Writes{}, ""
			for _, step := range tc.steps {
				switch {
				case step == '(':
					p.Begin()
				case step < 'a':
					got += yesNo(p.End(step+'a'-'A', now))
				default:
					got += yesNo(p.Event(step, now))
				}
			}
			if got != tc.want {
				t.Errorf("%s gives %s, want %s", tc.steps, got, tc.want)
			}
		})
	}
	p := &Writes{}
	p.Begin()
	p.End('a', now)
	p.Begin()
	p.End('b', now)
	if !p.Event('a', now.Add(2*Life)) || !p.Idle(now.Add(2*Life)) {
		t.Error("an own write never expires")
	}
}

func yesNo(b bool) string { return map[bool]string{true: "y", false: "n"}[b] }
