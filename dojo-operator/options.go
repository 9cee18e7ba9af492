package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"jutsu.com/operators/dojo-operator/internal/dojo"
	"jutsu.com/operators/libs/manager"
)

// options is what the command line says.
type options struct {
	manager manager.Flags
	dojo    dojo.Config
	workers int
}

// parse reads the command line; --help is told on out.
func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("dojo-operator", flag.ContinueOnError)
	flags.StringVar(&o.dojo.Image, "dojo-image", "danijelradakovic/dojo:0.1.0-alpine", "`image` of the Dojo application")
	flags.DurationVar(&o.dojo.ProgressDeadline, "progress-deadline", 2*time.Minute,
		"how long a Dojo may wait for its credentials or for its pods before it counts as Degraded; 1s to 24h")
	flags.DurationVar(&o.dojo.DatabaseDeadline, "database-deadline", 15*time.Minute,
		"how long CloudNativePG may take for a step towards a Dojo's database before the Dojo counts as Degraded; 1s to 24h")
	flags.StringVar(&o.dojo.PostgresImage, "postgres-image", "ghcr.io/cloudnative-pg/postgresql",
		"`image` of Postgres, without a tag, for Dojos that ask for a version; the tag is the major version")
	flags.IntVar(&o.workers, "concurrency", 4, "how many Dojos are reconciled at once; at least 1")
	introduction := fmt.Sprintf("dojo-operator %s turns Dojo objects into running applications.\n\nUsage: dojo-operator [flags]\n\n", version)
	if err := o.manager.Parse(flags, introduction, args, out); err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.dojo.Namespaces = o.manager.Namespaces
	return o, nil
}

func (o *options) validate() error {
	switch {
	case o.dojo.Image == "":
		return errors.New("--dojo-image must not be empty")
	case o.dojo.ProgressDeadline < time.Second, o.dojo.ProgressDeadline > 24*time.Hour:
		return fmt.Errorf("--progress-deadline is %s, it must be at least 1s and at most 24h", o.dojo.ProgressDeadline)
	case o.dojo.DatabaseDeadline < time.Second, o.dojo.DatabaseDeadline > 24*time.Hour:
		return fmt.Errorf("--database-deadline is %s, it must be at least 1s and at most 24h", o.dojo.DatabaseDeadline)
	case o.dojo.PostgresImage == "":
		return errors.New("--postgres-image must not be empty")
	case o.workers < 1:
		return fmt.Errorf("--concurrency is %d, it must be at least 1", o.workers)
	}
	return nil
}
