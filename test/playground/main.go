// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"jutsu.com/operators/test/environment"
)

type options struct {
	once    bool
	timeout time.Duration
	nodes   int

	// discordTokenFile and discordServerID select a real Discord, and require each other.
	discordTokenFile, discordServerID string
	discordAPIURL                     string // empty for the API of the real Discord
}

const help = `Starts a Kubernetes API and a simulated Discord on this machine, runs the operators on them, applies the
samples of deploy/samples and shows how they come up. Then it says what to try next and stays until Ctrl-C, which
removes everything but the logs and the list of things to try (out/playground/).

With --discord-token-file and --discord-server-id the samples' channels are created on the real Discord, in a server of
yours, beside what is there; at the end they are deleted again.

Usage: make run [ARGS="flags"]`

func main() {
	environment.Main("playground", func(ctx context.Context, args []string) error { return run(ctx, args, os.Stdout) })
}

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	flags := environment.Flags("playground", help, out)
	flags.BoolVar(&o.once, "once", false,
		"exit with status 0 as soon as all samples are Ready, or with status 1 and the reason if that fails")
	flags.DurationVar(&o.timeout, "timeout", 3*time.Minute, "how long the samples may take to become Ready, more than 0")
	flags.IntVar(&o.nodes, "nodes", 3, "number of fake nodes for the pods to run on, 1 or more")
	flags.StringVar(&o.discordTokenFile, "discord-token-file", "",
		"`file` with the token of a bot: use the real Discord, together with --discord-server-id")
	flags.StringVar(&o.discordServerID, "discord-server-id", "",
		"`id` of the Discord server that the samples' channels are created in; the bot has to be in it")
	flags.StringVar(&o.discordAPIURL, "discord-api-url", "",
		"`URL` of the API of a server that is compatible with Discord; by default Discord's own")
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
	if err := o.validateDiscord(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *options) validateDiscord() error {
	switch {
	case (o.discordTokenFile == "") != (o.discordServerID == ""):
		return errors.New("--discord-token-file and --discord-server-id go together: give both to use the real Discord")
	case o.discordAPIURL != "" && !o.realDiscord():
		return errors.New("--discord-api-url requires --discord-token-file and --discord-server-id")
	case !o.realDiscord():
		return nil
	case !regexp.MustCompile(`^[1-9][0-9]{5,19}$`).MatchString(o.discordServerID):
		return fmt.Errorf("--discord-server-id is %q, it must be the id of a Discord server: 6 to 20 digits",
			o.discordServerID)
	}
	var err error
	// Users run the printed commands in any folder, so the path must be absolute.
	if o.discordTokenFile, err = filepath.Abs(o.discordTokenFile); err != nil {
		return err
	}
	_, err = readToken(o.discordTokenFile)
	return err
}
