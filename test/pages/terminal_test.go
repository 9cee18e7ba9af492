// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"flag"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"jutsu.com/operators/test/testcluster/project"
)

var update = flag.Bool("update", false, "write docs/images/terminal.svg anew instead of comparing it")

const (
	picture = "docs/images/terminal.svg"
	goldens = "dojo-operator/internal/cli/testdata/"
	// A character of DejaVu Sans Mono has this size at 12 pixels. A narrower font leaves a margin.
	columnWidth, lineHeight = 7.23, 17.0
)

// The README's picture equals outputs that other tests check. `make picture` writes the picture.
func TestTerminalPicture(t *testing.T) {
	lines := strings.Split(strings.Join([]string{
		golden(t, "status-lost"), withoutPlan(golden(t, "restore-lost")), planned(t),
	}, "\n\n"), "\n")
	want := terminal(lines)
	if *update {
		path, err := project.Path(picture)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, want)
		return
	}
	if text(t, picture) != want {
		t.Errorf("%s is outdated: make picture", picture)
	}
}

func golden(t *testing.T, name string) string {
	t.Helper()
	output, _, found := strings.Cut(text(t, goldens+name+".golden"), "[exit code ")
	if !found || !strings.HasPrefix(output, "$ kubectl dojo ") {
		t.Fatalf("%s is no output: %s", name, output)
	}
	return strings.TrimRight(output, "\n")
}

// The picture omits the steps of a plan, because the command prints them again at execution.
var steps = regexp.MustCompile(`(?m)^(  \d+\. .*|  ! .*|    \S.*)\n`)

func withoutPlan(output string) string { return steps.ReplaceAllString(output, "") }

func planned(t *testing.T) string {
	t.Helper()
	_, after, _ := strings.Cut(text(t, "docs/plan.md"), "```\n$ kubectl discord plan ")
	output, _, found := strings.Cut(after, "\n$ echo")
	if !found {
		t.Fatal("docs/plan.md has no output of kubectl discord plan")
	}
	return "$ kubectl discord plan " + output
}

// colours maps beginnings of lines to colours. A line has the colour of the first match.
var colours = []struct{ prefix, colour string }{
	{"$ ", "#ffffff"}, {"DEGRADED", "#ff7b72"}, {"  Safe:", "#7ee787"}, {"  Careful:", "#e3b341"},
	{"Restored.", "#7ee787"}, {"+ ", "#7ee787"}, {"~ ", "#e3b341"}, {"- ", "#ff7b72"}, {"", "#adbac7"},
}

func terminal(lines []string) string {
	columns := 0
	for _, line := range lines {
		columns = max(columns, utf8.RuneCountInString(line))
	}
	width, height := float64(columns)*columnWidth+32, float64(len(lines))*lineHeight+56
	var svg strings.Builder
	_, _ = fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img">
<title>kubectl dojo status, kubectl dojo restore, kubectl discord plan</title>
<rect width="100%%" height="100%%" rx="8" fill="#1c2128"/>
<circle cx="20" cy="18" r="6" fill="#ff5f57"/><circle cx="40" cy="18" r="6" fill="#febc2e"/>`+
		`<circle cx="60" cy="18" r="6" fill="#28c840"/>
<g font-family="'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="12" style="white-space:pre">
`, width, height)
	for i, line := range lines {
		if line == "" {
			continue
		}
		_, _ = fmt.Fprintf(&svg, "<text x=\"16\" y=\"%.0f\" fill=\"%s\" xml:space=\"preserve\">%s</text>\n",
			48+float64(i)*lineHeight, colourOf(line), html.EscapeString(line))
	}
	svg.WriteString("</g>\n</svg>\n")
	return svg.String()
}

func colourOf(line string) string {
	for _, c := range colours {
		if strings.HasPrefix(line, c.prefix) {
			return c.colour
		}
	}
	return ""
}

func TestTerminal(t *testing.T) {
	svg := terminal([]string{"$ kubectl <dojo>", "", "DEGRADED  x", "- DiscordChannel a"})
	for _, want := range []string{
		`viewBox="0 0 162 124"`, `y="48" fill="#ffffff" xml:space="preserve">$ kubectl &lt;dojo&gt;</text>`,
		`y="82" fill="#ff7b72" xml:space="preserve">DEGRADED  x`, `y="99" fill="#ff7b72"`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	plan := "restores\n  from a store\n  1. stop\n  ! a note\n    of two lines\n1. stop\n  02:55  0 pods\n"
	if got, want := withoutPlan(plan), "restores\n  from a store\n1. stop\n  02:55  0 pods\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
