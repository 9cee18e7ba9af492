// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/location"
)

const subject = "release: require the shared modules at "

// Commit makes a commit on top of a revision. In the new commit, each module requires the shared
// modules at the version. Equal parameters give equal commits. Branch, index and working tree do not change.
func Commit(ctx context.Context, c git.Clone, l location.Location, revision, version string) (hash string, err error) {
	scratch, err := os.MkdirTemp("", "tags-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	all, err := read(ctx, c, l, revision)
	if err != nil {
		return "", err
	}
	p := &pinning{c: c, l: l, version: version, scratch: scratch, sums: map[string][]string{}}
	p.c.Env = append(slices.Clone(c.Env), "GIT_INDEX_FILE="+filepath.Join(scratch, "index"))
	if _, err := p.c.Run(ctx, "read-tree", revision); err != nil {
		return "", err
	}
	for _, m := range all {
		if err := p.pin(ctx, m); err != nil {
			return "", fmt.Errorf("the module %s: %w", m.Folder, err)
		}
	}
	if err := p.pinWorkspace(ctx, all); err != nil {
		return "", err
	}
	tree, err := p.c.Run(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	return commitTree(ctx, c, tree, revision, subject+version)
}

func commitTree(ctx context.Context, c git.Clone, tree, parent, message string) (string, error) {
	found, err := c.Lines(ctx, "log", "-1", "--format=%H%n%an%n%ae%n%aI%n%cn%n%ce%n%cI", parent)
	if err != nil || len(found) != 7 {
		return "", errors.Join(err, fmt.Errorf("git log must print 7 lines about the parent commit, and prints %q", found))
	}
	c.Env = slices.Clone(c.Env)
	for i, key := range []string{"AUTHOR_NAME", "AUTHOR_EMAIL", "AUTHOR_DATE", "COMMITTER_NAME", "COMMITTER_EMAIL", "COMMITTER_DATE"} {
		c.Env = append(c.Env, "GIT_"+key+"="+found[i+1])
	}
	return c.Run(ctx, "commit-tree", "-p", found[0], "-m", message, tree)
}

type pinning struct {
	c       git.Clone // has an index of its own
	l       location.Location
	version string
	scratch string
	sums    map[string][]string // lines of go.sum, keyed by folder
}

// pin adds a module's go.mod and go.sum to the index. Its required modules must be pinned first.
func (p *pinning) pin(ctx context.Context, m Module) error {
	text, err := m.pinned(p.l, p.version)
	if err != nil {
		return err
	}
	if err := p.add(ctx, path.Join(m.Folder, "go.mod"), text); err != nil {
		return err
	}
	sums, err := p.goSum(ctx, m.Folder)
	if err != nil {
		return err
	}
	for _, sibling := range m.siblings {
		sums = append(sums, p.sums[sibling]...)
	}
	if len(sums) > 0 {
		slices.Sort(sums)
		if err := p.add(ctx, path.Join(m.Folder, "go.sum"), []byte(strings.Join(sums, "\n")+"\n")); err != nil {
			return err
		}
	}
	if m.Shared() {
		p.sums[m.Folder], err = p.sumsOf(ctx, m.Folder, text)
	}
	return err
}

// pinWorkspace adds replacements to go.work. Without them, the go command would ask a proxy for the
// modules of the workspace.
func (p *pinning) pinWorkspace(ctx context.Context, all []Module) error {
	const name = "go.work"
	text, err := p.c.Run(ctx, "cat-file", "blob", ":"+name)
	if err != nil {
		return err
	}
	file, err := modfile.ParseWork(name, []byte(text+"\n"), nil)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.Shared() {
			if err := file.AddReplace(p.l.Module(m.Folder), p.version, "./"+m.Folder, ""); err != nil {
				return err
			}
		}
	}
	file.Cleanup()
	return p.add(ctx, name, modfile.Format(file.Syntax))
}

func (p *pinning) goSum(ctx context.Context, folder string) ([]string, error) {
	name := path.Join(folder, "go.sum")
	there, err := p.c.Run(ctx, "ls-files", name)
	if err != nil || there == "" {
		return nil, err
	}
	text, err := p.c.Run(ctx, "cat-file", "blob", ":"+name)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, p.l.Repo+"/")
	}), nil
}

func (p *pinning) add(ctx context.Context, file string, text []byte) error {
	blob, err := p.c.Pipe(ctx, text, "hash-object", "-w", "--stdin")
	if err == nil {
		_, err = p.c.Run(ctx, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+file)
	}
	return err
}

func (p *pinning) sumsOf(ctx context.Context, folder string, mod []byte) ([]string, error) {
	tree, err := p.c.Run(ctx, "write-tree")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(p.scratch, "module.zip")
	of := module.Version{Path: p.l.Module(folder), Version: p.version}
	if err := archive(file, of, p.c.Root, tree, folder); err != nil {
		return nil, err
	}
	content, err := dirhash.HashZip(file, dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	single, err := hashOf(mod)
	return []string{
		fmt.Sprintf("%s %s %s", of.Path, of.Version, content), fmt.Sprintf("%s %s/go.mod %s", of.Path, of.Version, single),
	}, err
}

// archive writes the zip archive of a module, as a module proxy would serve it.
func archive(file string, of module.Version, root, revision, folder string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return zip.CreateFromVCS(out, of, root, revision, folder)
}
