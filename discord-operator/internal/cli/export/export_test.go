// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

type rig struct {
	srv       *discordtest.Server
	bot       discordtest.Bot
	guild     string
	tokenFile string
}

func newRig(t *testing.T, granted discordtest.Permissions) *rig {
	t.Helper()
	return newRigIn(t, discordtest.Options{Limits: discordtest.NoRateLimits()}, granted)
}

func newRigIn(t *testing.T, options discordtest.Options, granted discordtest.Permissions) *rig {
	t.Helper()
	r := &rig{srv: discordtest.Run(t, options), tokenFile: filepath.Join(t.TempDir(), "token")}
	r.bot = r.srv.AddBot(discordtest.Bot{Name: "operator"})
	r.guild = r.srv.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High"}).ID
	r.srv.AddMember(r.guild, r.bot.UserID, granted)
	if err := os.WriteFile(r.tokenFile, []byte(r.bot.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) export(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	err = Run(t.Context(), append([]string{"--discord-api-url=" + r.srv.APIURL()}, args...), &out, &errOut)
	printed := out.String() + errOut.String()
	if err != nil {
		printed += err.Error()
	}
	if strings.Contains(printed, r.bot.Token) {
		t.Error("the token is printed")
	}
	return out.String(), errOut.String(), err
}

const all = discordtest.Permissions(discordclient.PermissionsOverwrites)

// An export that read no roles would advise to remove overwrites that keep a channel private.
func TestRolesAreListed(t *testing.T) {
	r := newRigIn(t, discordtest.Options{Limits: discordtest.NoRateLimits(), Compatible: true}, discordtest.PermAdministrator)
	r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "private", Overwrites: []discordtest.Overwrite{
		{ID: r.guild, Deny: discordtest.PermViewChannel},
		{ID: r.srv.AddRole(r.guild, "Sensei", 0), Allow: discordtest.PermViewChannel},
	}})
	r.srv.EditGuildByHand(r.guild, func(g *discordtest.Guild) { g.Icon = "12345" })
	stdout, stderr, err := r.export(t, "--server-id="+r.guild, "--token-file="+r.tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	icon := strings.TrimSuffix(r.srv.APIURL(), "/api/v10") + "/icons/" + r.guild + "/12345.png"
	for _, want := range []string{`role: '@everyone'`, "role: Sensei", icon} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout+stderr, "Remove it") {
		t.Errorf("advises to remove overwrites:\n%s%s", stdout, stderr)
	}
}

// directory is a type of channel that no kind represents.
const directory = 14

func TestRun(t *testing.T) {
	r := newRig(t, all)
	category := r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "Incidents", Type: discordtest.TypeCategory})
	channel := r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "tokyo", ParentID: category, Topic: "fire"})
	r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "Library", Type: directory})
	r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "Dorm", Type: discordtest.TypeVoice})
	client, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret(r.bot.Token),
		APIURL: r.srv.APIURL()})
	if err != nil {
		t.Fatal(err)
	}
	hook, err := client.CreateWebhook(t.Context(), channel, "Alertmanager", "")
	if err != nil {
		t.Fatal(err)
	}
	r.srv.ResetRequests()

	stdout, stderr, err := r.export(t, "--server-id="+r.guild, "--token-file="+r.tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: DiscordServer\n", "kind: DiscordGroup\n", "id: \"" + channel + "\"",
		"topic: fire", "secretName: tokyo-webhook", "type: Voice", "# - channeltype(14) channel \"Library\""} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output lacks %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout+stderr, hook.Token.Reveal()) {
		t.Error("the webhook's token is printed")
	}
	if want := "left out: channeltype(14) channel \"Library\""; !strings.Contains(stderr, want) {
		t.Errorf("stderr lacks %q:\n%s", want, stderr)
	}
	if strings.Contains(stdout, "NOTE") {
		t.Errorf("the output has a needless note:\n%s", stdout)
	}
	if diff := cmp.Diff(map[string]int{
		"GET /gateway/bot": 1, "GET /users/@me": 1, "GET /applications/@me": 1, "GET /guilds/{guild_id}/members/{user_id}": 1,
		"GET /guilds/{guild_id}": 1, "GET /guilds/{guild_id}/channels": 1, "GET /guilds/{guild_id}/webhooks": 1,
	}, r.srv.RequestCounts()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	again, _, err := r.export(t, "--server-id="+r.guild, "--token-file="+r.tokenFile)
	if err != nil || again != stdout {
		t.Errorf("the second run prints another text (%v):\n%s", err, cmp.Diff(stdout, again))
	}
}

// An export names the channels that are hidden from the bot, or says why it does not know them.
func TestHidden(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	deny := []discordtest.Overwrite{{ID: r.guild, Deny: discordtest.PermViewChannel}}
	category := r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "plans", Type: discordtest.TypeCategory, Overwrites: deny})
	channel := r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "secret", Overwrites: deny})
	for _, unreachable := range []bool{false, true} {
		r.srv.Gateway().SetFaults(discordtest.GatewayFaults{CloseOnIdentify: map[bool]int{true: 4013}[unreachable]})
		stdout, stderr, err := r.export(t, "--server-id="+r.guild, "--token-file="+r.tokenFile)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"category channel " + category + ": the bot may not view it", "text channel " + channel} {
			if strings.Contains(stdout, want) == unreachable || strings.Contains(stderr, want) == unreachable {
				t.Errorf("unreachable %v: %q in\n%s\n%s", unreachable, want, stdout, stderr)
			}
		}
		if strings.Contains(stdout, "NOTE: Discord's Gateway could not be reached") != unreachable {
			t.Errorf("unreachable %v:\n%s", unreachable, stdout)
		}
	}
}

// A token file has precedence over the environment variable.
func TestTokenFromEnvironment(t *testing.T) {
	r := newRig(t, all)
	t.Setenv(cli.TokenVariable, r.bot.Token)
	if _, _, err := r.export(t, "--server-id="+r.guild); err != nil {
		t.Error(err)
	}
	t.Setenv(cli.TokenVariable, "not-the-token-of-any-bot")
	if _, _, err := r.export(t, "--server-id="+r.guild, "--token-file="+r.tokenFile); err != nil {
		t.Error(err)
	}
}

func TestLostPermissions(t *testing.T) {
	const view, hooks = permissions.ViewChannel, permissions.ManageWebhooks
	private := discordclient.Overwrite{ID: everyoneID, Deny: view}
	for name, test := range map[string]struct {
		granted    permissions.Bits
		overwrites []discordclient.Overwrite
		needed     permissions.Bits
		want       permissions.Bits
	}{
		"nothing denied": {discordclient.PermissionsOverwrites, nil, manage, 0},
		"private": {discordclient.PermissionsOverwrites, []discordclient.Overwrite{private}, manage,
			view},
		"private, the bot's role has access": {discordclient.PermissionsOverwrites,
			[]discordclient.Overwrite{private, {ID: botRole, Allow: view}}, manage, 0},
		"private, another role has access": {discordclient.PermissionsOverwrites,
			[]discordclient.Overwrite{private, {ID: teacherID, Allow: view}}, manage, view},
		"private, the bot has access": {discordclient.PermissionsOverwrites,
			[]discordclient.Overwrite{private, {ID: botID, Type: 1, Allow: view}}, manage, 0},
		"private, the bot is an administrator":             {permissions.All, []discordclient.Overwrite{private}, manage, 0},
		"private, the bot lacks the permission everywhere": {permissions.ManageChannels, []discordclient.Overwrite{private}, manage, 0},
		"an overwrite denies ManageWebhooks, which is not needed": {discordclient.PermissionsOverwrites,
			[]discordclient.Overwrite{{ID: botRole, Deny: hooks}}, manage, 0},
		"an overwrite denies ManageWebhooks, which is needed": {discordclient.PermissionsOverwrites,
			[]discordclient.Overwrite{{ID: botRole, Deny: hooks}}, manage | hooks, hooks},
	} {
		t.Run(name, func(t *testing.T) {
			s := school()
			s.bot.permissions = test.granted
			e := &exporter{server: s}
			if got := e.denied(&discordclient.Channel{Overwrites: test.overwrites}, test.needed); got != test.want {
				t.Errorf("the bot lacks %q, want %q", got, test.want)
			}
		})
	}
}

func TestWithoutWebhooks(t *testing.T) {
	r := newRig(t, all&^discordtest.PermManageWebhooks)
	stdout, stderr, err := r.export(t, "--server-id="+r.guild, "--token-file="+r.tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lacks ManageWebhooks", "oauth2/authorize"} {
		if !strings.Contains(stdout, want) || !strings.Contains(stderr, want) {
			t.Errorf("stdout and stderr must both have %q:\n%s\n%s", want, stdout, stderr)
		}
	}
}

func TestFailures(t *testing.T) {
	r := newRig(t, all)
	wrong, empty := filepath.Join(t.TempDir(), "wrong"), filepath.Join(t.TempDir(), "empty")
	for file, text := range map[string]string{wrong: "not-the-token-of-any-bot", empty: "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(cli.TokenVariable, "")
	id, token := "--server-id="+r.guild, "--token-file="+r.tokenFile
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no server": {[]string{token}, "--server-id is missing"},
		"a name for a server": {[]string{token, "--server-id=jujutsu"},
			"must be the id of a Discord server: 6 to 20 digits"},
		"a server without the bot": {[]string{token, "--server-id=1401681709430341799"},
			"oauth2/authorize?client_id=" + r.bot.ApplicationID},
		"no token":                    {[]string{id}, "--token-file=FILE"},
		"an empty file":               {[]string{id, "--token-file=" + empty}, "there is no token in " + empty},
		"a missing file":              {[]string{id, "--token-file=" + empty + "1"}, "no such file"},
		"a refused token":             {[]string{id, "--token-file=" + wrong}, "developer portal"},
		"a token as a flag":           {[]string{id, "--token=x"}, "not defined: -token"},
		"a word too many":             {[]string{id, token, "now"}, `unexpected argument "now"`},
		"a bad name":                  {[]string{id, token, "--name=Jujutsu"}, `--name is "Jujutsu"`},
		"a bad namespace":             {[]string{id, token, "--namespace=a.b"}, `--namespace is "a.b"`},
		"a bad Secret":                {[]string{id, token, "--token-secret="}, `--token-secret is ""`},
		"a copy to a name, not an id": {[]string{id, token, "--copy-to=school"}, `--copy-to is "school"`},
		"a bad address":               {[]string{id, token, "--discord-api-url=discord"}, "discord"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, _, err := r.export(t, test.args...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
			if stdout != "" {
				t.Errorf("it prints something:\n%s", stdout)
			}
		})
	}
}

// If any call to Discord fails, the export prints no incomplete server.
func TestEveryCallCanFail(t *testing.T) {
	r := newRig(t, all)
	for _, route := range []string{
		"GET /users/@me", "GET /guilds/{guild_id}/members/{user_id}", "GET /applications/@me",
		"GET /guilds/{guild_id}", "GET /guilds/{guild_id}/channels", "GET /guilds/{guild_id}/webhooks",
	} {
		for name, action := range map[string]discordtest.Action{
			"failed":  discordtest.FailBefore(http.StatusInternalServerError),
			"limited": discordtest.RateLimited(90e9, "shared"),
		} {
			t.Run(route+" "+name, func(t *testing.T) {
				remove := r.srv.Faults().Add(discordtest.Fault{Route: route, Action: action})
				defer remove()
				stdout, _, err := r.export(t, "--server-id="+r.guild, "--token-file="+r.tokenFile)
				if err == nil || stdout != "" {
					t.Errorf("got %v and\n%s", err, stdout)
				}
				if name == "limited" && !strings.Contains(err.Error(), "run the command again in 1m31s") {
					t.Errorf("the error does not say when to run the command again: %v", err)
				}
			})
		}
	}
}

func TestHelp(t *testing.T) {
	var out, errOut bytes.Buffer
	if err := Run(t.Context(), []string{"--help"}, &out, &errOut); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"changes nothing on Discord", "-server-id", "-token-file", cli.TokenVariable,
		"-discord-api-url", "-namespace", "-name", "-token-secret", "-copy-to"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("--help lacks %q:\n%s", want, out.String())
		}
	}
}

func TestRoleNames(t *testing.T) {
	for name, test := range map[string]struct {
		roles []discordclient.Role
		want  string
	}{
		"a unique name":                        {[]discordclient.Role{{ID: "7", Name: "Sensei"}}, "Sensei"},
		"an ambiguous name":                    {[]discordclient.Role{{ID: "7", Name: "Sensei"}, {ID: "8", Name: "Sensei"}}, "7"},
		"the name is another role's id":        {[]discordclient.Role{{ID: "7", Name: "8"}, {ID: "8", Name: "Sensei"}}, "7"},
		"the name is the role's own id":        {[]discordclient.Role{{ID: "7", Name: "7"}}, "7"},
		"a role that a user named @everyone":   {[]discordclient.Role{{ID: "7", Name: "@everyone"}}, "7"},
		"a name too long for the schema":       {[]discordclient.Role{{ID: "7", Name: strings.Repeat("x", 101)}}, "7"},
		"the role @everyone with another name": {[]discordclient.Role{{ID: "1", Name: "all"}}, "@everyone"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &exporter{server: &server{guild: discordclient.Guild{ID: "1", Roles: test.roles}}}
			if got := e.role(test.roles[0].ID); got != test.want {
				t.Errorf("the role is called %q, want %q", got, test.want)
			}
		})
	}
}

func TestUnwritable(t *testing.T) {
	for name, test := range map[string]struct {
		overwrite discordclient.Overwrite
		want      string
	}{
		"a role":                    {discordclient.Overwrite{ID: teacherID, Allow: permissions.ViewChannel}, ""},
		"nothing allowed or denied": {discordclient.Overwrite{ID: teacherID}, ""},
		"a user": {discordclient.Overwrite{ID: "1401681709430341850",
			Type: discordgo.PermissionOverwriteTypeMember}, ""},
		"a missing role": {discordclient.Overwrite{ID: "1401681709430341850"},
			"a role that the server does not have"},
		"a user without an id": {discordclient.Overwrite{ID: "0", Type: discordgo.PermissionOverwriteTypeMember},
			"a user with the id"},
		"neither a role nor a user": {discordclient.Overwrite{ID: teacherID, Type: 2}, "neither a role nor a user"},
		"allowed and denied": {discordclient.Overwrite{ID: teacherID, Allow: permissions.Speak,
			Deny: permissions.Speak}, "both allows and denies Speak"},
		"an unnamed permission, allowed and denied": {discordclient.Overwrite{ID: teacherID, Allow: 1 << 47, Deny: 1 << 47}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &exporter{server: school()}
			got := e.unwritable(test.overwrite)
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
