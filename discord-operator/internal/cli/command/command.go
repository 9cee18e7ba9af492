// SPDX-License-Identifier: Apache-2.0

// Package command has the commands of kubectl discord. They are thin: they read a server with its
// objects (world), let pure functions render them (view), or ask Discord (cli, export, plan).
package command

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/export"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/cli/plan"
	"jutsu.com/operators/discord-operator/internal/cli/world"
	"jutsu.com/operators/libs/kubectl"
)

// Run runs a command line, prints its error, and returns the exit code.
func Run(ctx context.Context, args []string, o kubectl.Options) int {
	c := newCLI(o)
	return c.Run(ctx, c.newRoot(), args)
}

// command holds the state of one run.
type command struct{ *kubectl.Plugin }

func newCLI(o kubectl.Options) *command {
	p := kubectl.New("discord", kinds.Scheme(), kinds.All(), o)
	p.Missing, p.Roles = "Install discord-operator: docs/do/install.md.", kinds.RoleWith
	return &command{p}
}

const introduction = `kubectl discord shows Discord servers and what is wrong with their objects, plans changes of them, and
prints what exists on Discord as manifests. Every change is shown before it is made. It has your rights and no others,
and says which is missing.

Exit codes: 0 well, 1 an error, 2 wrong use, 3 answered, and something is wrong.`

func (c *command) newRoot() *cobra.Command {
	return c.Root("Discord servers, and what is wrong with them", introduction,
		kubectl.Group{ID: "see", Title: "See:", Commands: []*cobra.Command{
			c.newStatus(), c.newInvite(), c.newCheckToken(),
		}},
		kubectl.Group{ID: "do", Title: "Do:", Commands: []*cobra.Command{c.newUndelete()}},
		kubectl.Group{ID: "manifests", Title: "Manifests:", Commands: []*cobra.Command{
			c.newAdopt(),
			c.without("export", "Print a whole server as manifests that adopt it", export.Run),
			c.without("plan", "Print what an apply of manifests would change on Discord", plan.Run),
		}})
}

// without returns a command that needs no cluster. It parses its own flags.
func (c *command) without(
	use, short string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args, c.Out, c.ErrOut) },
	}
}

// session is a connection to a cluster, as the user.
type session struct {
	client.Client
	*command
}

func (c *command) connect() (*session, error) {
	k8s, _, err := c.Connect()
	return &session{k8s, c}, err
}

// nameOfServer is an argument of most commands.
const nameOfServer = "the name of a DiscordServer"

// forServer returns a command about one DiscordServer, whose name it completes.
func (c *command) forServer(
	use, short, long string, run func(ctx context.Context, s *session, name string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use + " SERVER", Short: short, Long: long, Args: kubectl.Exactly(1, nameOfServer), DisableFlagsInUseLine: true,
		ValidArgsFunction: c.serverNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.connect()
			if err != nil {
				return err
			}
			return run(cmd.Context(), s, args[0])
		},
	}
}

func (c *command) serverNames() cobra.CompletionFunc {
	return c.Complete(func() client.ObjectList { return &v1alpha1.DiscordServerList{} })
}

// server reads a DiscordServer in the namespace of the command line.
func (s *session) server(ctx context.Context, name string) (*v1alpha1.DiscordServer, error) {
	server := &v1alpha1.DiscordServer{}
	err := s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, server)
	if !apierrors.IsNotFound(err) || kubectl.NotServed(err) {
		return server, err
	}
	var all v1alpha1.DiscordServerList
	if err := s.List(ctx, &all, client.InNamespace(s.Namespace)); err != nil {
		all.Items = nil // the user may not list them
	}
	return nil, kubectl.Unknown("DiscordServer", name, s.Namespace, kubectl.NamesOf(&all),
		"kubectl get discordservers -A shows those of all namespaces")
}

// world reads a server with its objects.
func (s *session) world(ctx context.Context, name string) (*world.World, error) {
	server, err := s.server(ctx, name)
	if err != nil {
		return nil, err
	}
	return world.Read(ctx, s, server, s.Namespace)
}
