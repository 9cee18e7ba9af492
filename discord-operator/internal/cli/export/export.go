// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/validation"

	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/discord-operator/internal/cli/schema"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/manager"
)

type options struct {
	cli.Connection

	namespace   string // of all objects; empty for the namespace of kubectl's context
	name        string // of the DiscordServer
	tokenSecret string // name of the Secret that the DiscordServer refers to
	copyTo      string // id of the server that gets a copy; empty to adopt the exported server
}

// Run is `kubectl discord export`. It prints manifests on stdout, and a summary on stderr.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if err := run(ctx, args, stdout, stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return kubectl.Usage("%w", err)
	}
	connection, err := o.Options()
	if err != nil {
		return err
	}
	api, err := discordclient.New(connection)
	if err != nil {
		return err
	}
	live, err := read(ctx, api, o.ServerID)
	if err != nil {
		return cli.Explained(err)
	}
	kinds, err := schema.Load()
	if err != nil {
		return err
	}
	d, err := manifests(ctx, kinds, live, o)
	if err != nil {
		return err
	}
	text, err := d.yaml()
	if err != nil {
		return err
	}
	if _, err := stdout.Write(text); err != nil {
		return fmt.Errorf("write the manifests: %w", err)
	}
	_, err = io.WriteString(stderr, d.summary())
	return err
}

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("kubectl discord export", flag.ContinueOnError)
	o.Bind(flags)
	flags.StringVar(&o.namespace, "namespace", "",
		"`namespace` of the objects; by default the manifests have none, and kubectl uses the namespace of its context")
	flags.StringVar(&o.name, "name", "jujutsu", "`name` of the DiscordServer object")
	flags.StringVar(&o.tokenSecret, "token-secret", "discord-bot",
		"`name` of the Secret that will have the bot's token under the key \"token\"")
	flags.StringVar(&o.copyTo, "copy-to", "",
		"`id` of another server that gets a copy of the server of --server-id; the manifests then adopt nothing")
	const introduction = "kubectl discord export prints a live Discord server as manifests that adopt it. " +
		"It changes nothing on Discord.\n\n" +
		"Usage: kubectl discord export --server-id=ID --token-file=FILE [flags] > server.yaml\n\n"
	if err := manager.Parse(flags, introduction, args, out); err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *options) validate() error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o.copyTo != "" && !cli.IsID(o.copyTo) {
		return fmt.Errorf("--copy-to is %q, it must be the id of a server", o.copyTo)
	}
	for _, name := range []struct {
		flag, value string
		problems    []string
	}{
		{"name", o.name, validation.IsDNS1123Subdomain(o.name)},
		{"token-secret", o.tokenSecret, validation.IsDNS1123Subdomain(o.tokenSecret)},
		{"namespace", o.namespace, validation.IsDNS1123Label(o.namespace)},
	} {
		if name.problems != nil && (name.flag != "namespace" || name.value != "") {
			return fmt.Errorf("--%s is %q: %s", name.flag, name.value, name.problems[0])
		}
	}
	return nil
}
