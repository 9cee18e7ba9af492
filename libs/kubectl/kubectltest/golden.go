// SPDX-License-Identifier: Apache-2.0

package kubectltest

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// Clock always shows the same time. Its tickers tick every millisecond.
type Clock struct {
	clock.RealClock
	At time.Time
}

// Now implements clock.Clock.
func (c Clock) Now() time.Time { return c.At }

// NewTicker implements clock.WithTicker.
func (c Clock) NewTicker(time.Duration) clock.Ticker { return c.RealClock.NewTicker(time.Millisecond) }

// Golden compares a text with testdata/NAME.golden. With update, it writes that file instead.
func Golden(t *testing.T, update bool, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
	if update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file) //nolint:gosec // G304: a test names it
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", file, diff)
	}
}

var (
	shown = regexp.MustCompile("(?s)<!-- ([a-z-]+) -->\n```console\n.*?```")
	ends  = regexp.MustCompile(`\[exit code \d+\]\n$`)
)

// Page is a Markdown page. Its console blocks are golden files with the user's input filled in.
type Page struct {
	File string
	Name string
}

func (p Page) read() (is, should string, outputs int, err error) {
	text, err := os.ReadFile(p.File)
	should = shown.ReplaceAllStringFunc(string(text), func(block string) string {
		outputs++
		name := shown.FindStringSubmatch(block)[1]
		golden, failed := os.ReadFile(filepath.Join("testdata", name+".golden")) //nolint:gosec // G304: as above
		err = errors.Join(err, failed)
		output := ends.ReplaceAllString(string(golden), "")
		output = strings.ReplaceAll(output, "[y/N/yaml] \n", "[y/N/yaml] y\n")
		output = strings.ReplaceAll(output, "to go on: \n", "to go on: "+p.Name+"\n")
		return "<!-- " + name + " -->\n```console\n" + output + "```"
	})
	return string(text), should, outputs, err
}

// Run runs the tests. With update, it then copies the golden files into the page.
func (p Page) Run(m *testing.M, update *bool) int {
	code := m.Run()
	if *update {
		_, should, _, err := p.read()
		if err == nil {
			err = os.WriteFile(p.File, []byte(should), 0o600)
		}
		if err != nil {
			panic(err)
		}
	}
	return code
}

// Check fails if console blocks are too few or, without update, differ from their golden files.
func (p Page) Check(t *testing.T, update bool, minBlocks int) {
	t.Helper()
	is, should, outputs, err := p.read()
	if err != nil {
		t.Fatal(err)
	}
	if outputs != strings.Count(is, "```console") || outputs < minBlocks {
		t.Errorf("%d outputs have a golden file", outputs)
	}
	if diff := cmp.Diff(should, is); diff != "" && !update {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", p.File, diff)
	}
}

// WithoutNote removes the note about --kubeconfig, a flag that tests set on each command.
func WithoutNote(text, kubeconfig string) string {
	return strings.Replace(text, "Add --kubeconfig="+kubeconfig+
		" to each command above. Otherwise, kubectl may use another cluster.\n", "", 1)
}
