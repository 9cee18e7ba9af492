// SPDX-License-Identifier: Apache-2.0

// Package project finds the files of this project from any folder in it.
package project

import (
	"fmt"
	"os"
	"path/filepath"
)

// TreeEnv is a variable with a digest of the project's files. A test that reads files outside its
// module must also read TreeEnv, so that the go command does not use a stale cached result.
const TreeEnv = "JUTSU_TREE"

// Root returns the nearest folder with go.work and tools/, from the working directory upwards.
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

// Path returns the absolute path of a file from its path relative to Root.
func Path(elements ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{root}, elements...)...), nil
}
