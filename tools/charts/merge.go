// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

type condition struct {
	value   string
	negated bool
}

// entry is an object, a key of a map with its value, or an item of a list, with conditions.
type entry struct {
	key   *yaml.Node // only for an entry of a map
	value *tree
	when  []condition // all must hold
	// raw has template lines instead of key and value. `nindent` is relative to their indentation.
	raw string
}

// live reports whether the entry exists if all values that were merged so far are set.
func (e *entry) live() bool {
	return e.raw == "" && !slices.ContainsFunc(e.when, func(c condition) bool { return c.negated })
}

// tree is a YAML document with optional entries.
type tree struct {
	node    *yaml.Node // kind, style and comments; for a scalar also the value
	entries []*entry   // of a map or a list
	raw     string     // the template of a scalar
}

func newTree(node *yaml.Node) *tree {
	if node.Kind == yaml.DocumentNode {
		return newTree(node.Content[0])
	}
	t := &tree{node: node}
	if node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(node.Content); i += 2 {
			t.entries = append(t.entries, &entry{key: node.Content[i], value: newTree(node.Content[i+1])})
		}
		return t
	}
	for _, item := range node.Content { // items of a list; a scalar has none
		t.entries = append(t.entries, &entry{value: newTree(item)})
	}
	return t
}

// merge makes t depend on the value: if the value is set, t equals the tree after, otherwise t
// equals its former content. The tree after must include all earlier merges.
func (t *tree) merge(value string, after *tree) {
	t.entries = mergeEntries(value, t.entries, after.entries, t.node.Kind == yaml.MappingNode)
}

// mergeEntries aligns the lists by the longest common subsequence of identities.
func mergeEntries(value string, before, after []*entry, keepOrder bool) (all []*entry) {
	if keepOrder { // keep before's order, because the order of a map's keys has no meaning
		after = reorder(before, after)
	}
	common := commonEntries(before, after)
	if !keepOrder {
		pair(before, after, common)
	}
	j := 0
	for i, e := range before {
		k, isCommon := common[i]
		for ; isCommon && j < k; j++ {
			all = append(all, conditional(after[j], condition{value: value}))
		}
		if isCommon {
			all = append(all, mergeEntry(value, e, after[k])...)
			j = k + 1
			continue
		}
		if e.live() {
			e = conditional(e, condition{value: value, negated: true})
		}
		all = append(all, e)
	}
	for _, e := range after[j:] {
		all = append(all, conditional(e, condition{value: value}))
	}
	return all
}

// pair matches maps between two common entries in order, if before and after have equally many
// entries there.
func pair(before, after []*entry, common map[int]int) {
	isMap := func(e *entry) bool { return e.value.node.Kind == yaml.MappingNode }
	var gap []int
	j := 0
	for i := 0; i <= len(before); i++ {
		k, isCommon := common[i]
		if i == len(before) {
			k, isCommon = len(after), true
		}
		if !isCommon {
			if before[i].live() {
				gap = append(gap, i)
			}
			continue
		}
		if len(gap) == k-j && !slices.ContainsFunc(after[j:k], func(e *entry) bool { return !isMap(e) }) {
			for n, i := range gap {
				if isMap(before[i]) {
					common[i] = j + n
				}
			}
		}
		gap, j = nil, k+1
	}
}

func mergeEntry(value string, before, after *entry) []*entry {
	switch {
	case equal(before.value, after.value):
		return []*entry{before}
	case before.value.node.Kind == after.value.node.Kind && before.value.node.Kind != yaml.ScalarNode:
		before.value.merge(value, after.value)
		return []*entry{before}
	default: // a changed scalar, or a node of another kind
		replacing := &entry{key: after.key, value: after.value, when: before.when}
		return []*entry{
			conditional(replacing, condition{value: value}), conditional(before, condition{value: value, negated: true}),
		}
	}
}

func conditional(e *entry, c condition) *entry {
	return &entry{key: e.key, value: e.value, when: append(slices.Clone(e.when), c)}
}

func reorder(before, after []*entry) []*entry {
	place := map[string]int{}
	for i, e := range before {
		place[e.identity()] = i + 1
	}
	at := func(e *entry) int {
		if i := place[e.identity()]; i > 0 {
			return i
		}
		return len(before) + 1
	}
	after = slices.Clone(after)
	slices.SortStableFunc(after, func(a, b *entry) int { return at(a) - at(b) })
	return after
}

// commonEntries maps indices of live entries of before to indices of after, both ascending.
func commonEntries(before, after []*entry) map[int]int {
	lengths := make([][]int, len(before)+1)
	for i := range lengths {
		lengths[i] = make([]int, len(after)+1)
	}
	same := func(i, j int) bool { return before[i].live() && before[i].identity() == after[j].identity() }
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if same(i, j) {
				lengths[i][j] = lengths[i+1][j+1] + 1
			} else {
				lengths[i][j] = max(lengths[i+1][j], lengths[i][j+1])
			}
		}
	}
	common := map[int]int{}
	for i, j := 0, 0; i < len(before) && j < len(after); {
		switch {
		case same(i, j):
			common[i] = j
			i, j = i+1, j+1
		case lengths[i+1][j] >= lengths[i][j+1]:
			i++
		default:
			j++
		}
	}
	return common
}

// identity returns a text that remains the same if other parts of the entry change.
func (e *entry) identity() string {
	if e.key != nil {
		return e.key.Value
	}
	value, isMap := e.value.plain().(map[string]any)
	if !isMap {
		return text(e.value.plain())
	}
	if name, ok := value["name"].(string); ok {
		return name
	}
	if value["resources"] != nil {
		delete(value, "verbs")
	}
	return text(value)
}

func equal(a, b *tree) bool { return text(a.plain()) == text(b.plain()) }

func (t *tree) plain() any {
	switch t.node.Kind {
	case yaml.MappingNode:
		all := map[string]any{}
		for _, e := range t.entries {
			if e.live() {
				all[e.key.Value] = e.value.plain()
			}
		}
		return all
	case yaml.SequenceNode:
		all := []any{}
		for _, e := range t.entries {
			if e.live() {
				all = append(all, e.value.plain())
			}
		}
		return all
	default:
		return t.node.ShortTag() + " " + t.node.Value
	}
}

func text(value any) string {
	found, err := json.Marshal(value)
	if err != nil { // impossible: value contains only maps, lists and strings
		panic(err)
	}
	return string(found)
}

// find supports paths such as spec.containers.0.args, with 0 as the only index.
func (t *tree) find(path string) (*tree, error) {
	for step := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(t.entries, func(e *entry) bool {
			return e.live() && e.key != nil && e.key.Value == step
		})
		if t.node.Kind == yaml.SequenceNode && step == "0" && len(t.entries) > 0 {
			i = 0
		}
		if i < 0 {
			return nil, fmt.Errorf("there is no %s (of %s)", step, path)
		}
		t = t.entries[i].value
	}
	return t, nil
}
