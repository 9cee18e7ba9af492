// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	const log = "# Changelog\n\nText.\n\n## [Unreleased]\n\n- soon\n\n## [0.2.0] - 2026-02-01\n\n### Added\n\n- two\n\n## [0.1.1]\n\n- not dated\n\n" +
		"## 0.1.0 - 2026-01-01\n- one\n\n## [0.0.1] - 2026-01-01\n\n"
	for name, test := range map[string]struct{ version, want, err string }{
		"a version in the middle": {version: "v0.2.0", want: "### Added\n\n- two\n"},
		"no brackets":             {version: "v0.1.0", want: "- one\n"},
		"no date":                 {version: "v0.1.1", err: "does not say when v0.1.1 is released"},
		"a missing version":       {version: "v0.3.0", err: `write what is new under "## [0.3.0] - YEAR-MONTH-DAY"`},
		"an empty section":        {version: "v0.0.1", err: "says nothing of v0.0.1"},
		"a prefix of a version":   {version: "v0.2", err: "says nothing of v0.2"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := notes(log, test.version)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error is %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestChangelogs(t *testing.T) {
	for _, operator := range operators {
		t.Run(operator, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(checkout(t).root, operator, "CHANGELOG.md"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "\n## [Unreleased]\n") {
				t.Error("the section ## [Unreleased] is missing")
			}
		})
	}
}
