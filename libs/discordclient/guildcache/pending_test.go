package guildcache

import (
	"testing"
	"time"
)

func TestPendingWritesBringAnswersAndEventsIntoOrder(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tc := range map[string]struct {
		steps string // letters: states; lower case: an event; upper case: an own write that is answered; ( begins a write
		want  string // y or n per event and answer: applied or not
	}{
		"the event of an own write":                      {"(Aa", "yy"},
		"an event before its answer":                     {"(aA", "yn"},
		"a user's edit between event and answer":         {"(abA", "yyn"},
		"a user's edit before the own event":             {"(bAa", "yyy"},
		"the event of an own write but the last is late": {"(A(Bab", "yyny"},
		"events lost, then a user's edit":                {"(A(Bc", "yyy"},
		"back by hand after all events":                  {"(A(Baba", "yynyy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, got := &pendingWrites{}, ""
			for _, step := range tc.steps {
				switch {
				case step == '(':
					p.begin()
				case step < 'a':
					got += yesNo(p.end(step+'a'-'A', now))
				default:
					got += yesNo(p.event(step, now))
				}
			}
			if got != tc.want {
				t.Errorf("%s gives %s, want %s", tc.steps, got, tc.want)
			}
		})
	}
	p := &pendingWrites{}
	p.begin()
	p.end('a', now)
	p.begin()
	p.end('b', now)
	if !p.event('a', now.Add(2*pendingLife)) || !p.idle(now.Add(2*pendingLife)) {
		t.Error("an own write is waited for for ever")
	}
}

func yesNo(b bool) string { return map[bool]string{true: "y", false: "n"}[b] }
