// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// workspaceOf returns the value of GOWORK for the build of an operator. On a branch, the operator's
// go.mod replaces the shared modules by their folders, so the build needs no workspace. On the
// commit of a release tag, go.mod replaces nothing, so the workspace provides the shared modules.
// CI checks with `go work sync` that the workspace selects the same versions of libraries.
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
