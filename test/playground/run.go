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
		return err
	}
	defer func() {
		say(out, "Stopping everything ...")
		unstopped := env.stop(out)
		if unstopped == nil {
			say(out, "Everything is stopped. The logs are kept: %s", env.logs)
		}
		err = errors.Join(err, unstopped)
	}()

	screen := newScreen(out)
	died, unsettled := env.settle(ctx, screen, o.timeout)
	switch {
	case unsettled == nil:
		say(out, "\nAll samples are Ready, %.1f s after the start.", time.Since(began).Seconds())
	case o.once || died || ctx.Err() != nil:
		return unlessInterrupted(ctx, unsettled)
	default: // somebody is there to look at it
		say(out, "\n%v", unsettled)
	}
	if o.once {
		return nil
	}
	facts := env.facts()
	sample, err := manifest(facts.sample)
	if err != nil {
		return err
	}
	printHints(out, facts, sample)
	return env.stay(ctx, screen)
}

// settle shows the objects until all of them are settled. The error says which is not and why, or which process has died.
func (e *environment) settle(ctx context.Context, s *screen, timeout time.Duration) (died bool, err error) {
	deadline := time.After(timeout)
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		rows, err := e.look(ctx)
		if err == nil {
			s.table(rows)
			if settled(rows) {
				return false, nil
			}
		}
		select {
		case err := <-e.died:
			return true, err
		case <-ctx.Done():
			return false, errInterrupted
		case <-deadline:
			return false, fmt.Errorf("not Ready after %s:\n%s%s", timeout, strings.Join(complaints(rows, err), "\n"), e.tails())
		case <-tick.C:
		}
	}
}

// stay tells of every change until it is interrupted, which is its good end, or something ends by itself.
func (e *environment) stay(ctx context.Context, s *screen) error {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		if rows, err := e.look(ctx); err == nil {
			s.changes(rows)
		}
		select {
		case err := <-e.died:
			return err
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
