// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file has no terminal size, so the screen assumes 120 columns.
func TestChangesAbovePinned(t *testing.T) {
	const pinned = "\nnext:\n  export KUBECONFIG=x\n"
	long := "\n" + strings.Repeat("é", 120) + "\n" + strings.Repeat("é", 121) + "\n"
	for name, test := range map[string]struct {
		terminal bool
		pinned   string
		want     string
	}{
		"a terminal": {terminal: true, pinned: pinned,
			want: pinned + "\x1b[3A\x1b[J" + "TIME  " + good.line() + "\n" + pinned},
		"a terminal that wraps a line": {terminal: true, pinned: long,
			want: long + "\x1b[4A\x1b[J" + "TIME  " + good.line() + "\n" + long},
		"no terminal":                    {pinned: pinned, want: pinned + "TIME  " + good.line() + "\n"},
		"a terminal with nothing pinned": {terminal: true, want: "TIME  " + good.line() + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			s := newScreen(file)
			s.terminal = test.terminal
			s.pin(test.pinned)
			s.changes([]row{good})
			s.changes([]row{good}) // prints nothing, because no row has changed
			text, err := os.ReadFile(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			got := regexp.MustCompile(`\d\d:\d\d:\d\d`).ReplaceAllString(string(text), "TIME")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
