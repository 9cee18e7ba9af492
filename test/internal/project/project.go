// Package project finds the files of this project, wherever in it a command or a test was started.
package project

import (
	"fmt"
	"os"
	"path/filepath"
)

// Root is the folder that holds go.work: the nearest one from the working directory up.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.work")); err == nil {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("neither %s nor a folder above it holds go.work: run this from within the project", start)
		}
	}
}

// Path is the absolute path of a file given relative to Root, whether it exists or not.
func Path(elements ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{root}, elements...)...), nil
}
