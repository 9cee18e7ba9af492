// SPDX-License-Identifier: Apache-2.0

// Package modules releases the project's Go modules. On a branch, go.mod files replace the other
// modules by folders, so that each commit builds alone. `go get` ignores and `go install` refuses
// replacements, so [Commit] adds a commit outside of the branch, in which the modules require each
// other at a version. Tags are on this commit.
package modules

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/location"
)

// Operators lists the operators, each with its own version.
var Operators = []string{"dojo-operator", "discord-operator"}

// API is one of the shared modules. Its newest tag is the common version of all shared modules.
const API = "apis"

// Module is a module of the project at a revision.
type Module struct {
	Folder   string
	file     *modfile.File
	siblings []string // folders of the project's modules that it requires directly
}

// Shared reports whether the module has the common version, as all modules except the operators do.
func (m Module) Shared() bool { return !slices.Contains(Operators, m.Folder) }

// Tag returns the tag for a version of the module in a folder.
func Tag(folder, version string) string { return folder + "/" + version }

// read returns all modules, each one after the modules that it requires.
func read(ctx context.Context, c git.Clone, l location.Location, revision string) ([]Module, error) {
	var found []Module
	visiting := map[string]bool{}
	var visit func(folder string) error
	visit = func(folder string) error {
		if visiting[folder] {
			return nil
		}
		visiting[folder] = true
		m, err := readModule(ctx, c, l, revision, folder)
		if err != nil {
			return err
		}
		for _, sibling := range m.siblings {
			if err := visit(sibling); err != nil {
				return err
			}
		}
		found = append(found, m)
		return nil
	}
	for _, folder := range append([]string{API}, Operators...) {
		if err := visit(folder); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func readModule(ctx context.Context, c git.Clone, l location.Location, revision, folder string) (Module, error) {
	m := Module{Folder: folder}
	name := path.Join(folder, "go.mod")
	text, err := c.Run(ctx, "cat-file", "blob", revision+":"+name)
	if err != nil {
		return m, err
	}
	if m.file, err = modfile.Parse(name, []byte(text+"\n"), nil); err != nil {
		return m, err
	}
	if at := m.file.Module.Mod.Path; at != l.Module(folder) {
		return m, fmt.Errorf("go.mod in %s names the module %s, but as %s says, it is %s", folder, at, location.File, l.Module(folder))
	}
	for _, r := range m.file.Require {
		if sibling, ours := strings.CutPrefix(r.Mod.Path, l.Repo+"/"); ours {
			m.siblings = append(m.siblings, sibling)
		}
	}
	return m, nil
}

func (m Module) replaced(l location.Location) bool {
	return slices.ContainsFunc(m.file.Replace, func(r *modfile.Replace) bool { return strings.HasPrefix(r.Old.Path, l.Repo+"/") })
}

// Tagged reports whether HEAD is a commit of [Commit].
func Tagged(ctx context.Context, c git.Clone, l location.Location) (bool, error) {
	m, err := readModule(ctx, c, l, "HEAD", Operators[0])
	return err == nil && !m.replaced(l), err
}

func (m Module) pinned(l location.Location, version string) ([]byte, error) {
	for _, r := range slices.Clone(m.file.Replace) {
		if strings.HasPrefix(r.Old.Path, l.Repo+"/") {
			if err := m.file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return nil, err
			}
		}
	}
	for _, sibling := range m.siblings {
		if err := m.file.AddRequire(l.Module(sibling), version); err != nil {
			return nil, err
		}
	}
	m.file.Cleanup()
	return m.file.Format()
}
