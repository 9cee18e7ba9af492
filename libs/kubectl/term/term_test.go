// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestColours(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	if StyleOf(&bytes.Buffer{}, none).Colour || IsTerminal(nil) {
		t.Error("a buffer is no terminal")
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	if StyleOf(null, none).Colour {
		t.Error("a device that is no terminal has no colours")
	}
	if got := (Style{}).Bad("x"); got != "x" {
		t.Errorf("without colours: %q", got)
	}
	painted := Style{Colour: true}
	if got := painted.Bad("x"); got != "\x1b[1;31mx\x1b[0m" || Width(got) != 1 || painted.Good("") != "" {
		t.Errorf("with colours: %q", got)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	red := Style{Colour: true}.Bad("bad")
	got := Table([][]string{{"NAME", "STATE"}, {"é", red, ""}, {"longer"}}, 2)
	if diff := cmp.Diff("NAME    STATE\né       "+red+"\nlonger\n", got); diff != "" {
		t.Error(diff)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	got := Tree(Node{Name: "Dojo", Cells: []string{"Ready"}, Children: []Node{
		{Name: "Deployment", Cells: []string{"1/1"}, Children: []Node{{Name: "Pod"}}}, {Name: "Service", Cells: []string{"x"}},
	}})
	const want = "Dojo            Ready\n├─ Deployment   1/1\n│  └─ Pod\n└─ Service      x\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "one two": "- one\n  two\n", "a-word-that-is-long b": "- a-word-that-is-long\n  b\n", "a b": "- a b\n",
	} {
		if diff := cmp.Diff(want, Wrap(text, "- ", 7)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 2, 55, 0, 0, time.UTC)
	east := time.FixedZone("", 2*60*60)
	for want, at := range map[string]time.Time{
		"never": {}, "02:51": now.Add(-4 * time.Minute), "23 Nov 23:55": now.Add(-3 * time.Hour),
		"24 Nov 2025 02:55": now.AddDate(-1, 0, 0), "00:30": time.Date(2026, 11, 24, 2, 30, 0, 0, east),
	} {
		if got := Moment(at, now); got != want {
			t.Errorf("%v is %q", at, got)
		}
	}
	if got := Exact(now); got != "24 Nov 2026 02:55:00 UTC" {
		t.Error(got)
	}
	if Age(time.Time{}, now) != "unknown" || Age(now.Add(-4*time.Minute), now) != "4m" || Age(now.Add(time.Hour), now) != "0s" {
		t.Error("wrong ages")
	}
	if Count(1, "pod") != "1 pod" || Count(0, "pod") != "0 pods" {
		t.Error("wrong nouns")
	}
}

func TestForest(t *testing.T) {
	t.Parallel()
	got := Forest([]Node{
		{Name: "a", Cells: []string{"Ready"}, Children: []Node{{Name: "b", Cells: []string{"Ready"}}}}, {Name: "c"},
	})
	const want = "├─ a      Ready\n│  └─ b   Ready\n└─ c\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Forest(nil); got != "" {
		t.Errorf("of no tree: %q", got)
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"名前 \"x\"": "名前 \"x\"", "a\x1b[2J\nb": "a [2J b", "\u202eevil": " evil", "": "",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
