package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// refresh is the time between two looks at the objects: short enough to feel live.
const refresh = 200 * time.Millisecond

// errInterrupted is how a run ends that was stopped before it had shown what it is for.
var errInterrupted = errors.New("interrupted")

func run(ctx context.Context, args []string, out *os.File) (err error) {
	o, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	began := time.Now()
	env, err := start(ctx, o, out)
	if err != nil {
		return unlessInterrupted(ctx, err)
	}
	defer func() {
		say(out, "Stopping the operator and the cluster ...")
		err = errors.Join(err, env.stop())
		say(out, "All gone. The operator's log is kept: %s", env.operator.Log())
	}()

	screen := newScreen(out)
	switch unsettled := env.settle(ctx, screen, o.timeout); {
	case unsettled == nil:
		say(out, "\nAll is settled, %.1f s after the start.", time.Since(began).Seconds())
	case o.once || env.ended() || ctx.Err() != nil:
		return unlessInterrupted(ctx, unsettled)
	default: // somebody is there to look at it
		say(out, "\n%v", unsettled)
	}
	if o.once {
		return nil
	}
	facts, err := env.facts()
	if err != nil {
		return err
	}
	sample, err := manifest(facts.sample)
	if err != nil {
		return err
	}
	printHints(out, facts, sample)
	return env.stay(ctx, screen)
}

// settle shows the objects until all of them are settled. The error says which is not and why.
func (e *environment) settle(ctx context.Context, s *screen, timeout time.Duration) error {
	deadline := time.After(timeout)
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		rows, err := e.look(ctx)
		if err == nil {
			s.table(rows)
			if settled(rows) {
				return nil
			}
		}
		select {
		case <-e.operator.Exited():
			return e.operator.Err()
		case <-ctx.Done():
			return errInterrupted
		case <-deadline:
			return fmt.Errorf("not settled after %s:\n%s\nthe last lines of the operator's log %s:\n%s",
				timeout, strings.Join(complaints(rows, err), "\n"), e.operator.Log(), e.operator.Tail())
		case <-tick.C:
		}
	}
}

// stay tells of every change until it is interrupted, which is its good end, or the operator ends by itself.
func (e *environment) stay(ctx context.Context, s *screen) error {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		if rows, err := e.look(ctx); err == nil {
			s.changes(rows)
		}
		select {
		case <-e.operator.Exited():
			return e.operator.Err()
		case <-ctx.Done():
			say(s.out, "")
			return nil
		case <-tick.C:
		}
	}
}

// unlessInterrupted tells of an interruption as such and not as the error that it has caused.
func unlessInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

func say(out *os.File, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}
