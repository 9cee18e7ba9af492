// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/test/environment"
)

type options struct {
	command string
	context string // the name of the kubectl context; "" means the current context

	keepKinds bool // for uninstall

	// The following options belong to the command run.
	namespaces             string
	simulateDiscord        bool
	discordListen          string
	dojoArgs, discordFlags string
}

var commands = map[string]func(context.Context, *options, *target, io.Writer) error{
	"install":      install,
	"uninstall":    uninstall,
	"dependencies": dependencies,
	"run":          run,
}

const help = `Works on the cluster of the current kubectl context, or of --context.

Usage: make install        the kinds, and the permissions of the operators, without pods. Can be repeated
       make dependencies   CloudNativePG and prometheus-operator, where they are missing
       make dev            both operators on this machine, with their own permissions, until Ctrl-C
       make uninstall      removes what make install has installed, unless it would take your objects with it

A cluster that is not on this machine has to be confirmed: make install CONTEXT=NAME.
Flags are given as ARGS="...".`

func main() {
	log.SetLogger(logr.Discard()) // this program writes no log of its own
	environment.Main("dev", func(ctx context.Context, args []string) error {
		o, err := parse(args, os.Stdout)
		if err != nil {
			return err
		}
		t, err := findTarget(o.context)
		if err != nil {
			return err
		}
		if err := t.confirm(o, os.Stdin, os.Stdout); err != nil {
			return err
		}
		return commands[o.command](ctx, o, t, os.Stdout)
	})
}

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	flags := environment.Flags("dev", help, out)
	flags.StringVar(&o.context, "context", "", "`name` of the kubectl context; naming it confirms it")
	flags.BoolVar(&o.keepKinds, "keep-kinds", false,
		"make uninstall: the CustomResourceDefinitions stay, and with them all objects of these kinds")
	flags.StringVar(&o.namespaces, "watch-namespaces", "",
		"make dev: comma-separated `namespaces` to watch; by default all")
	flags.BoolVar(&o.simulateDiscord, "simulate-discord", false,
		"make dev: start a simulated Discord on this machine, and use it instead of the real one")
	flags.StringVar(&o.discordListen, "discord-listen", "",
		"make dev: `host:port` of the simulated Discord, which pods have to reach to post to its webhooks; "+
			"by default this machine's address and port 8065")
	flags.StringVar(&o.dojoArgs, "dojo-args", "", "make dev: further `flags` of dojo-operator, separated by spaces")
	flags.StringVar(&o.discordFlags, "discord-args", "",
		"make dev: further `flags` of discord-operator, separated by spaces")
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		o.command, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case commands[o.command] == nil:
		return nil, fmt.Errorf("%q is none of install, dependencies, run (make dev), uninstall; see --help", o.command)
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	case o.keepKinds && o.command != "uninstall":
		return nil, errors.New("only make uninstall takes --keep-kinds")
	case o.command != "run" && (o.namespaces+o.discordListen+o.dojoArgs+o.discordFlags != "" || o.simulateDiscord):
		return nil, fmt.Errorf("make %s takes neither --watch-namespaces, --simulate-discord, --discord-listen, --dojo-args "+
			"nor --discord-args: only make dev takes them", o.command)
	case o.discordListen != "" && !o.simulateDiscord:
		return nil, errors.New("--discord-listen requires --simulate-discord")
	}
	return o, nil
}

func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
