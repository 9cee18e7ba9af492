// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

func (r *report) table() string {
	var text bytes.Buffer
	_, _ = fmt.Fprintf(&text, "\n%s; %s\n", strings.Join(append(slices.Clone(r.Operators), r.Flags...), " "), r.Machine)
	for _, scenario := range inOrder(r.Figures, func(f figure) string { return f.Scenario }) {
		block(&text, scenario, slices.DeleteFunc(slices.Clone(r.Figures),
			func(f figure) bool { return f.Scenario != scenario }))
	}
	return text.String()
}

func block(text io.Writer, scenario string, figures []figure) {
	sizes := inOrder(figures, func(f figure) int { return f.N })
	slices.Sort(sizes)
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "\n%s", scenario)
	for _, n := range sizes {
		_, _ = fmt.Fprintf(w, "\t%d", n)
	}
	_, _ = fmt.Fprint(w, "\tat least\tunit\n")
	for _, name := range inOrder(figures, func(f figure) string { return f.Name }) {
		ofName := slices.DeleteFunc(slices.Clone(figures), func(f figure) bool { return f.Name != name })
		row(w, name, sizes, ofName)
	}
	_ = w.Flush() // a write to a buffer never fails
}

func row(w io.Writer, name string, sizes []int, figures []figure) {
	_, _ = fmt.Fprintf(w, "  %s", name)
	var least []string
	for _, n := range sizes {
		cell := ""
		if i := slices.IndexFunc(figures, func(f figure) bool { return f.N == n }); i >= 0 {
			f := figures[i]
			cell = formatNumber(f.Value) + ofRuns(f)
			if f.Least != nil {
				least = append(least, formatNumber(*f.Least))
			}
		}
		_, _ = fmt.Fprintf(w, "\t%s", cell)
	}
	_, _ = fmt.Fprintf(w, "\t%s\t%s\n", ofSizes(least), figures[0].Unit)
}

func ofSizes(values []string) string {
	if same := slices.Compact(slices.Clone(values)); len(same) == 1 {
		return same[0]
	}
	return strings.Join(values, " / ")
}

// ofRuns formats the largest deviation of a run from the median.
func ofRuns(f figure) string {
	if len(f.Runs) < 2 || f.Value == 0 {
		return ""
	}
	furthest := max(slices.Max(f.Runs)-f.Value, f.Value-slices.Min(f.Runs))
	return fmt.Sprintf(" ±%.0f%%", 100*furthest/f.Value)
}

func inOrder[K comparable](figures []figure, key func(figure) K) []K {
	var keys []K
	for _, f := range figures {
		if k := key(f); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

func formatNumber(v float64) string {
	text := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
	if text == "-0" {
		return "0"
	}
	return text
}
