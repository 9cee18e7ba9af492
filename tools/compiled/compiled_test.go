// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func size(_ string, files []string) (int64, error) { return int64(len(files)) * mega, nil }

func compilations(t *testing.T, race bool, packages ...string) map[[32]byte]compilation {
	t.Helper()
	list, err := keyed(strings.NewReader(strings.Join(packages, "\n")), race, size)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

const (
	old     = `{"ImportPath": "example.test/lib", "GoFiles": ["a.go"], "Module": {"Path": "example.test/lib", "Version": "v1.0.0"}}`
	newer   = `{"ImportPath": "example.test/lib", "GoFiles": ["a.go"], "Module": {"Path": "example.test/lib", "Version": "v1.1.0"}}`
	imports = `{"ImportPath": "example.test/user", "GoFiles": ["a.go", "b.go"], "Imports": ["example.test/lib"],
		"Module": {"Path": "example.test/user", "Version": "v2.0.0"}}`
)

func TestTotalSize(t *testing.T) {
	for name, test := range map[string]struct {
		first, second map[[32]byte]compilation
		race          bool // of the second build
		total         int64
		repeats       []string
	}{
		"the same packages":                     {compilations(t, false, old, imports), compilations(t, false, old, imports), false, 3, nil},
		"the second build has one more package": {compilations(t, false, old), compilations(t, false, old, imports), false, 3, nil},
		"a library in two versions is compiled twice, and so is its importer": {
			compilations(t, false, old, imports), compilations(t, false, newer, imports), false, 6,
			[]string{"example.test/user v2.0.0", "example.test/lib v1.0.0 v1.1.0"},
		},
		"with the race detector": {compilations(t, false, old, imports), compilations(t, true, old, imports), true, 6, nil},
	} {
		t.Run(name, func(t *testing.T) {
			builds := []build{{folder: "first"}, {folder: "second", race: test.race}}
			s := sum(target{builds: builds}, map[string]map[[32]byte]compilation{
				builds[0].id(): test.first, builds[1].id(): test.second,
			})
			if got := s.total() / mega; got != test.total {
				t.Errorf("%d MB, want %d", got, test.total)
			}
			var repeats []string
			for _, r := range s.repeats {
				repeats = append(repeats, r.module+" "+strings.Join(r.versions, " "))
			}
			if !slices.Equal(repeats, test.repeats) {
				t.Errorf("compiled again: %q, want %q", repeats, test.repeats)
			}
		})
	}
}

func TestToRaise(t *testing.T) {
	folder := t.TempDir()
	mod := "module example.test/tool\n\n" + keep + "example.test/kept v1.1.0 removed what the tool calls\n" + keep + "example.test/all/ does not compile\n"
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(mod), 0o600); err != nil {
		t.Fatal(err)
	}
	used := map[string]string{"example.test/all/a": "v1.0.0", "example.test/kept": "v1.0.0", "example.test/lib": "v1.0.0", "example.test/same": "v1.0.0-rc.1"}
	newest := newestOf(map[string]map[string]string{
		"tool":  used,
		"other": {"example.test/all/a": "v1.2.0", "example.test/kept": "v1.1.0", "example.test/lib": "v1.10.0", "example.test/same": "v1.0.0-beta.1"},
		"third": {"example.test/lib": "v1.9.0"},
	})
	got, err := toRaise(folder, used, newest)
	if err != nil || !slices.Equal(got, []string{"example.test/lib@v1.10.0"}) {
		t.Errorf("%q, %v", got, err)
	}
}
