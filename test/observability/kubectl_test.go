// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/internal/kubectl"
	"jutsu.com/operators/test/testcluster/project"
)

var console = regexp.MustCompile("(?s)```console\n(.*?)```")

// kubectl compares the output of the page's commands with docs/kubectl.md, or updates the page.
func (s *stage) kubectl(t *testing.T) {
	kubectl.OnPath(t)
	t.Setenv("KUBECONFIG", s.Cluster.Kubeconfig())
	page := read(t, "docs/kubectl.md")
	golden(t, "docs/kubectl.md", console.ReplaceAllStringFunc(page, func(block string) string {
		var now strings.Builder
		now.WriteString("```console\n")
		for line := range strings.Lines(block) {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			now.WriteString(line)
			// The page also shows errors of commands, so the exit status is ignored.
			out, _ := exec.CommandContext(t.Context(), "bash", "-c", command).CombinedOutput()
			now.WriteString(trimmed(strings.ReplaceAll(string(out), s.discord.URL(), "https://discord.com")))
		}
		now.WriteString("```")
		if cmp.Equal(withoutChanging(now.String()), withoutChanging(block)) {
			return block
		}
		return now.String()
	}))
}

func trimmed(out string) string {
	var text strings.Builder
	for line := range strings.Lines(out) {
		text.WriteString(strings.TrimRight(line, " \t\n") + "\n")
	}
	return text.String()
}

// changing lists texts that differ between two runs of a command.
var changing = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), "UID"},
	{regexp.MustCompile(`\b\d{17,20}\b`), "ID"},
	{regexp.MustCompile(`(Resource Version|Generation|Observed Generation):\s+\d+`), "$1: N"},
	{regexp.MustCompile(`\b(\d+[dhms])+ \(x\d+ over (\d+[dhms])+\)`), "AGE"},
	{regexp.MustCompile(`\b(\d+[dhms])+\b`), "AGE"},
	{regexp.MustCompile(`[ \t-]{2,}`), " "},
}

func withoutChanging(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.instead)
	}
	return text
}

func read(t *testing.T, file string) string {
	t.Helper()
	path, err := project.Path(file)
	must(t, err)
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}
