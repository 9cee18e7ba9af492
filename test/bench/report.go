package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"jutsu.com/operators/test/internal/operator"
)

// figure is one thing that was measured.
type figure struct {
	// Scenario is the file that it comes from.
	Scenario string  `json:"scenario"`
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	// Unit of the value, in words: s, MiB, requests per Dojo ...
	Unit string `json:"unit"`
}

// report is all that a run has measured, and on what.
type report struct {
	When     time.Time `json:"when"`
	Operator string    `json:"operator"`
	Machine  string    `json:"machine"`
	Dojos    int       `json:"dojos"`
	Secrets  int       `json:"secrets"`
	// Flags are those of the operator that are not the default.
	Flags   []string `json:"flags,omitempty"`
	Figures []figure `json:"figures"`
}

func newReport(o *options) *report {
	return &report{
		When: time.Now().UTC().Truncate(time.Second), Operator: operatorVersion(),
		Machine: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Dojos:   o.dojos, Secrets: o.secrets, Flags: o.operator,
	}
}

func operatorVersion() string {
	binary, err := operator.Dojo.Binary()
	if err != nil {
		return "unknown"
	}
	version, err := exec.Command(binary, "--version").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(version))
}

// add appends a figure.
func (r *report) add(scenario, name string, value float64, unit string) {
	r.Figures = append(r.Figures, figure{Scenario: scenario, Name: name, Value: value, Unit: unit})
}

// addSpread appends how long a number of things took.
func (r *report) addSpread(scenario, name string, s spread) {
	r.add(scenario, name+", p50", s.p50, "s")
	r.add(scenario, name+", p99", s.p99, "s")
	r.add(scenario, name+", first to last", s.total, "s")
}

// table draws the figures for people.
func (r *report) table() string {
	var text bytes.Buffer
	name := strings.Join(append([]string{r.Operator}, r.Flags...), " ")
	_, _ = fmt.Fprintf(&text, "\n%s, %s, %d Dojos, %d unrelated Secrets\n\n", name, r.Machine, r.Dojos, r.Secrets)
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	last := ""
	for _, f := range r.Figures {
		scenario := f.Scenario
		if scenario == last {
			scenario = ""
		}
		last = f.Scenario
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", scenario, f.Name, plain(f.Value), f.Unit)
	}
	_ = w.Flush() // a buffer takes everything
	return text.String()
}

// plain is a number with as many digits as it is worth.
func plain(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

// save writes the report as JSON.
func (r *report) save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}
