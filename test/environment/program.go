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

// ErrInterrupted is the error of a run that a signal has stopped.
var ErrInterrupted = errors.New("interrupted")

// UnlessInterrupted returns ErrInterrupted in place of an error that an interruption has caused.
func UnlessInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	return err
}

// Main runs a program. Ctrl-C and SIGTERM end its context. A second Ctrl-C skips the clean-up; the
// cluster is removed nevertheless.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "\n%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Flags returns a program's flags. Errors go to out, and with --help the text and the flags.
func Flags(name, help string, out io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		_, _ = fmt.Fprint(out, help, "\n\n")
		flags.PrintDefaults()
	}
	return flags
}
