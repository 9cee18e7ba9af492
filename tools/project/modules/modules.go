// SPDX-License-Identifier: Apache-2.0

// Package modules releases the project's Go modules.
//
// On a branch, a go.mod requires the project's other modules at v0.0.0 and replaces them by their
// folders, so that each commit builds alone. Other projects cannot use such a module: `go get`
// ignores replace directives, and `go install MODULE@VERSION` refuses them. [Commit] therefore
// makes another commit on top of the released one. In this commit, the modules require each other
// at a version and replace nothing. The commit is on no branch. It has the tags of the modules and
// of the operators.
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

// Operators lists the operators. Each has its own version.
var Operators = []string{"dojo-operator", "discord-operator"}

// API is one of the shared modules, which have one version in common. Its newest tag has this
// version.
const API = "apis"

// Module is a module of the project at a revision.
type Module struct {
	Folder   string
	file     *modfile.File
	siblings []string // folders of the project's modules that it requires directly
}

// Shared reports whether the module is not an operator, and so has the common version of the shared
// modules.
func (m Module) Shared() bool { return !slices.Contains(Operators, m.Folder) }

// Tag returns the tag for a version of the module in a folder.
func Tag(folder, version string) string { return folder + "/" + version }

// read returns the operators, the API module, and the project's modules that they require. A module
// comes after the modules that it requires.
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
		return m, fmt.Errorf("%s is the module %s, and %s says %s", folder, at, location.File, l.Module(folder))
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

// Tagged reports whether HEAD is a commit that [Commit] has made.
func Tagged(ctx context.Context, c git.Clone, l location.Location) (bool, error) {
	m, err := readModule(ctx, c, l, "HEAD", Operators[0])
	return err == nil && !m.replaced(l), err
}

// pinned returns the text of a go.mod that requires the project's other modules at a version, and
// does not replace them.
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
