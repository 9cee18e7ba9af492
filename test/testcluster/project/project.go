// SPDX-License-Identifier: Apache-2.0

// Package project finds the files of this project from any folder in it.
package project

import (
	"fmt"
	"os"
	"path/filepath"
)

// TreeEnv is a variable with a digest of the project's files. A test that reads files outside of its
// module has to read it: go caches the results of tests by the files of their own module and by the
// variables that they have read (`go help test`).
const TreeEnv = "JUTSU_TREE"

// Root is the nearest folder, from the working directory up, that holds go.work and tools/.
func Root() (string, error) {
	_ = os.Getenv(TreeEnv)
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		if has(folder, "go.work") && has(folder, "tools") {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("neither %s nor a folder above it holds go.work and tools/: run this from within the project",
				start)
		}
	}
}

func has(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

// Path returns the absolute path of a file relative to Root, which need not exist.
func Path(elements ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{root}, elements...)...), nil
}
