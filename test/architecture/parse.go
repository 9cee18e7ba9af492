// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

type row struct {
	text     string
	packages []string
	imports  []string
	// Each package of a row may also import the packages in section.imports.
	section *section
}

type section struct {
	folder  string
	imports []string
	rows    []*row
}

func (r *row) allows(imported string) bool {
	allows := func(pattern string) bool { return matches(pattern, imported) }
	return slices.ContainsFunc(r.imports, allows) || slices.ContainsFunc(r.section.imports, allows)
}

// unused returns the patterns that match nothing. For the first row of a section, it also returns
// the section's unused patterns.
func (r *row) unused(graph Graph) (patterns []string) {
	packages := slices.Collect(maps.Keys(graph))
	patterns = slices.Concat(unmatched(r.packages, packages), unmatched(r.imports, importsOf(graph, r)))
	if r == r.section.rows[0] {
		patterns = append(patterns, unmatched(r.section.imports, importsOf(graph, r.section.rows...))...)
	}
	return patterns
}

func (r *row) has(name string) bool {
	return slices.ContainsFunc(r.packages, func(pattern string) bool { return matches(pattern, name) })
}

func importsOf(graph Graph, rows ...*row) (imports []string) {
	for name, imported := range graph {
		if slices.ContainsFunc(rows, func(r *row) bool { return r.has(name) }) {
			imports = append(imports, imported...)
		}
	}
	return imports
}

func unmatched(patterns, names []string) (unmatched []string) {
	for _, pattern := range patterns {
		if !slices.ContainsFunc(names, func(name string) bool { return matches(pattern, name) }) {
			unmatched = append(unmatched, pattern)
		}
	}
	return unmatched
}

func parse(table string) (rows []*row, violations []string) {
	current := &section{}
	for _, line := range joined(table) {
		if strings.HasPrefix(line, "[") {
			folder, imports, _ := strings.Cut(line[1:], "]")
			current = &section{folder: folder}
			current.imports = current.expand(imports)
			continue
		}
		packages, imports, ok := strings.Cut(line, ":")
		if !ok {
			violations = append(violations, fmt.Sprintf("%q has no colon", line))
			continue
		}
		r := &row{text: line, packages: current.expand(packages), imports: current.expand(imports), section: current}
		current.rows = append(current.rows, r)
		rows = append(rows, r)
	}
	return rows, violations
}

func joined(table string) (lines []string) {
	for line := range strings.Lines(table) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Join(strings.Fields(line), " ")
		switch {
		case words == "":
		case strings.HasPrefix(line, " ") && lines != nil:
			lines[len(lines)-1] += " " + words
		default:
			lines = append(lines, words)
		}
	}
	return lines
}

func (s *section) expand(list string) (patterns []string) {
	for _, word := range strings.Fields(list) {
		for _, pattern := range braces(word) {
			if strings.HasPrefix(pattern, ".") {
				pattern = path.Join(s.folder, pattern)
			}
			if !slices.Contains(patterns, pattern) {
				patterns = append(patterns, pattern)
			}
		}
	}
	return patterns
}

// braces expands {a,b} as a shell does, except that nested braces may give a word several times.
func braces(word string) (expanded []string) {
	end := max(0, strings.IndexByte(word, '}'))
	begin := strings.LastIndexByte(word[:end], '{')
	if begin < 0 {
		return []string{word}
	}
	for choice := range strings.SplitSeq(word[begin+1:end], ",") {
		expanded = append(expanded, braces(word[:begin]+choice+word[end+1:])...)
	}
	return expanded
}
