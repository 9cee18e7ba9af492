package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options is what the command line says.
type options struct {
	once    bool
	timeout time.Duration
	nodes   int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the clean-up; the cluster goes all the same
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "\nplayground:", err)
		os.Exit(1)
	}
}

// parse reads the command line; what is wrong with it, and --help, is told on out.
func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("playground", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		_, _ = fmt.Fprint(out, `Starts a Kubernetes API on this machine, runs the operator on it, applies the samples of deploy/samples and shows how they
come up. Then it says what to try next and stays until Ctrl-C, which removes everything but the operator's log (out/playground/).

Usage: make run [ARGS="flags"]

`)
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.once, "once", false, "leave as soon as all samples are settled, with exit status 0; or 1 and the reason, after --timeout")
	flags.DurationVar(&o.timeout, "timeout", 3*time.Minute, "how long the samples may take to settle, more than 0")
	flags.IntVar(&o.nodes, "nodes", 3, "number of fake nodes for the pods to run on, 1 or more")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	case o.timeout <= 0:
		return nil, errors.New("--timeout must be more than 0")
	case o.nodes < 1:
		return nil, errors.New("--nodes must be at least 1")
	}
	return o, nil
}
