// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

type summary struct {
	builds  []share // in the order of the target, each with the bytes that no earlier build compiles
	repeats []repeat
}

type share struct {
	build build
	bytes int64
}

// repeat is a library that is compiled in several versions with the same setting of -race.
type repeat struct {
	module   string
	versions []string
	bytes    int64 // bytes of Go source that are compiled again
}

func sum(t target, lists map[string]map[[32]byte]compilation) summary {
	var s summary
	counted := tally{seen: map[[32]byte]bool{}, first: map[way]bool{}, repeats: map[string]*repeat{}}
	for _, b := range t.builds {
		list := lists[b.id()]
		added := share{build: b}
		for _, key := range slices.SortedFunc(maps.Keys(list), func(x, y [32]byte) int { return bytes.Compare(x[:], y[:]) }) {
			added.bytes += counted.add(key, list[key], b.race)
		}
		s.builds = append(s.builds, added)
	}
	for _, r := range counted.repeats {
		if r.bytes > 0 {
			slices.Sort(r.versions)
			s.repeats = append(s.repeats, *r)
		}
	}
	slices.SortFunc(s.repeats, func(x, y repeat) int {
		return cmp.Or(cmp.Compare(y.bytes, x.bytes), strings.Compare(x.module, y.module))
	})
	return s
}

type way struct {
	pkg  string
	race bool
}

type tally struct {
	seen    map[[32]byte]bool
	first   map[way]bool
	repeats map[string]*repeat // keyed by module
}

func (t tally) add(key [32]byte, c compilation, race bool) int64 {
	w := way{c.pkg, race}
	isNew, isFirst := !t.seen[key], !t.first[w]
	t.seen[key], t.first[w] = true, true
	if c.module != "" {
		r := t.repeats[c.module]
		if r == nil {
			r = &repeat{module: c.module}
			t.repeats[c.module] = r
		}
		if !slices.Contains(r.versions, c.version) {
			r.versions = append(r.versions, c.version)
		}
		if isNew && !isFirst {
			r.bytes += c.bytes
		}
	}
	if !isNew {
		return 0
	}
	return c.bytes
}

func (s summary) total() (bytes int64) {
	for _, b := range s.builds {
		bytes += b.bytes
	}
	return bytes
}

func (s summary) write(out io.Writer, t target, most int) {
	_, _ = fmt.Fprintf(out, "%7.1f MB of Go source: %s, budget %d MB\n", mb(s.total()), t.name, t.budget/mega)
	for _, b := range s.builds {
		race := ""
		if b.build.race {
			race = " with -race"
		}
		_, _ = fmt.Fprintf(out, "%9.1f MB  %s %s%s\n", mb(b.bytes), b.build.folder, strings.Join(b.build.packages, " "), race)
	}
	var again int64
	for _, r := range s.repeats {
		again += r.bytes
	}
	_, _ = fmt.Fprintf(out, "%9.1f MB  of it compiled again, for another version or with other dependencies\n", mb(again))
	for _, r := range s.repeats[:min(most, len(s.repeats))] {
		_, _ = fmt.Fprintf(out, "%13.1f MB  %s %s\n", mb(r.bytes), r.module, strings.Join(r.versions, " "))
	}
}

func mb(bytes int64) float64 { return float64(bytes) / mega }
