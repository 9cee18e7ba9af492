// SPDX-License-Identifier: Apache-2.0

// Package architecture checks the imports among the project's packages against a table.
package architecture

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Graph maps each package to its imports. Names are paths from the project's root.
type Graph map[string][]string

// Check returns the violations of a table with the form of [Imports].
func Check(table string, graph Graph) (violations []string) {
	rows, violations := parse(table)
	add := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(graph)) {
		var row *row
		for _, r := range rows {
			switch {
			case !r.has(name):
			case row != nil:
				add("%s has two lines, %q and %q: remove it from one of them", name, row.text, r.text)
			default:
				row = r
			}
		}
		if row == nil {
			add("%s has no line: add it to test/architecture/table.go, with the packages that it may import", name)
			continue
		}
		for _, imported := range graph[name] {
			if !row.allows(imported) {
				add("%s imports %s, which %q does not allow: move the code that needs it, or let the caller pass the value",
					name, imported, row.text)
			}
			if ships(name) && !ships(imported) {
				add("%s ships and imports %s, which does not ship: move the code that both need to libs", name, imported)
			}
		}
	}
	for _, r := range rows {
		for _, unused := range r.unused(graph) {
			add("%q names %s, which matches no package or import any more: remove it", r.text, unused)
		}
	}
	slices.Sort(violations)
	return violations
}

// ships reports whether a package is part of a release: an operator, a kubectl plugin or a library.
func ships(name string) bool {
	folder, _, _ := strings.Cut(name, "/")
	return folder != "test" && folder != "tools" && path.Base(name) != "specs" && !strings.HasSuffix(name, "test")
}

func matches(pattern, name string) bool {
	if folder, below := strings.CutSuffix(pattern, "/..."); below {
		return name == folder || strings.HasPrefix(name, folder+"/")
	}
	ok, _ := path.Match(pattern, name)
	return ok
}
