// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"jutsu.com/operators/test/discordtest"
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
		"no values":            {q: 0.5, want: 0},
		"one value":            {values: []float64{7}, q: 0.5, want: 7},
		"median of three":      {values: []float64{9, 1, 5}, q: 0.5, want: 5},
		"median of four":       {values: []float64{4, 1, 3, 2}, q: 0.5, want: 2},
		"p50 of a hundred":     {values: hundred, q: 0.5, want: 50},
		"p99 of a hundred":     {values: hundred, q: 0.99, want: 99},
		"maximum of a hundred": {values: hundred, q: 1, want: 100},
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
		t.Errorf("VmSwap, which the text lacks, is %v, want 0", got)
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
	r := &report{Operators: []string{"dojo-operator v1", "discord-operator v2"}, Machine: "linux/amd64, 2 cores",
		Flags: []string{"--concurrency=9"}}
	for _, n := range []int{300, 100} {
		at := sheet{r, "load", n}
		at.add("created to Ready"+firstToLast, float64(n)/20, "s")
		at.bound("created to Ready"+firstToLast, float64(n)/30)
		at.addAgainst(2, "status writes", 2, "per Dojo")
		at.add("rare", 0, "in all")
	}
	sheet{r, "load", 300}.add("only at 300", 1.256, "s")
	sheet{r, "takeover", 300}.addAgainst(0, "writes", 0, "in all")
	want := `
dojo-operator v1 discord-operator v2 --concurrency=9; linux/amd64, 2 cores

load                               100  300   at least   unit
  created to Ready, first to last  5    15    3.33 / 10  s
  status writes                    2    2     2          per Dojo
  rare                             0    0                in all
  only at 300                           1.26             s

takeover  300  at least  unit
  writes  0    0         in all
`
	if diff := cmp.Diff(want, r.table()); diff != "" {
		t.Error(diff)
	}
}

func TestSave(t *testing.T) {
	least := 2.0
	want := &report{When: time.Unix(1_700_000_000, 0).UTC(), Operators: []string{"o"}, Machine: "m",
		Figures: []figure{{Scenario: "load", N: 3, Name: "status writes", Value: 2, Least: &least, Unit: "per Dojo"}}}
	path := filepath.Join(t.TempDir(), "new", "figures.json")
	if err := want.save(path); err != nil {
		t.Fatal(err)
	}
	got, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLeast(t *testing.T) {
	for name, test := range map[string]struct {
		crowd crowd
		calls float64
		want  float64
	}{
		"the first 50 calls take no time": {crowd: crowd{bots: 1}, calls: 50, want: 0},
		"50 more calls take a second":     {crowd: crowd{bots: 1}, calls: 100, want: 1},
		"the latency of one call counts":  {crowd: crowd{bots: 1, latency: 50 * time.Millisecond}, calls: 100, want: 1.05},
		"with webhooks, the latency of two calls counts": {crowd: crowd{bots: 1, latency: 50 * time.Millisecond, webhooks: true}, calls: 100,
			want: 1.1},
		"every bot has its own limit": {crowd: crowd{bots: 20}, calls: 2000, want: 1},
		"no calls":                    {crowd: crowd{bots: 1}, calls: 0, want: 0},
		"no calls at a high latency":  {crowd: crowd{bots: 1, latency: time.Second}, calls: 0, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.crowd.least(test.calls); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestCrowd(t *testing.T) {
	c := crowd{guilds: 2, channels: 60, bots: 2, webhooks: true, latency: 50 * time.Millisecond}
	if got, want := c.String(), "with webhooks, a bot each, 50 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.total() != 120 || c.groups() != 2 || c.calls() != 2 {
		t.Errorf("%d channels, %d groups, %v calls", c.total(), c.groups(), c.calls())
	}
	in := map[string]int{}
	for i := range c.total() {
		in[c.channel(i).Spec.GroupRef.Name]++
	}
	if diff := cmp.Diff(map[string]int{"group-0-0": 50, "group-0-1": 10, "group-1-0": 50, "group-1-1": 10},
		in); diff != "" {
		t.Error(diff)
	}
}

func TestHeapAlloc(t *testing.T) {
	text := "heap profile: 1: 2 [3: 4] @ heap/1048576\n\n" +
		"# runtime.MemStats\n# Alloc = 1\n# HeapAlloc = 123456\n# HeapSys = 9\n"
	if got, err := heapAlloc(text); got != 123456 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := heapAlloc("nothing of the kind"); err == nil {
		t.Error("no error")
	}
}

func TestScraped(t *testing.T) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(`# TYPE reconciles counter
reconciles{controller="a",result="success"} 2
reconciles{controller="a",result="error"} 3
reconciles{controller="b",result="success"} 4
# TYPE heap gauge
heap 7
`))
	if err != nil {
		t.Fatal(err)
	}
	s := scraped(families)
	for what, got := range map[string][2]float64{
		"all series":                           {s.total("reconciles"), 9},
		"the series of one label value":        {s.total("reconciles", "controller", "a"), 5},
		"the series of an unknown label value": {s.total("reconciles", "controller", "c"), 0},
		"a gauge":                              {s.total("heap"), 7},
		"an unknown metric":                    {s.total("stack"), 0},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got %v, want %v", what, got[0], got[1])
		}
	}
}

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want *options
		err  string
	}{
		"all flags": {
			args: []string{"--dojos=5,6", "--secrets=6", "--channels=7", "--roles=8", "--guilds=3", "--webhooks=true", "--latency=1s",
				"--outage=2s", "--resync=3s", "--idle=7s", "--flood=20", "--lives=4", "--repeat=8", "--runs=9", "--out=x.json",
				"--", "--concurrency=9"},
			want: &options{dojos: []int{5, 6}, secrets: 6, channels: []int{7}, rolesEach: []int{8}, guilds: 3, webhooks: []bool{true},
				latency: []time.Duration{time.Second}, outage: 2 * time.Second, resync: 3 * time.Second,
				idle: 7 * time.Second, flood: 20, lives: 4, repeat: 8, runs: 9, out: "x.json", quiet: 5 * time.Second,
				operator: []string{"--concurrency=9"}},
		},
		"some scenarios": {
			args: []string{"--only=load,memory", "--out=x.json"},
			want: &options{dojos: []int{100, 300, 1000}, secrets: 2000, channels: []int{50, 200, 490}, rolesEach: []int{50, 248}, guilds: 20,
				webhooks: []bool{false, true},
				latency:  []time.Duration{0, 50 * time.Millisecond}, outage: time.Minute, resync: 10 * time.Second,
				idle: 30 * time.Second, flood: 2000, lives: 60, repeat: 3, runs: 1, only: "load,memory", out: "x.json",
				quiet: 5 * time.Second, operator: []string{}},
		},
		"an unknown scenario":     {args: []string{"--only=load,speed"}, err: `no scenario "speed"`},
		"no Dojos":                {args: []string{"--dojos=3,0"}, err: "must be at least 1"},
		"--dojos is not a number": {args: []string{"--dojos=many"}, err: "invalid syntax"},
		"no Secrets":              {args: []string{"--secrets=0"}, err: "must be at least 1"},
		"no channels":             {args: []string{"--channels=0"}, err: "--channels must be at least 1 and at most 490"},
		"no roles":                {args: []string{"--roles=0"}, err: "--roles must be at least 1 and at most 248"},
		"too many roles":          {args: []string{"--roles=249"}, err: "--roles must be at least 1 and at most 248"},
		"too many channels": {args: []string{"--channels=50,491"},
			err: "--channels must be at least 1 and at most 490"},
		"a single guild":     {args: []string{"--guilds=1"}, err: "--guilds must be at least 2"},
		"a small flood":      {args: []string{"--flood=19"}, err: "--flood must be at least 20"},
		"no lives":           {args: []string{"--lives=0"}, err: "--lives at least 1"},
		"a negative latency": {args: []string{"--latency=-1s"}, err: "--latency must not be negative"},
		"no repetition":      {args: []string{"--repeat=0"}, err: "must be at least 1"},
		"no run":             {args: []string{"--runs=0"}, err: "must be at least 1"},
		"an idle time below a second": {args: []string{"--idle=10ms"},
			err: "--idle, --outage and --resync must be at least 1s"},
		"a resync period below a second": {args: []string{"--resync=10ms"},
			err: "--idle, --outage and --resync must be at least 1s"},
		"an outage below a second": {args: []string{"--outage=10ms"},
			err: "--idle, --outage and --resync must be at least 1s"},
		"an unexpected argument": {args: []string{"dojo"}, err: `unexpected argument "dojo"`},
		"help":                   {args: []string{"--help"}, err: flag.ErrHelp.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			var printed bytes.Buffer
			got, err := parse(test.args, &printed)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error is %v, want %q", err, test.err)
				}
				if errors.Is(err, flag.ErrHelp) && !strings.Contains(printed.String(), "-dojos") {
					t.Errorf("--help does not mention -dojos: %s", printed.String())
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

func TestCallsPerReading(t *testing.T) {
	const guild, list, roles, edit = "GET /guilds/{guild_id}", "GET /guilds/{guild_id}/channels",
		"GET /guilds/{guild_id}/members/{user_id}", "PATCH /channels/{channel_id}"
	for name, test := range map[string]struct {
		routes   []string
		want     float64
		complete bool
	}{
		"nothing":                           {},
		"two lists of channels are too few": {routes: []string{guild, list, roles, guild, list, roles}},
		"the first and the last reading lack calls": {routes: []string{roles, guild, list, roles, guild, list, roles, guild, list}, want: 3,
			complete: true},
		"the first call lists the channels": {routes: []string{list, roles, guild, list, roles, guild, list, roles}, want: 3,
			complete: true},
		"writes and calls about the Gateway do not count": {
			routes: []string{list, edit, roles, "GET /gateway/bot", guild, list, roles, edit, guild, list}, want: 3,
			complete: true,
		},
		"a call after the end of its reading": {routes: []string{list, roles, guild, list, guild, list, roles}, want: 3, complete: true},
		"two equal calls in each reading": {routes: []string{list, roles, guild, guild, list, roles, guild, guild, list}, want: 4,
			complete: true},
	} {
		t.Run(name, func(t *testing.T) {
			var requests []discordtest.Request
			for _, route := range test.routes {
				method, _, _ := strings.Cut(route, " ")
				requests = append(requests, discordtest.Request{Method: method, Route: route})
			}
			got, complete := callsPerReading(requests, 2)
			if got != test.want || complete != test.complete {
				t.Errorf("%v calls, complete: %t; want %v, %t", got, complete, test.want, test.complete)
			}
		})
	}
}
