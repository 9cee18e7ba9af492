// SPDX-License-Identifier: Apache-2.0

// Package project finds the files of this project from any folder in it.
package project

import (
	"fmt"
	"os"
	"path/filepath"
)

// TreeEnv is a variable with a digest of the project's files. If a test reads files outside of its
// module, it must also read TreeEnv. Otherwise the go command does not notice changes of these
// files: it caches a test's result by the module's files and the variables read (`go help test`).
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

// Path returns the absolute path of a file from its path relative to Root. The file need not exist.
func Path(elements ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{root}, elements...)...), nil
}
