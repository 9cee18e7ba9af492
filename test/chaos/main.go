// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/test/environment"
)

type options struct {
	seed     uint64
	duration time.Duration
	// actions is the number of actions per round.
	actions int
	// roundTimeout limits each of two waits at the end of a round: the wait until the processes are
	// ready, and the wait until all objects are reconciled.
	roundTimeout time.Duration
	// quiet is the time for which the operators must stay idle at the end of a round.
	quiet time.Duration
	// only matches the names of enabled actions. nil enables all actions.
	only *regexp.Regexp
}

func (o *options) kinds() []actionKind {
	if o.only == nil {
		return actionKinds
	}
	return slices.DeleteFunc(slices.Clone(actionKinds), func(k actionKind) bool { return !o.only.MatchString(k.name) })
}

func main() {
	environment.Main("chaos", func(ctx context.Context, args []string) error { return execute(ctx, args, os.Stdout) })
}

func execute(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	// The libraries log a lot while the API server is down.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	return chaos(ctx, o, out)
}

const help = `Breaks everything around the operators, on a Kubernetes API and a simulated Discord that it starts
on this machine, and checks that they never do what they must not. It runs in rounds: chaos, then a pause until
everything is reconciled, then the checks. It ends at the first violation, with exit status 1.

Usage: make chaos [ARGS="flags"]`

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	flags := environment.Flags("chaos", help, out)
	flags.Uint64Var(&o.seed, "seed", 0,
		"`number` that the sequence of actions follows from, 1 or more; by default a random one, which is printed")
	flags.DurationVar(&o.duration, "duration", 4*time.Minute, "how long to run; the current round is completed")
	flags.IntVar(&o.actions, "actions", 80, "actions in a round, 1 or more; 80 take about a minute")
	flags.DurationVar(&o.roundTimeout, "round-timeout", 3*time.Minute,
		"how long the operators may take to reconcile everything after a round, 1s or more")
	flags.DurationVar(&o.quiet, "quiet", 5*time.Second,
		"how long the operators have to do nothing at all to count as at rest, 1s or more")
	flags.Func("only", "`regular expression` of the actions that happen, such as 'data|postgres|operator|leaders'",
		func(text string) (err error) {
			o.only, err = regexp.Compile(text)
			return err
		})
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case len(o.kinds()) == 0:
		return nil, fmt.Errorf("--only: no action matches %q; test/chaos/actions.go has all", o.only)
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	case o.duration <= 0:
		return nil, errors.New("--duration must be more than 0")
	case o.actions < 1:
		return nil, errors.New("--actions must be at least 1")
	case o.roundTimeout < time.Second, o.quiet < time.Second:
		return nil, errors.New("--round-timeout and --quiet must be at least 1s")
	}
	if o.seed == 0 {
		o.seed = 1 + rand.Uint64N(999_999) //nolint:gosec // no secret
	}
	return o, nil
}
