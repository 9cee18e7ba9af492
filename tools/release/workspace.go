// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// workspaceOf returns GOWORK for a build. On a branch, go.mod replaces the shared modules by
// folders. On the commit of a tag, go.mod has no replacements, so the build uses go.work. CI checks
// with `go work sync` that both give the same versions of libraries.
func workspaceOf(root string, module *modfile.File) (string, error) {
	for _, replace := range module.Replace {
		if replace.New.Version == "" {
			return "off", nil
		}
	}
	return filepath.Abs(filepath.Join(root, "go.work"))
}

func moduleOf(root, folder string) (*modfile.File, error) {
	file := filepath.Join(root, folder, "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(file, text, nil) // ParseLax would ignore replace directives
}
