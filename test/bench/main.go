// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/project"
)

type options struct {
	dojos   []int
	secrets int
	// channels lists the numbers of channels per guild to measure, not counting categories.
	channels  []int
	guilds    int // the number of guilds with 50 channels each
	webhooks  []bool
	latency   []time.Duration
	rolesEach []int
	outage    time.Duration
	resync    time.Duration // the period of polling without the Gateway
	idle      time.Duration
	// flood is the size of an attack (see serversOf).
	flood            int
	lives            int
	repeat           int
	runs             int
	out              string
	only             string
	profileAPIServer bool
	// quiet is longer than any pause between two requests of a busy operator.
	quiet    time.Duration
	operator []string
}

func main() {
	silence()
	environment.Main("bench", execute)
}

// silence discards the logs of libraries, because the libraries also return the errors.
func silence() { log.SetLogger(logr.Discard()) }

func execute(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "compare" {
		return compare(args[1:], os.Stdout)
	}
	o, err := parse(args, os.Stdout)
	if err != nil {
		return err
	}
	measured, err := run(ctx, o, os.Stderr)
	if len(measured.Figures) > 0 {
		if err := measured.save(o.out); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(os.Stdout, "%s\nWritten to %s. Compare figures of the same machine only. "+
			"To read a profile: go tool pprof -top %s\n",
			measured.table(), o.out, filepath.Join(filepath.Dir(o.out), "profiles", "FILE"))
	}
	return err
}

const help = `Measures the operators on a Kubernetes API that it starts on this machine.

Usage: make bench [ARGS="flags [-- flags of the operator]"]
       bin/bench compare BEFORE.json AFTER.json      # which figures differ by more than the noise

To compare two versions, measure each with --runs=6 on the same machine, while nothing else runs on it.`

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{quiet: 5 * time.Second}
	flags := environment.Flags("bench", help, out)
	list(flags, &o.dojos, "dojos", "100,300,1000", "`numbers` of Dojos, one series with each, 1 or more", strconv.Atoi)
	flags.IntVar(&o.secrets, "secrets", 2000, "how many Secrets of 10 KiB that have nothing to do with Dojos, 1 or more")
	list(flags, &o.channels, "channels", "50,200,490",
		"`numbers` of Discord channels in one guild, 1 to 490, in groups of 50", strconv.Atoi)
	list(flags, &o.rolesEach, "roles", "50,248", "`numbers` of Discord roles in one guild, 1 to 248", strconv.Atoi)
	flags.IntVar(&o.guilds, "guilds", 20, "how many guilds of 50 channels, 2 or more")
	list(flags, &o.webhooks, "webhooks", "false,true",
		"whether the channels have a webhook each, one series with each `answer`", strconv.ParseBool)
	list(flags, &o.latency, "latency", "0s,50ms", "`durations` that a call to Discord takes", time.ParseDuration)
	flags.DurationVar(&o.outage, "outage", time.Minute, "how long Discord fails in the scenario outage, 1s or more")
	flags.DurationVar(&o.resync, "resync", 10*time.Second,
		"how often a guild is read while its Gateway is away (the operator's default is 5m), 1s or more")
	flags.DurationVar(&o.idle, "idle", 30*time.Second, "how long to watch an idle operator, 1s or more")
	flags.IntVar(&o.flood, "flood", 2000, "size of an attack by a tenant: so many Dojos, a tenth as many objects of "+
		"1 MiB, or a twentieth as many other objects; 20 or more")
	flags.IntVar(&o.lives, "lives", 60, "how many objects, at least, another tenant creates during each attack, 1 or more")
	flags.IntVar(&o.repeat, "repeat", 3, "how often to repeat each short measurement, 1 or more")
	flags.IntVar(&o.runs, "runs", 1, "how often to measure everything; the figures are medians with spread; 1 or more")
	flags.StringVar(&o.only, "only", "",
		"comma-separated `scenarios` to run, together with the scenarios that these require (default all): "+
			strings.Join(scenarios, ", "))
	flags.BoolVar(&o.profileAPIServer, "profile-api-server", false,
		"also profile the API server in the scenarios load and direct; this costs some percent of its CPU time")
	flags.StringVar(&o.out, "out", "",
		"`file` for the figures (default out/bench/figures.json in the project); profiles go into profiles/ beside it")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	o.operator = flags.Args()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.out == "" {
		path, err := project.Path("out", "bench", "figures.json")
		if err != nil {
			return nil, err
		}
		o.out = path
	}
	return o, nil
}

func list[T any](flags *flag.FlagSet, values *[]T, name, byDefault, usage string, parse func(string) (T, error)) {
	read := func(text string) error {
		*values = nil
		for item := range strings.SplitSeq(text, ",") {
			value, err := parse(item)
			if err != nil {
				return err
			}
			*values = append(*values, value)
		}
		return nil
	}
	_ = read(byDefault) // our defaults are valid
	flags.Func(name, usage+fmt.Sprintf(" (default %s)", byDefault), read)
}

func (o *options) validate() error {
	switch {
	case len(o.operator) > 0 && !strings.HasPrefix(o.operator[0], "-"):
		return fmt.Errorf("unexpected argument %q; see --help", o.operator[0])
	case slices.Min(o.dojos) < 1, o.secrets < 1, o.repeat < 1, o.runs < 1:
		return errors.New("--dojos, --secrets, --repeat and --runs must be at least 1")
	case slices.Min(o.channels) < 1, slices.Max(o.channels)+groupsFor(slices.Max(o.channels)) > perGuild:
		return errors.New("--channels must be at least 1 and at most 490: Discord allows 500 channels and groups")
	case slices.Min(o.rolesEach) < 1, slices.Max(o.rolesEach) > mostRoles:
		return errors.New("--roles must be at least 1 and at most 248: Discord allows 250 with @everyone and the bot's")
	case o.flood < serversOf, o.lives < 1:
		return fmt.Errorf("--flood must be at least %d, and --lives at least 1", serversOf)
	case o.guilds < 2:
		return errors.New("--guilds must be at least 2")
	case slices.Min(o.latency) < 0:
		return errors.New("--latency must not be negative")
	case o.idle < time.Second, o.outage < time.Second, o.resync < time.Second:
		return errors.New("--idle, --outage and --resync must be at least 1s")
	}
	for name := range strings.SplitSeq(o.only, ",") {
		if o.only != "" && !slices.Contains(scenarios, name) {
			return fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(scenarios, ", "))
		}
	}
	return nil
}
