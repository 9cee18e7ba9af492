// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/libs/kubectl/kubectltest"
	"jutsu.com/operators/test/discordtest"
)

type onDiscord struct {
	*guildtest.Guild
	k8s     *kubectltest.Server
	replace *strings.Replacer // replaces ids and URLs, which differ from run to run
}

func newOnDiscord(t *testing.T, p discordtest.Permissions, changes ...func(*school, *guildtest.Guild)) *onDiscord {
	t.Helper()
	g := guildtest.New(t, p)
	g.Discord.EditGuildByHand(g.ID, func(guild *discordtest.Guild) { guild.Name = "Jujutsu High" })
	s := company(func(s *school) {
		s.server.Spec.ServerID, s.server.Status.ServerID = g.ID, g.ID
		s.secret.Data["token"] = []byte("Bot " + g.Bot.Token + "\n")
		for _, change := range changes {
			change(s, g)
		}
	})
	return &onDiscord{g, s.in(t), strings.NewReplacer(
		g.ID, guildID, g.Bot.UserID, "1401681709430341701", g.Bot.ApplicationID, applicationID, g.Discord.URL(), "https://discord.com")}
}

func (d *onDiscord) run(t *testing.T, input string, args ...string) result {
	t.Helper()
	got := run(t, d.k8s, input, append(args, "--discord-api-url", d.Discord.APIURL())...)
	if strings.Contains(got.String(), d.Bot.Token) {
		t.Errorf("the token is printed: %s", got)
	}
	got.out, got.err = d.replace.Replace(got.out), d.replace.Replace(got.err)
	return got
}

func TestCheckToken(t *testing.T) {
	t.Parallel()
	const all = discordtest.PermViewChannel | discordtest.PermManageChannels | discordtest.PermManageRoles |
		discordtest.PermManageWebhooks
	file := filepath.Join(t.TempDir(), "token")
	for name, c := range map[string]struct {
		args, input string
		have        discordtest.Permissions
		change      func(*school, *guildtest.Guild)
		code        int
		contains    []string
	}{
		"check token":               {args: "check-token company", have: all, code: 3},
		"a bot with Administrator":  {args: "check-token company", have: discordtest.PermAdministrator, contains: []string{"permissions  Administrator"}},
		"a file":                    {args: "check-token --token-file " + file, have: all, contains: []string{"in " + file, "servers  1: Jujutsu High"}},
		"a token on standard input": {args: "check-token --token-file -", input: "TOKEN", have: all, contains: []string{"in standard input"}},
		"standard input without a token": {args: "check-token --token-file -", input: "secret password", code: 1,
			contains: []string{"standard input has no bot token (three words with dots"}},
		"a wrong token": {args: "check-token --token-file -", input: "a.wrong.token", code: 3,
			contains: []string{"fix  token  Discord refuses the token in standard input", "Reset Token"}},
		"a missing file": {args: "check-token --token-file " + file + "x", code: 1, contains: []string{"read the token: open"}},
		"the bot is not a member": {args: "check-token company", have: all, code: 3, change: func(s *school, _ *guildtest.Guild) {
			s.server.Spec.ServerID = "1401681709430349999"
		}, contains: []string{"the bot is not a member of the server 1401681709430349999", "add the bot: https://discord.com/oauth2/authorize"}},
		"a bot that may not enable Community": {args: "check-token company", have: guildtest.Needed, code: 3, change: func(s *school, _ *guildtest.Guild) {
			s.server.Spec.Community = v1alpha1.CommunityEnabled
		}, contains: []string{"lacks Administrator, which the bot needs to enable Community", "invite company -n platform --administrator"}},
		"a missing Secret": {args: "check-token company", code: 1, change: func(s *school, _ *guildtest.Guild) {
			s.server.Spec.TokenSecretRef.Name = "other"
		}, contains: []string{"the Secret other of spec.tokenSecretRef does not exist in the namespace platform"}},
		"a Secret for other servers": {args: "check-token company", code: 1, change: func(s *school, _ *guildtest.Guild) {
			s.secret.Annotations = map[string]string{v1alpha1.AllowedServersAnnotation: "1"}
		}, contains: []string{"does not list the server "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changes []func(*school, *guildtest.Guild)
			if c.change != nil {
				changes = append(changes, c.change)
			}
			d := newOnDiscord(t, c.have, changes...)
			if name == "a file" {
				if err := os.WriteFile(file, []byte(d.Bot.Token), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := d.run(t, strings.ReplaceAll(c.input, "TOKEN", d.Bot.Token), strings.Fields(c.args)...)
			if got.code != c.code {
				t.Errorf("exit code %d, want %d: %s", got.code, c.code, got)
			}
			for _, part := range c.contains {
				if !strings.Contains(strings.Join(strings.Fields(got.String()), " "), strings.Join(strings.Fields(part), " ")) {
					t.Errorf("%s\nwant %q", got, part)
				}
			}
			if c.contains == nil {
				expectGolden(t, name, "$ kubectl discord "+c.args+"\n"+got.String())
			}
			if len(d.k8s.Writes()) > 0 {
				t.Errorf("it has written %v", d.k8s.Writes())
			}
		})
	}
	away := run(t, company(func(s *school) { s.secret.Data["token"] = []byte("a.bot.token") }).in(t), "",
		"check-token", "company", "--discord-api-url", "http://127.0.0.1:1")
	if away.code != 1 || strings.Contains(away.err, "API server") || !strings.Contains(away.err, "get current user") ||
		!strings.Contains(away.err, "or set --discord-api-url if Discord's API has another address\n") {
		t.Errorf("with an unreachable Discord: %s", away)
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	d := newOnDiscord(t, guildtest.Needed)
	role := d.Discord.CreateRoleByHand(d.ID, discordtest.Role{Name: "Sensei", Permissions: discordtest.PermViewChannel})
	category := d.Discord.CreateChannelByHand(d.ID, discordtest.Channel{Name: "Incidents", Type: discordtest.TypeCategory})
	channel := d.Discord.CreateChannelByHand(d.ID, discordtest.Channel{
		Name: "tokyo", Topic: "Alerts of Tokyo", ParentID: category,
		Overwrites: []discordtest.Overwrite{{ID: role, Allow: discordtest.PermSendMessages}},
	})
	hidden := d.Discord.CreateChannelByHand(d.ID, discordtest.Channel{
		Name: "secret", Overwrites: []discordtest.Overwrite{{ID: d.ID, Deny: discordtest.PermViewChannel}},
	})
	ids := strings.NewReplacer(role, "1401681709430341721", category, "1401681709430341730", channel, "1401681709430341731")
	for name, c := range map[string]struct {
		id   string
		more []string
		code int
		want string
	}{
		"adopt channel":            {id: channel},
		"adopt role":               {id: role, more: []string{"--name", "teachers"}},
		"adopt category":           {id: category},
		"an unknown id":            {id: "1401681709430349999", code: 1, want: "has no channel, category or role with the id 1401681709430349999"},
		"a hidden channel":         {id: hidden, code: 1, want: hidden + " cannot be adopted: text channel " + hidden + ": the bot may not view it"},
		"the role @everyone":       {id: d.ID, code: 1, want: "has no channel, category or role with the id"},
		"a channel with an object": {id: tokyoID, code: 1, want: "the DiscordChannel team-a/tokyo-alerts already names the id " + tokyoID},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := d.run(t, "", append([]string{"adopt", "company", c.id}, c.more...)...)
			if got.code != c.code || !strings.Contains(got.err, c.want) {
				t.Errorf("%s, want exit code %d and %q", got, c.code, c.want)
			}
			if c.code == 0 {
				expectGolden(t, name, ids.Replace("$ kubectl discord adopt company "+strings.Join(append([]string{c.id}, c.more...), " ")+
					"\n"+got.String()))
			}
		})
	}
}

func TestAdoptRefersToObjects(t *testing.T) {
	t.Parallel()
	var channel, role string
	d := newOnDiscord(t, guildtest.Needed, func(s *school, g *guildtest.Guild) {
		role = g.Discord.CreateRoleByHand(g.ID, discordtest.Role{Name: "On call"})
		category := g.Discord.CreateChannelByHand(g.ID, discordtest.Channel{Name: "Alerts", Type: discordtest.TypeCategory})
		channel = g.Discord.CreateChannelByHand(g.ID, discordtest.Channel{
			Name: "osaka", ParentID: category, Overwrites: []discordtest.Overwrite{{ID: role, Allow: discordtest.PermSendMessages}},
		})
		s.group.Namespace, s.group.Status.GroupID, s.role.Status.RoleID = "team-a", category, role
	})
	got := d.run(t, "", "adopt", "company", channel)
	var c v1alpha1.DiscordChannel
	if err := yaml.UnmarshalStrict([]byte(strings.TrimPrefix(got.out, "---\n")), &c); err != nil || got.code != 0 {
		t.Fatalf("%v: %s", err, got)
	}
	overwrites := c.Spec.PermissionOverwrites
	if ref := c.Spec.GroupRef; ref == nil || ref.Name != "alerts" || ref.Namespace != "team-a" || len(overwrites) != 1 ||
		overwrites[0].RoleRef == nil || overwrites[0].RoleRef.Name != "on-call" || c.Spec.Position != nil {
		t.Errorf("%+v", c.Spec)
	}
}
