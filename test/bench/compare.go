// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"golang.org/x/perf/benchmath"
)

type significance string

const (
	// differs means p < 0.05 in the Mann-Whitney test of the two sets of runs.
	differs significance = "DIFFERS"
	noise   significance = "noise"
	unknown significance = "too few runs"
)

// enough is the least number of runs per report with which p can be below 0.05. The values of two
// reports with 4 runs each have 70 possible orders. In 2 of these orders, all values of one report
// are below all values of the other report, so the lowest p is 2/70.
const enough = 4

type compared struct {
	before, after figure
	significance  significance
}

// change is infinite if the value before is 0, and the value after is not.
func (c compared) change() float64 {
	switch c.before.Value {
	case c.after.Value:
		return 0
	case 0:
		return math.Inf(1)
	}
	return c.after.Value/c.before.Value - 1
}

func compare(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("compare takes two files of figures: bin/bench compare BEFORE.json AFTER.json")
	}
	before, err := read(args[0])
	if err != nil {
		return err
	}
	after, err := read(args[1])
	if err != nil {
		return err
	}
	all := compareReports(before, after)
	if len(all) == 0 {
		return errors.New("the two files have no figure in common")
	}
	_, _ = io.WriteString(out, comparison(all)) // an error of the terminal is ignored
	if before.Machine != after.Machine {
		_, _ = fmt.Fprintf(out, "NOT the same machine: %s, and %s\n", before.Machine, after.Machine)
	}
	return nil
}

func compareReports(before, after *report) (all []compared) {
	found := map[identity]figure{}
	for _, f := range after.Figures {
		found[f.identity()] = f
	}
	for _, f := range before.Figures {
		if other, ok := found[f.identity()]; ok && f.Unit == other.Unit {
			all = append(all, compared{f, other, significanceOf(f.runs(), other.runs())})
		}
	}
	return all
}

func significanceOf(before, after []float64) significance {
	if len(before) < enough || len(after) < enough {
		return unknown
	}
	thresholds := benchmath.DefaultThresholds
	a, b := benchmath.NewSample(before, &thresholds), benchmath.NewSample(after, &thresholds)
	if c := benchmath.AssumeNothing.Compare(a, b); c.P < c.Alpha {
		return differs
	}
	return noise
}

func comparison(all []compared) string {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "scenario\tn\tfigure\tbefore\tafter\tunit\tchange\tverdict\n")
	count := map[significance]int{}
	for _, c := range all {
		count[c.significance]++
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%+.0f%%\t%s\n", c.before.Scenario, c.before.N, c.before.Name,
			formatNumber(c.before.Value)+ofRuns(c.before), formatNumber(c.after.Value)+ofRuns(c.after),
			c.before.Unit, 100*c.change(), c.significance)
	}
	_ = w.Flush() // a write to a buffer never fails
	_, _ = fmt.Fprintf(&text, "\n%d of %d figures differ by more than the noise (Mann-Whitney, p < 0.05)", count[differs],
		len(all))
	if few := count[unknown]; few > 0 {
		_, _ = fmt.Fprintf(&text, "; %d have fewer than %d runs in one of the files: measure both with --runs=6", few, enough)
	}
	return text.String() + ".\n"
}
