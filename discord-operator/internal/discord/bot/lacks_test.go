// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"strings"
	"testing"

	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

// The link asks for no permissions of @everyone, nor of roles that a user gave to the bot.
func TestLacks(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, discordtest.PermViewChannel)
	g.Discord.GiveRole(g.ID, g.Bot.UserID, g.Discord.AddRole(g.ID, "Sensei", discordtest.PermManageChannels))
	snap := g.Snapshot(t)
	for name, c := range map[string]struct {
		needed    permissions.Bits
		inviteURL string
		want      string // end of the message; empty for no issue
	}{
		"nothing missing": {permissions.ViewChannel | permissions.ManageChannels, "https://x?permissions=8192", ""},
		"the link adds the permission that the bot lacks": {permissions.MoveMembers, "https://x?permissions=536870912", "again: https://x?permissions=553649152"},
		"the link no longer asks for Administrator":       {permissions.MoveMembers, "https://x?permissions=8", "again: https://x?permissions=16778240"},
		"no invite link is known":                         {permissions.MoveMembers, "", "Give it to a role of the bot."},
		"the bot lacks Administrator":                     {permissions.Administrator, "https://x?permissions=1", "Give it to a role of the bot."},
		"the invite link is invalid":                      {permissions.MoveMembers, "https://x:y", "Give it to a role of the bot."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issue := Lacks(snap, c.needed, "which it needs", c.inviteURL)
			if (issue == nil) != (c.want == "") || issue != nil && !strings.HasSuffix(issue.Message, c.want) {
				t.Errorf("got %v, want %q", issue, c.want)
			}
		})
	}
}

func TestLacksIn(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, discordtest.PermViewChannel|discordtest.PermManageWebhooks)
	snap := g.Snapshot(t)
	denied := []discordclient.Overwrite{{ID: g.ID, Deny: permissions.ManageWebhooks | permissions.MoveMembers}}
	for name, c := range map[string]struct {
		overwrites []discordclient.Overwrite
		needed     permissions.Bits
		want       string // end of the message; empty for no issue
	}{
		"nothing missing": {nil, permissions.ManageWebhooks, ""},
		"an overwrite denies a permission that the bot's role grants":                    {denied, permissions.ManageWebhooks, "Allow it to the bot or to one of its roles, in the permission overwrites of that channel or category on Discord."},
		"an overwrite denies two permissions, and no role of the bot grants one of them": {denied, permissions.ManageWebhooks | permissions.MoveMembers, "Give them to a role of the bot."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issue := lacksIn(snap, &discordclient.Channel{Overwrites: c.overwrites}, c.needed, "which it needs")
			if (issue == nil) != (c.want == "") || issue != nil && !strings.HasSuffix(issue.Message, c.want) {
				t.Errorf("got %v, want %q", issue, c.want)
			}
		})
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	bots := map[string]*Guild{}
	for name, has := range map[string]discordtest.Permissions{
		"bot": discordtest.PermManageRoles, "administrator": discordtest.PermAdministrator,
	} {
		g := guildtest.New(t, has)
		bots[name] = &Guild{ID: g.ID, Snapshot: g.Snapshot(t)}
	}
	for name, c := range map[string]struct {
		bot    string
		denies permissions.Bits
		want   string // start of the message; empty for no issue
	}{
		"nothing reserved":            {"bot", permissions.Speak, ""},
		"denies Administrator":        {"bot", permissions.Administrator | permissions.ManageRoles, "Administrator applies to the whole server"},
		"denies ManageRoles":          {"bot", permissions.ManageRoles, "Discord lets only administrators set ManageRoles"},
		"the bot is an administrator": {"administrator", permissions.Administrator | permissions.ManageRoles, ""},
		"denies Administrator and a permission that the bot lacks": {"bot", permissions.Speak | permissions.Administrator, "Administrator applies to the whole server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issue := bots[c.bot].Reserved(nil, []discordclient.Overwrite{{ID: "1", Deny: c.denies}})
			if (issue == nil) != (c.want == "") || issue != nil && (!strings.HasPrefix(issue.Message, c.want) ||
				!strings.Contains(issue.Message, "Remove ") || strings.Contains(issue.Message, "Give")) {
				t.Errorf("got %v, want %q", issue, c.want)
			}
		})
	}
}
