// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/cli/view"
	"jutsu.com/operators/discord-operator/internal/cli/world"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/kubectl/term"
)

type source struct{ file, apiURL string }

func (t *source) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.file, "token-file", "",
		"`FILE` with the token, or - for standard input; by default the token is in the Secret of the DiscordServer")
	cmd.Flags().StringVar(&t.apiURL, "discord-api-url", discordclient.DefaultAPIURL, "the `URL` of Discord's API")
}

// read returns the token and its source. No error contains the token.
func (t *source) read(ctx context.Context, s *session, server *v1alpha1.DiscordServer) (text, from string, err error) {
	var content []byte
	switch {
	case t.file == "-":
		content, err = io.ReadAll(s.In)
		from = "standard input"
	case t.file != "":
		content, err = os.ReadFile(t.file)
		from = t.file
	default:
		return s.tokenOf(ctx, server)
	}
	if err != nil {
		return "", "", fmt.Errorf("read the token: %w", err)
	}
	return string(content), from, nil
}

func (s *session) tokenOf(ctx context.Context, server *v1alpha1.DiscordServer) (text, from string, err error) {
	ref := server.Spec.TokenSecretRef
	var secret corev1.Secret
	err = s.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: ref.Name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return "", "", fmt.Errorf("the Secret %s of spec.tokenSecretRef does not exist in the namespace %s; "+
			"create it: kubectl create secret generic %[1]s -n %[2]s --from-file=%s=FILE", ref.Name, server.Namespace, ref.Key)
	case err != nil:
		return "", "", err
	case !grant.GuildsOf(secret.Annotations).Allow(server.Spec.ServerID):
		return "", "", fmt.Errorf("the annotation %s of the Secret %s does not list the server %s, so the token may "+
			"not be used; add the server's id to the annotation, or use another bot",
			v1alpha1.AllowedServersAnnotation, ref.Name, server.Spec.ServerID)
	}
	return string(secret.Data[ref.Key]), fmt.Sprintf("key %q of the Secret %s", ref.Key, ref.Name), nil
}

func (t *source) options(
	ctx context.Context, s *session, server *v1alpha1.DiscordServer,
) (o discordclient.Options, from string, err error) {
	text, from, err := t.read(ctx, s, server)
	if err != nil {
		return o, "", err
	}
	token, ok := bot.ParseToken(text)
	if !ok {
		return o, "", fmt.Errorf("%s has no bot token (three words with dots between them). If you do not have the token, "+
			"create a new one with Reset Token on the bot's page in Discord's developer portal; the former token is then "+
			"invalid", from)
	}
	return discordclient.Options{Token: discordclient.NewSecret(token), APIURL: t.apiURL}, from, nil
}

func (s *session) newCheckToken() *cobra.Command {
	var from source
	cmd := &cobra.Command{
		Use: "check-token [SERVER]", Short: "Show which bot a token belongs to, and what the bot may do",
		DisableFlagsInUseLine: true,
		Long: `Asks Discord which bot a token belongs to, which servers the bot is in, and which privileged intents it has.
With a DiscordServer, the command also checks whether the bot has the permissions that the objects need. The token comes
from the Secret of the DiscordServer, or from --token-file; it is never printed. The exit code is 3 if something is
wrong.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && from.file == "" {
				return kubectl.Usage("name a DiscordServer, or set --token-file: %s", cmd.UseLine())
			}
			return kubectl.Exactly(min(len(args), 1), "")(cmd, args)
		},
		ValidArgsFunction: s.Complete(kinds.Server),
		RunE: func(cmd *cobra.Command, args []string) error {
			var w *world.World
			server := &v1alpha1.DiscordServer{}
			if len(args) > 0 {
				err := s.Connect()
				if err != nil {
					return err
				}
				if w, err = s.world(cmd.Context(), args[0]); err != nil {
					return err
				}
				server = w.Server
			}
			options, where, err := from.options(cmd.Context(), s, server)
			if err != nil {
				return err
			}
			return s.checkToken(cmd.Context(), options, where, w)
		},
	}
	from.bind(cmd)
	return cmd
}

type finding struct {
	ok           bool
	about, state string
	remedy       string // how to fix the problem; empty if ok
}

func (s *session) checkToken(ctx context.Context, o discordclient.Options, from string, w *world.World) error {
	api, err := discordclient.New(o)
	if err != nil {
		return cli.Explained(err)
	}
	var lines []finding
	user, err := api.CurrentUser(ctx)
	if discordclient.ClassOf(err) == discordclient.ClassBadToken {
		return s.found([]finding{{about: "token", state: "Discord refuses the token in " + from,
			remedy: "check that it is the bot's token, or create a new one with Reset Token on the bot's page in Discord's " +
				"developer portal; the former token is then invalid"}})
	} else if err != nil {
		return cli.Explained(err)
	}
	app, err := api.CurrentApplication(ctx)
	if err != nil {
		return cli.Explained(err)
	}
	guilds, err := api.CurrentGuilds(ctx)
	if err != nil {
		return cli.Explained(err)
	}
	var names []string
	for _, g := range guilds {
		names = append(names, fmt.Sprintf("%s (%s)", g.Name, g.ID))
	}
	if len(names) > maxGuilds {
		names = append(names[:maxGuilds], "...")
	}
	lines = append(lines,
		finding{true, "token", fmt.Sprintf("in %s", from), ""},
		finding{true, "bot", fmt.Sprintf("%s (%s) of the application %s (%s)", user.Name, user.ID, app.Name, app.ID), ""},
		finding{true, "intents", intents(app.Flags), ""},
		finding{true, "servers", strings.TrimSuffix(fmt.Sprintf("%d: %s", len(guilds), strings.Join(names, ", ")), ": "), ""})
	if w == nil {
		return s.found(lines)
	}
	more, err := rightsIn(ctx, api, user, app, w)
	if err != nil {
		return cli.Explained(err)
	}
	return s.found(append(lines, more...))
}

const maxGuilds = 10

func intents(flags discordclient.ApplicationFlags) string {
	var have []string
	for _, privileged := range []struct {
		flag discordclient.ApplicationFlags
		name string
	}{
		{discordclient.FlagGuildMembers, "ServerMembers"}, {discordclient.FlagPresence, "Presence"},
		{discordclient.FlagMessageContent, "MessageContent"},
	} {
		if flags&privileged.flag != 0 {
			have = append(have, privileged.name)
		}
	}
	if have == nil {
		return "no privileged intent; discord-operator needs none"
	}
	return "privileged: " + strings.Join(have, ", ") + "; discord-operator needs none of them"
}

func rightsIn(
	ctx context.Context, api *discordclient.Client, user discordclient.User, app discordclient.Application, w *world.World,
) ([]finding, error) {
	id := w.Server.Spec.ServerID
	guild, err := api.GetGuild(ctx, id)
	if discordclient.ClassOf(err) == discordclient.ClassGone {
		return []finding{{
			about: "server", state: "the bot is not a member of the server " + id + ", or the server does not exist",
			remedy: "add the bot: " +
				discordclient.InviteURL(api.WebURL(), app.ID, discordclient.PermissionsOverwrites, id),
		}}, nil
	} else if err != nil {
		return nil, err
	}
	member, err := api.GetMember(ctx, id, user.ID)
	if err != nil {
		return nil, err
	}
	lines := []finding{{true, "server", fmt.Sprintf("the bot is a member of %s (%s)", guild.Name, guild.ID), ""}}
	have := guild.Permissions(user.ID, member.Roles)
	if have.Has(permissions.Administrator) {
		return append(lines, finding{true, "permissions", "Administrator", ""}), nil
	}
	own, others := view.Needs(w)
	invite := fmt.Sprintf("kubectl discord invite %s -n %s", w.Server.Name, w.Server.Namespace)
	lines = append(lines, lacking(have, own, "objects of the DiscordServer's namespace need", invite))
	if len(others) > 0 {
		lines = append(lines, lacking(have, others, "objects of other namespaces need in addition", invite+" -A"))
	}
	if view.EnablesCommunity(w) && !guild.IsCommunity() {
		lines = append(lines, finding{about: "permissions", state: "lacks Administrator, which the bot needs to enable " +
			"Community (spec.community)", remedy: invite + " --administrator"})
	}
	return lines, nil
}

func lacking(have permissions.Bits, needed []view.Need, who, remedy string) finding {
	var missing []string
	for _, n := range needed {
		if bit, _ := permissions.Parse(n.Permission); !have.Has(bit) {
			missing = append(missing, n.Permission)
		}
	}
	if missing == nil {
		return finding{true, "permissions", "has all permissions that " + who, ""}
	}
	return finding{false, "permissions", "lacks " + strings.Join(missing, ", ") + ", which " + who, remedy}
}

func (s *session) found(lines []finding) error {
	var rows [][]string
	ill := false
	for _, l := range lines {
		mark := s.Style.Good("ok")
		if !l.ok {
			mark, ill = s.Style.Bad("fix"), true
		}
		rows = append(rows, []string{mark, l.about, term.Printable(l.state)})
		if l.remedy != "" {
			rows = append(rows, []string{"", "", "-> " + l.remedy})
		}
	}
	s.Print("%s", term.Table(rows, 2))
	if ill {
		return kubectl.ErrIll
	}
	return nil
}
