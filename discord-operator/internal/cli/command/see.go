// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"

	"github.com/spf13/cobra"

	"jutsu.com/operators/discord-operator/internal/cli/view"
	"jutsu.com/operators/libs/kubectl"
)

func (s *session) newStatus() *cobra.Command {
	var follow bool
	var format kubectl.Output
	cmd := s.forServer("status", "Show one screen about a server and its objects",
		`Shows the state of a DiscordServer, its numbers of channels and roles with Discord's limits, and the permissions that
its bot lacks. Then it lists the groups, channels and roles of all namespaces that you may list, each with its state,
the cause, and its drift. It reads only the statuses in Kubernetes, so it needs no token. The exit code is 3 if
the server or an object is Degraded or Unknown, or if the bot lacks a permission.`,
		func(ctx context.Context, name string) error {
			if follow {
				return s.Follow(ctx, func(ctx context.Context) (string, error) { return s.statusText(ctx, name) })
			}
			return s.status(ctx, name, format)
		})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if follow && format != "" {
			return kubectl.Usage("--watch and --output exclude each other")
		}
		return nil
	}
	cmd.Flags().BoolVarP(&follow, "watch", "w", false, "show each change until you press Ctrl-C")
	format.Bind(cmd)
	return cmd
}

func (s *session) statusText(ctx context.Context, name string) (string, error) {
	w, err := s.world(ctx, name)
	if err != nil {
		return "", err
	}
	return view.Status(w, s.Now(), s.Style), nil
}

func (s *session) status(ctx context.Context, name string, format kubectl.Output) error {
	w, err := s.world(ctx, name)
	if err != nil {
		return err
	}
	report := view.ReportOf(w, s.Now())
	err = format.Write(s.Plugin, report, func() string { return view.Status(w, s.Now(), s.Style) })
	if err == nil && report.Ill() {
		return kubectl.ErrIll
	}
	return err
}

func (s *session) newInvite() *cobra.Command {
	var everyone, administrator bool
	var format kubectl.Output
	cmd := s.forServer("invite", "Print the link that adds the bot, with the permissions that it needs, and why",
		`Prints a link. A user who may manage the server on Discord opens it to add the bot, or to give the bot missing
permissions. The link asks for exactly the permissions that the DiscordServer and the objects of its namespace need, but
for Administrator only with --administrator. The output has the reason for each permission. It also lists the
permissions that only objects of other namespaces need; -A adds these to the link. If you may not list the objects of
all namespaces, the link can lack permissions. A warning says so.`,
		func(ctx context.Context, name string) error {
			w, err := s.world(ctx, name)
			if err != nil {
				return err
			}
			in, err := view.InvitationOf(w, everyone, administrator)
			if err != nil {
				return err
			}
			s.Note("%s", in.Warning(w))
			return format.Write(s.Plugin, in, func() string { return in.Text(w, s.Style) })
		})
	cmd.Flags().BoolVarP(&everyone, "all-namespaces", "A", false,
		"also ask for the permissions that only objects of other namespaces need")
	cmd.Flags().BoolVar(&administrator, "administrator", false,
		"also ask for Administrator, which is needed to enable Community, and for a DiscordRole with Administrator")
	format.Bind(cmd)
	return cmd
}
