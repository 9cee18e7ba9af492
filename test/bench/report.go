// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"jutsu.com/operators/test/environment"
)

type figure struct {
	Scenario string `json:"scenario"`
	// N is the number of objects in the scenario, or 0.
	N     int     `json:"n,omitempty"`
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Least is the lower bound of Value for any operator, if known.
	Least *float64 `json:"least,omitempty"`
	// Unit is for readers: s, MiB, per Dojo ...
	Unit string `json:"unit"`
	// Runs are the values of several runs. Value is their median.
	Runs []float64 `json:"runs,omitempty"`
}

type identity struct {
	scenario string
	n        int
	name     string
}

func (f *figure) identity() identity { return identity{f.Scenario, f.N, f.Name} }

func (f *figure) runs() []float64 {
	if len(f.Runs) > 0 {
		return f.Runs
	}
	return []float64{f.Value}
}

type report struct {
	When      time.Time `json:"when"`
	Operators []string  `json:"operators"` // with their versions
	Machine   string    `json:"machine"`
	// Flags are the flags after "--", which the user gave for the operators.
	Flags   []string `json:"flags,omitempty"`
	Figures []figure `json:"figures"`
}

func newReport(o *options) *report {
	return &report{
		When:      time.Now().UTC().Truncate(time.Second),
		Operators: []string{version(environment.Dojo), version(environment.Discord)},
		Machine:   fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), Flags: o.operator,
	}
}

func version(o environment.Operator) string {
	binary, err := o.Binary()
	if err != nil {
		return o.Name
	}
	version, err := exec.Command(binary, "--version").Output()
	if err != nil {
		return o.Name
	}
	return strings.TrimSpace(string(version))
}

type sheet struct {
	report   *report
	scenario string
	n        int
}

func (s sheet) add(name string, value float64, unit string) {
	s.report.Figures = append(s.report.Figures,
		figure{Scenario: s.scenario, N: s.n, Name: name, Value: value, Unit: unit})
}

func (s sheet) addAgainst(least float64, name string, value float64, unit string) {
	s.report.Figures = append(s.report.Figures,
		figure{Scenario: s.scenario, N: s.n, Name: name, Value: value, Least: &least, Unit: unit})
}

func (s sheet) addSpread(name string, took spread) {
	s.add(name+", p50", took.p50, "s")
	s.add(name+", p99", took.p99, "s")
	s.add(name+firstToLast, took.total, "s")
}

const firstToLast = ", first to last"

func (s sheet) find(name string) *figure {
	i := slices.IndexFunc(s.report.Figures, func(f figure) bool { return f.identity() == identity{s.scenario, s.n, name} })
	if i < 0 {
		return nil
	}
	return &s.report.Figures[i]
}

func (s sheet) bound(name string, least float64) {
	if f := s.find(name); f != nil {
		f.Least = &least
	}
}

func mergeRuns(runs []*report) *report {
	if len(runs) == 1 {
		return runs[0]
	}
	all := *runs[0]
	all.Figures = nil
	values, least := map[identity][]float64{}, map[identity][]float64{}
	for _, r := range runs {
		for _, f := range r.Figures {
			id := f.identity()
			if values[id] == nil {
				all.Figures = append(all.Figures, f)
			}
			values[id] = append(values[id], f.Value)
			if f.Least != nil {
				least[id] = append(least[id], *f.Least)
			}
		}
	}
	for i := range all.Figures {
		f := &all.Figures[i]
		f.Runs = values[f.identity()]
		f.Value = median(f.Runs)
		if f.Least != nil {
			f.Least = new(median(least[f.identity()]))
		}
	}
	return &all
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func read(path string) (*report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s has no figures of this program: %w", path, err)
	}
	return r, nil
}

func (r *report) save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}
