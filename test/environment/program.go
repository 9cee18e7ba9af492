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

// ErrInterrupted is how a run ends that was stopped before it had done what it is for.
var ErrInterrupted = errors.New("interrupted")

// UnlessInterrupted returns an interruption as such and not as the error that it has caused.
func UnlessInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	return err
}

// Main runs a program until it ends; Ctrl-C and SIGTERM end its context. A second Ctrl-C does not
// wait for the clean-up; the cluster is removed all the same.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "\n%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Flags are those of a program. Out gets errors, and for --help the text and the flags.
func Flags(name, help string, out io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		_, _ = fmt.Fprint(out, help, "\n\n")
		flags.PrintDefaults()
	}
	return flags
}
