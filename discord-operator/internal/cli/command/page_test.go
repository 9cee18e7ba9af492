// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	// shown is an output on the page, below the name of its golden file.
	shown = regexp.MustCompile("(?s)<!-- ([a-z-]+) -->\n```console\n.*?```")
	ends  = regexp.MustCompile(`\[exit code \d+\]\n$`)
)

var pageFile = filepath.Join("..", "..", "..", "..", "docs", "kubectl-discord.md")

// page returns docs/kubectl-discord.md as it is and as it should be.
func page() (is, should string, outputs int, err error) {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		return "", "", 0, err
	}
	should = shown.ReplaceAllStringFunc(string(text), func(block string) string {
		outputs++
		name := shown.FindStringSubmatch(block)[1]
		golden, failed := os.ReadFile(filepath.Join("testdata", name+".golden"))
		err = errors.Join(err, failed)
		output := ends.ReplaceAllString(string(golden), "")
		output = strings.ReplaceAll(output, "[y/N/yaml] \n", "[y/N/yaml] y\n")
		output = strings.ReplaceAll(output, "to go on: \n", "to go on: alerts\n")
		return "<!-- " + name + " -->\n```console\n" + output + "```"
	})
	return string(text), should, outputs, err
}

// updatePage writes the page anew, once the golden files are.
func updatePage() error {
	_, should, _, err := page()
	if err == nil {
		err = os.WriteFile(pageFile, []byte(should), 0o600)
	}
	return err
}

// TestPage holds docs/kubectl-discord.md to what the commands print: every output there is that of
// a golden file, with the answers that the test has given.
func TestPage(t *testing.T) {
	t.Parallel()
	is, should, outputs, err := page()
	if err != nil {
		t.Fatal(err)
	}
	if outputs != strings.Count(is, "```console") || outputs < 5 {
		t.Errorf("%d outputs have a golden file", outputs)
	}
	if diff := cmp.Diff(should, is); diff != "" && !*update {
		t.Errorf("docs/kubectl-discord.md (-want +got; go test -update writes it anew):\n%s", diff)
	}
}
