package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"jutsu.com/operators/test/internal/project"
)

// scenarios are the names that --only takes, in the order in which they run.
var scenarios = []string{"load", "idle", "rotation", "restart", "takeover", "direct", "memory", "discord"}

// options is what the command line says.
type options struct {
	dojos   int
	secrets int
	// channels is how many DiscordChannels there are; a fifth of them have a webhook.
	channels int
	idle     time.Duration
	repeat   int
	out      string
	only     string
	// quiet is how long the operator has to ask for nothing to count as done. It is longer than any pause that it makes.
	quiet time.Duration
	// operator are further flags of the operator.
	operator []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the clean-up; the clusters go all the same
	if err := mainly(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func mainly(ctx context.Context, args []string) error {
	o, err := parse(args, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	measured, err := run(ctx, o, os.Stderr)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o750); err != nil {
		return err
	}
	if err := measured.save(o.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(os.Stdout, "%s\nWritten to %s. Compare figures of the same machine only.\n", measured.table(), o.out)
	return err
}

// parse reads the command line; what is wrong with it, and --help, is told on out.
func parse(args []string, out io.Writer) (*options, error) {
	o := &options{quiet: 5 * time.Second}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		_, _ = fmt.Fprint(out, `Measures the operators on a Kubernetes API that it starts on this machine.

Usage: make bench [ARGS="flags [-- flags of the operator]"]

`)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.dojos, "dojos", 300, "how many Dojos, 1 or more")
	flags.IntVar(&o.secrets, "secrets", 2000, "how many Secrets of 10 KiB that have nothing to do with Dojos, 1 or more")
	flags.IntVar(&o.channels, "channels", 480, "how many Discord channels, in groups of 48, 1 to 480")
	flags.DurationVar(&o.idle, "idle", 2*time.Minute, "how long to watch the idle operator, 1s or more")
	flags.IntVar(&o.repeat, "repeat", 5, "how often to repeat what is short; the median counts; 1 or more")
	flags.StringVar(&o.only, "only", "", "comma-separated `scenarios` to run, and what they need (default all): "+strings.Join(scenarios, ", "))
	flags.StringVar(&o.out, "out", "", "`file` for the figures (default out/bench/dojo.json in the project)")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	o.operator = flags.Args()
	switch {
	case flags.NArg() > 0 && !strings.HasPrefix(flags.Arg(0), "-"):
		return nil, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	case o.dojos < 1, o.secrets < 1, o.repeat < 1:
		return nil, errors.New("--dojos, --secrets and --repeat must be at least 1")
	case o.channels < 1, o.channels > 480:
		return nil, errors.New("--channels must be at least 1 and at most 480: Discord allows 500 channels and groups in a server")
	case o.idle < time.Second:
		return nil, errors.New("--idle must be at least 1s")
	}
	for _, name := range strings.Split(o.only, ",") {
		if o.only != "" && !slices.Contains(scenarios, name) {
			return nil, fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(scenarios, ", "))
		}
	}
	if o.out == "" {
		path, err := project.Path("out", "bench", "dojo.json")
		if err != nil {
			return nil, err
		}
		o.out = path
	}
	return o, nil
}
