// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// workspaceOf returns GOWORK for the build of an operator. On a branch, the operator's go.mod
// replaces the shared modules by their folders. On a tag's commit the go.mod replaces nothing, so
// the workspace provides the shared modules. CI checks (`go work sync`) that the workspace does not
// select other versions of libraries.
func workspaceOf(root string, module *modfile.File) (string, error) {
	for _, replace := range module.Replace {
		if replace.New.Version == "" {
			return "off", nil
		}
	}
	return filepath.Abs(filepath.Join(root, "go.work"))
}

// moduleOf reads the go.mod of a folder.
func moduleOf(root, folder string) (*modfile.File, error) {
	file := filepath.Join(root, folder, "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(file, text, nil) // ParseLax drops replacements
}
