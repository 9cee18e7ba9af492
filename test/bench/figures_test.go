package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i) // 100 down to 1
	}
	for name, test := range map[string]struct {
		values []float64
		q      float64
		want   float64
	}{
		"of nothing":         {q: 0.5, want: 0},
		"of one":             {values: []float64{7}, q: 0.5, want: 7},
		"median of three":    {values: []float64{9, 1, 5}, q: 0.5, want: 5},
		"median of four":     {values: []float64{4, 1, 3, 2}, q: 0.5, want: 2},
		"p50 of a hundred":   {values: hundred, q: 0.5, want: 50},
		"p99 of a hundred":   {values: hundred, q: 0.99, want: 99},
		"the longest of all": {values: hundred, q: 1, want: 100},
	} {
		t.Run(name, func(t *testing.T) {
			if got := quantile(test.values, test.q); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestSpreadOf(t *testing.T) {
	zero := time.Unix(1_700_000_000, 0)
	at := func(s int) time.Time { return zero.Add(time.Duration(s) * time.Second) }
	began := map[string]time.Time{"a": at(0), "b": at(1), "c": at(2)}
	done := map[string]time.Time{"a": at(10), "b": at(5), "c": at(4)} // took 10, 4, 2
	want := spread{p50: 4, p99: 10, total: 10}
	if diff := cmp.Diff(want, spreadOf(began, done), cmp.AllowUnexported(spread{})); diff != "" {
		t.Error(diff)
	}
}

func TestProc(t *testing.T) {
	status := "Name:\tdojo-operator\nVmPeak:\t 1313472 kB\nVmHWM:\t   60000 kB\nVmRSS:\t   59660 kB\nThreads:\t9\n"
	if got, want := statusBytes(status, "VmRSS"), 59660.0*1024; got != want {
		t.Errorf("VmRSS is %v, want %v", got, want)
	}
	if got := statusBytes(status, "VmSwap"); got != 0 {
		t.Errorf("what is not there is %v", got)
	}
	stat := "4711 (an (odd) name) S 1 4711 4711 0 -1 4194560 9000 0 10 0 150 50 0 0 20 0 9 0 100 1 2 3"
	if got := statSeconds(stat); got != 2 {
		t.Errorf("150 and 50 ticks are %v s, want 2", got)
	}
	if now, peak := residentBytes(os.Getpid()); (now > 0) != (peak >= now && peak > 0) {
		t.Errorf("this process has %v bytes, at most %v", now, peak)
	}
}

func TestTable(t *testing.T) {
	r := &report{Operator: "dojo-operator v1", Machine: "linux/amd64, 2 cores", Dojos: 3, Secrets: 2, Flags: []string{"--concurrency=9"}}
	r.add("load", "status writes", 2, "per Dojo")
	r.add("load", "operator's CPU time", 1.256, "s")
	r.add("idle", "writes", 0, "per minute")
	want := `
dojo-operator v1 --concurrency=9, linux/amd64, 2 cores, 3 Dojos, 2 unrelated Secrets

load  status writes        2     per Dojo
      operator's CPU time  1.26  s
idle  writes               0     per minute
`
	if diff := cmp.Diff(want, r.table()); diff != "" {
		t.Error(diff)
	}
}

func TestSave(t *testing.T) {
	want := &report{When: time.Unix(1_700_000_000, 0).UTC(), Operator: "o", Machine: "m", Dojos: 3, Secrets: 2,
		Figures: []figure{{Scenario: "load", Name: "status writes", Value: 2, Unit: "per Dojo"}}}
	path := filepath.Join(t.TempDir(), "dojo.json")
	if err := want.save(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := &report{}
	if err := json.Unmarshal(text, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want *options
		err  string
	}{
		"all flags": {
			args: []string{"--dojos=5", "--secrets=6", "--channels=7", "--idle=7s", "--repeat=8", "--out=x.json", "--", "--concurrency=9"},
			want: &options{dojos: 5, secrets: 6, channels: 7, idle: 7 * time.Second, repeat: 8, out: "x.json", quiet: 5 * time.Second,
				operator: []string{"--concurrency=9"}},
		},
		"some scenarios": {
			args: []string{"--only=load,memory", "--out=x.json"},
			want: &options{dojos: 300, secrets: 2000, channels: 480, idle: 2 * time.Minute, repeat: 5, only: "load,memory", out: "x.json", quiet: 5 * time.Second, operator: []string{}},
		},
		"a scenario there is not": {args: []string{"--only=load,speed"}, err: `no scenario "speed"`},
		"no Dojos":                {args: []string{"--dojos=0"}, err: "must be at least 1"},
		"no Secrets":              {args: []string{"--secrets=0"}, err: "must be at least 1"},
		"no channels":             {args: []string{"--channels=0"}, err: "--channels must be at least 1 and at most 480"},
		"too many channels":       {args: []string{"--channels=481"}, err: "--channels must be at least 1 and at most 480"},
		"no repetition":           {args: []string{"--repeat=0"}, err: "must be at least 1"},
		"too short a look":        {args: []string{"--idle=10ms"}, err: "--idle must be at least 1s"},
		"a word too many":         {args: []string{"dojo"}, err: `unexpected argument "dojo"`},
		"help":                    {args: []string{"--help"}, err: flag.ErrHelp.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			got, err := parse(test.args, &told)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error is %v, want %q", err, test.err)
				}
				if errors.Is(err, flag.ErrHelp) && !strings.Contains(told.String(), "-dojos") {
					t.Errorf("--help does not speak of -dojos: %s", told.String())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
