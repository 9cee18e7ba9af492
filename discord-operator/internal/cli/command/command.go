// SPDX-License-Identifier: Apache-2.0

// Package command has the commands of kubectl discord. Package view describes Kubernetes objects,
// package recreate plans undelete, and the packages cli, export and plan call Discord.
package command

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/export"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/cli/plan"
	"jutsu.com/operators/discord-operator/internal/cli/world"
	"jutsu.com/operators/libs/kubectl"
)

// Run runs a command line, prints its error, and returns the exit code.
func Run(ctx context.Context, args []string, o kubectl.Options) int {
	s := newSession(o)
	return s.Run(ctx, s.newRoot(), args)
}

type session struct{ *kubectl.Plugin }

func newSession(o kubectl.Options) *session {
	p := kubectl.New("discord", kinds.Scheme(), kinds.All(), o)
	p.Missing, p.Roles = "Install discord-operator: docs/do/install.md.", kinds.RoleWith
	return &session{p}
}

const introduction = `kubectl discord shows Discord servers and what is wrong with their objects, plans changes of
Discord, and prints what exists on Discord as manifests. Every change is shown before it is made. The plugin has your
rights and no others, and names each right that you lack.

Exit codes: 0 well, 1 an error, 2 wrong use, 3 the output reports a problem (plan: a change).`

func (s *session) newRoot() *cobra.Command {
	return s.Root("Discord servers, and what is wrong with them", introduction,
		kubectl.Group{ID: "see", Title: "See:", Commands: []*cobra.Command{
			s.newStatus(), s.newInvite(), s.newCheckToken(),
		}},
		kubectl.Group{ID: "do", Title: "Do:", Commands: []*cobra.Command{s.newUndelete()}},
		kubectl.Group{ID: "manifests", Title: "Manifests:", Commands: []*cobra.Command{
			s.newAdopt(),
			s.without("export", "Print a whole server as manifests that adopt it", export.Run),
			s.without("plan", "Print what an apply of manifests would change on Discord", plan.Run),
		}})
}

// session.without returns a command that needs no cluster and parses its own flags.
func (s *session) without(
	use, short string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args, s.Out, s.ErrOut) },
	}
}

const nameOfServer = "the name of a DiscordServer"

func (s *session) forServer(use, short, long string, run func(context.Context, string) error) *cobra.Command {
	return s.About(kinds.Server, use+" SERVER", short, long, run)
}

func (s *session) server(ctx context.Context, name string) (*v1alpha1.DiscordServer, error) {
	server := &v1alpha1.DiscordServer{}
	return server, s.Named(ctx, kinds.Server, name, server,
		"kubectl get discordservers -A shows the DiscordServers of all namespaces")
}

func (s *session) world(ctx context.Context, name string) (*world.World, error) {
	server, err := s.server(ctx, name)
	if err != nil {
		return nil, err
	}
	return world.Read(ctx, s, server, s.Namespace)
}
