// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	long := strings.Repeat("a ", 37) + "end of"
	for name, c := range map[string]struct{ before, after string }{
		"nothing":          {"", ""},
		"short lines stay": {"one\ntwo", "one\ntwo"},
		"a long line joins the rest of its sentence": {long + " the\nsentence.\nNext.",
			strings.Repeat("a ", 36) + "a\nend of the sentence.\nNext."},
		"paragraphs stay": {"One.\n\n" + long + "\n\nThree.", "One.\n\n" + strings.Repeat("a ", 36) + "a\nend of\n\nThree."},
		"lists stay":      {"Of:\n- one\n- two", "Of:\n- one\n- two"},
		"the rest of an indented line keeps the indentation": {"  " + long, "  " + strings.TrimSpace(strings.Repeat("a ", 37)) + "\n  end of"},
		"an address stays whole":                             {"See " + strings.Repeat("x", 80), "See\n" + strings.Repeat("x", 80)},
		"a quotation stays whole":                            {strings.Repeat("a ", 37) + `"0 2 * * *"`, strings.Repeat("a ", 36) + "a\n" + `"0 2 * * *"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wrap(c.before); got != c.after {
				t.Errorf("got\n%s\nwant\n%s", got, c.after)
			}
			if got := wrap(wrap(c.before)); got != c.after {
				t.Errorf("a second run changes it to\n%s", got)
			}
		})
	}
}

func TestQuantities(t *testing.T) {
	before, after := regexp.MustCompile(upstream), regexp.MustCompile(bounded)
	for _, q := range []string{"0", "1Gi", "1.", ".5", "+1.5k", "-1m", "1e3", "1E-3", "1e+999", "007", "1n", "1u"} {
		if !before.MatchString(q) || !after.MatchString(q) {
			t.Errorf("%q is refused", q)
		}
	}
	for _, q := range []string{"", ".", "1G i", "1Gi ", "1 Gi", "1GI", "1e", "Gi", "1,5", "--1"} {
		if before.MatchString(q) || after.MatchString(q) {
			t.Errorf("%q is accepted", q)
		}
	}
	for _, q := range []string{"1e1.5", "1e.5", "1e1000", "1e-999999999", "1e99999999999999999999"} {
		if !before.MatchString(q) || after.MatchString(q) {
			t.Errorf("%q is accepted, or was refused before", q)
		}
	}
}

func TestBoundQuantity(t *testing.T) {
	ruled := []any{map[string]any{"rule": "self.matches('" + bounded + "')"}}
	other := []any{map[string]any{"rule": "size(self) < 9"}}
	for name, c := range map[string]struct{ before, after map[string]any }{
		"no quantity":    {map[string]any{"pattern": "^a$"}, map[string]any{"pattern": "^a$"}},
		"without a rule": {map[string]any{"pattern": upstream}, map[string]any{"pattern": bounded}},
		"with another rule": {map[string]any{"pattern": upstream, "x-kubernetes-validations": other},
			map[string]any{"pattern": bounded, "x-kubernetes-validations": other}},
		"with a rule that has the bounded pattern": {map[string]any{"pattern": upstream, "x-kubernetes-validations": ruled},
			map[string]any{"x-kubernetes-validations": ruled}},
	} {
		if boundQuantity(c.before); !reflect.DeepEqual(c.before, c.after) {
			t.Errorf("%s: got %v, want %v", name, c.before, c.after)
		}
	}
}
