// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jutsu.com/operators/test/testcluster/project"
)

// Each command that the source of dojo-operator spells out in a message can be followed.
func TestEveryAdvisedCommandIsKnown(t *testing.T) {
	t.Parallel()
	folder, err := project.Path("dojo-operator", "internal")
	if err != nil {
		t.Fatal(err)
	}
	resources := regexp.MustCompile("kubectl (?:annotate|delete) ([a-z.]+) ")
	found := map[string]bool{}
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/cli/") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range resources.FindAllStringSubmatch(string(text), -1) {
			found[match[1]] = true
			if _, ok := kindsInMessages[match[1]]; !ok {
				t.Errorf("%s: a message advises a command for %s", path, match[1])
			}
		}
		return err
	})
	if err != nil || len(found) < 5 {
		t.Errorf("found %v: %v", found, err)
	}
}
