// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func reportOf(machine string, figures ...figure) *report {
	return &report{Machine: machine, Figures: figures}
}

func TestMergeRuns(t *testing.T) {
	run := func(value, least float64) *report {
		return reportOf("m", figure{
			Scenario: "load", N: 3, Name: "CPU", Value: value, Least: &least, Unit: "s",
		})
	}
	alone := run(5, 1)
	if got := mergeRuns([]*report{alone}); got != alone {
		t.Error("a single run is not returned unchanged")
	}
	half := reportOf("m") // a run that failed early
	got := mergeRuns([]*report{run(5, 1), run(2, 3), run(9, 2), half})
	want := reportOf("m", figure{
		Scenario: "load", N: 3, Name: "CPU", Value: 5, Least: new(2.0), Unit: "s",
		Runs: []float64{5, 2, 9},
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := got.table(); !strings.Contains(text, "5 ±80%") {
		t.Errorf("the spread is not shown:\n%s", text)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("the median of four is %v", got)
	}
}

func TestJudge(t *testing.T) {
	five := []float64{10, 11, 12, 13, 14}
	for name, test := range map[string]struct {
		before, after []float64
		want          significance
	}{
		"one run each":    {five[:1], five[1:2], unknown},
		"three runs each": {five[:3], []float64{20, 21, 22}, unknown},
		"four runs each, the ranges do not overlap":       {five[:4], []float64{20, 21, 22, 23}, differs},
		"five runs each, all values are lower afterwards": {five, []float64{1, 2, 3, 4, 5}, differs},
		"the ranges overlap":                              {five, []float64{10.5, 11.5, 12.5, 13.5, 14.5}, noise},
		"all values are the same":                         {[]float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}, noise},
	} {
		t.Run(name, func(t *testing.T) {
			if got := significanceOf(test.before, test.after); got != test.want {
				t.Errorf("%v and %v: %s, want %s", test.before, test.after, got, test.want)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	folder := t.TempDir()
	file := func(name string, r *report) string {
		path := filepath.Join(folder, name)
		if err := r.save(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cpu := figure{Scenario: "load", N: 1000, Name: "CPU", Value: 12, Unit: "s", Runs: []float64{11, 12, 12, 13}}
	less := cpu
	less.Value, less.Runs = 6, []float64{5, 6, 6, 7}
	once := figure{Scenario: "idle", Name: "calls", Unit: "per s"}
	calls := once
	calls.Value = 1
	gone, other := figure{Scenario: "gone", Unit: "s"}, figure{Scenario: "idle", Name: "calls", N: 7, Unit: "s"}
	before := file("before.json", reportOf("a", cpu, once, gone))
	var out bytes.Buffer
	if err := compare([]string{before, file("after.json", reportOf("b", other, less, calls))}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"load      1000  CPU     12 ±8%  6 ±17%  s      -50%    DIFFERS", "idle      0     calls   0       1       per s  +Inf%   too few runs",
		"1 of 2 figures differ by more than the noise", "1 have fewer than 4 runs in one of the files", "NOT the same machine: a, and b",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"one file":                      {[]string{before}, "compare takes two files"},
		"a missing file":                {[]string{before, "none"}, "none: no such file"},
		"files without a common figure": {[]string{before, file("empty.json", reportOf("a"))}, "no figure in common"},
		"a file without figures":        {[]string{before, "compare_test.go"}, "has no figures of this program"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := compare(test.args, &out); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}
