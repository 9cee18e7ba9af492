// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// ErrInterrupted is the error of a run that a signal stopped.
var ErrInterrupted = errors.New("interrupted")

// UnlessInterrupted returns ErrInterrupted if a signal ended ctx, and otherwise err.
func UnlessInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	return err
}

// Main runs a program. Ctrl-C and SIGTERM end the context of run; a second Ctrl-C ends the program,
// but package testcluster still removes the cluster.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "\n%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Flags returns a flag set that prints its errors and help to out.
func Flags(name, help string, out io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		_, _ = fmt.Fprint(out, help, "\n\n")
		flags.PrintDefaults()
	}
	return flags
}
