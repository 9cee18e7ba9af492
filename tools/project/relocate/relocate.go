// SPDX-License-Identifier: Apache-2.0

// Package relocate moves the project to another repository: module paths, links and images.
package relocate

import (
	"bytes"
	"context"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/modfile"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/location"
)

// Move rewrites files and returns their names. It fails if a file already contains the new address,
// because a later move back would change that text too.
func Move(ctx context.Context, c git.Clone, to location.Location) (changed []string, err error) {
	from, err := location.Read(c.Root)
	if err != nil {
		return nil, err
	}
	texts, err := read(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := unambiguous(texts, from, to); err != nil {
		return nil, err
	}
	texts[forms] = "" // this file is generated, so its former text does not matter
	for name, before := range texts {
		after, err := moved(name, before, from, to)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		path := filepath.Join(c.Root, name)
		if there, err := os.ReadFile(path); err != nil || string(there) == after {
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := os.WriteFile(path, []byte(after), 0o600); err != nil { // an existing file keeps its mode
			return nil, err
		}
		changed = append(changed, name)
	}
	slices.Sort(changed)
	return changed, nil
}

func read(ctx context.Context, c git.Clone) (map[string]string, error) {
	names, err := c.Run(ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(c.Root, name))
		if err != nil || !info.Mode().IsRegular() {
			continue // the file is deleted, or is a symbolic link
		}
		text, err := os.ReadFile(filepath.Join(c.Root, name))
		if err != nil {
			return nil, err
		}
		if utf8.Valid(text) && !bytes.ContainsRune(text, 0) {
			texts[name] = string(text)
		}
	}
	return texts, nil
}

func unambiguous(texts map[string]string, from, to location.Location) error {
	for _, place := range [][2]string{{from.Repo, to.Repo}, {from.Registry, to.Registry}} {
		if place[0] == place[1] {
			continue
		}
		for name, text := range texts {
			if strings.Contains(text, place[1]) {
				return fmt.Errorf("the file %s already contains the new address %s: remove it from this file, or choose another address",
					name, place[1])
			}
		}
	}
	return nil
}

func moved(name, text string, from, to location.Location) (string, error) {
	if name == forms {
		return contactLinks(to), nil
	}
	// If several texts match at the same position, the Replacer uses the first one in this list.
	text = strings.NewReplacer(from.Registry, to.Registry, from.Files(), to.Files(), from.Repo, to.Repo).Replace(text)
	switch {
	case strings.HasSuffix(name, ".go"):
		formatted, err := format.Source([]byte(text)) // format.Source sorts the imports
		return string(formatted), err
	case filepath.Base(name) == "go.mod":
		file, err := modfile.Parse(name, []byte(text), nil)
		if err != nil {
			return "", err
		}
		file.SortBlocks()
		formatted, err := file.Format()
		return string(formatted), err
	}
	return text, nil
}
