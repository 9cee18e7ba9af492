// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"jutsu.com/operators/test/environment"
)

const refresh = 200 * time.Millisecond

func run(ctx context.Context, args []string, out *os.File) (err error) {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	began := time.Now()
	s, err := start(ctx, o, out)
	if err != nil {
		return err
	}
	defer func() {
		say(out, "Stopping everything ...")
		failed := s.stop(out)
		if failed == nil {
			say(out, "Everything is stopped. The logs are kept: %s", s.logs)
		}
		err = errors.Join(err, failed)
	}()

	screen := newScreen(out)
	ended, notReady := s.awaitReady(ctx, screen, o.timeout)
	switch {
	case notReady == nil:
		say(out, "\nAll samples are Ready, %.1f s after the start.", time.Since(began).Seconds())
	case o.once || ended || ctx.Err() != nil:
		return environment.UnlessInterrupted(ctx, notReady)
	default: // the created objects stay, so that a user can examine them
		say(out, "\n%v", notReady)
	}
	if o.once {
		return nil
	}
	if err := s.showNextSteps(screen); err != nil {
		return err
	}
	return s.stay(ctx, screen)
}

func (s *sandbox) showNextSteps(screen *screen) error {
	hints, err := s.writeHints()
	if err != nil {
		return err
	}
	d := s.discord()
	say(screen.out, `
Both operators run, on Kubernetes with %d fake nodes, a stand-in for CloudNativePG and %s.
Their logs: %s
Changes are printed here. Ctrl-C stops everything and cleans up.`, s.options.nodes, d.name(), s.logs)
	screen.pin(fmt.Sprintf(`
What to do next, in another terminal: follow the tour of docs/learn/tutorial.md, or run the commands of the file below.

    Things to try:    %s
    Page of Discord:  %s

    export KUBECONFIG=%s
`, hints, d.address(), s.Cluster.Kubeconfig()))
	return nil
}

// awaitReady's error names the ended process or, after the timeout, the objects that are not Ready.
func (s *sandbox) awaitReady(ctx context.Context, screen *screen, timeout time.Duration) (ended bool, err error) {
	deadline := time.After(timeout)
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		rows, err := s.read(ctx)
		if err == nil {
			screen.table(rows)
			if allReady(rows) {
				return false, nil
			}
		}
		select {
		case err := <-s.ended:
			return true, err
		case <-ctx.Done():
			return false, environment.ErrInterrupted
		case <-deadline:
			return false, fmt.Errorf("not all samples are Ready after %s:\n%s%s", timeout,
				strings.Join(complaints(rows, err), "\n"), s.tails())
		case <-tick.C:
		}
	}
}

func (s *sandbox) stay(ctx context.Context, screen *screen) error {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		if rows, err := s.read(ctx); err == nil {
			screen.changes(rows)
		}
		select {
		case err := <-s.ended:
			return err
		case <-ctx.Done():
			say(screen.out, "")
			return nil
		case <-tick.C:
		}
	}
}

func say(out *os.File, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}
