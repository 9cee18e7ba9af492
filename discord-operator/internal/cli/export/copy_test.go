// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

var toAnother = &options{
	Connection: cli.Connection{ServerID: guildID}, name: "jujutsu", tokenSecret: "discord-bot", copyTo: "1401681709430341899",
}

const (
	categoryID = "1401681709430341810"
	vaultID    = "1401681709430341811"
)

func vault(list ...discordclient.Overwrite) *server {
	return school(
		&discordclient.Channel{ID: categoryID, Type: discordgo.ChannelTypeGuildCategory, Name: "Vaults", Overwrites: list},
		&discordclient.Channel{ID: vaultID, Type: discordgo.ChannelTypeGuildText, Name: "vault", ParentID: categoryID},
		&discordclient.Channel{ID: "1401681709430341812", Type: discordgo.ChannelTypeGuildText, Name: "safe", Overwrites: list},
		&discordclient.Channel{ID: "1401681709430341813", Type: discordgo.ChannelTypeGuildText, Name: "lobby"},
	)
}

func written(t *testing.T, text string) (live, disabled map[string][]v1alpha1.PermissionOverwrite) {
	t.Helper()
	live, disabled = map[string][]v1alpha1.PermissionOverwrite{}, map[string][]v1alpha1.PermissionOverwrite{}
	for part := range strings.SplitSeq(text, "---\n") {
		into := live
		if i := strings.Index(part, "# apiVersion:"); i >= 0 {
			into = disabled
			var lines []string
			for line := range strings.Lines(part[i:]) {
				lines = append(lines, strings.TrimPrefix(line, "# "))
			}
			part = strings.Join(lines, "")
		}
		var of struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				PermissionOverwrites []v1alpha1.PermissionOverwrite `json:"permissionOverwrites"`
			}
		}
		if err := yaml.Unmarshal([]byte(part), &of); err != nil {
			t.Fatalf("%v in\n%s", err, part)
		}
		if of.Kind == kindGroup || of.Kind == kindChannel {
			into[of.Kind+" "+of.Metadata.Name] = of.Spec.PermissionOverwrites
		}
	}
	return live, disabled
}

// No object of a copy is less protected than the original.
func TestCopyOpensNothing(t *testing.T) {
	t.Parallel()
	closed := discordclient.Overwrite{ID: everyoneID, Deny: permissions.ViewChannel}
	sensei := discordclient.Overwrite{ID: teacherID, Allow: permissions.ViewChannel | permissions.ManageChannels}
	many := make([]discordclient.Overwrite, maxOverwrites+1)
	for i := range many {
		many[i] = discordclient.Overwrite{
			ID: strconv.Itoa(1401681709430350000 + i), Type: discordgo.PermissionOverwriteTypeMember, Deny: permissions.ViewChannel,
		}
	}
	all := []string{"DiscordChannel lobby", "DiscordChannel safe", "DiscordChannel vault", "DiscordGroup vaults"}
	for name, c := range map[string]struct {
		list  []discordclient.Overwrite
		roles []string // roles of the bot besides its managed role
		why   string   // part of the note
		live  []string
	}{
		"no overwrites":                                  {live: all},
		"access by the bot's role":                       {list: []discordclient.Overwrite{closed, {ID: botRole, Allow: permissions.ViewChannel | permissions.ManageChannels}}, live: all},
		"access by another role of the bot":              {list: []discordclient.Overwrite{closed, sensei}, roles: []string{teacherID}, live: all},
		"no access for the bot":                          {list: []discordclient.Overwrite{closed, sensei}, why: "would grant the bot in the copy: ViewChannel", live: all[:1]},
		"more overwrites than the schema allows":         {list: many, why: "there are 101", live: all[:1]},
		"a missing role":                                 {list: []discordclient.Overwrite{closed, {ID: "1401681709430341898"}}, why: "does not have", live: all[:1]},
		"an overwrite for neither a role nor a user":     {list: []discordclient.Overwrite{closed, {ID: teacherID, Type: 7}}, why: "neither a role nor a user", live: all[:1]},
		"an overwrite denies an undocumented permission": {list: []discordclient.Overwrite{{ID: teacherID, Deny: 1 << 60}}, why: "no spec can name", live: all[:1]},
		"an overwrite allows an undocumented permission": {list: []discordclient.Overwrite{{ID: teacherID, Allow: 1 << 60}}, live: all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := vault(c.list...)
			s.bot.roles = append(s.bot.roles, c.roles...)
			text, summary := render(t, s, toAnother)
			live, disabled := written(t, text)
			var names []string
			for name, list := range live {
				names = append(names, name)
				if list == nil {
					t.Errorf("%s is created without the original's overwrites", name)
				}
			}
			slices.Sort(names)
			if diff := cmp.Diff(c.live, names); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			for name, list := range disabled {
				hides := func(o v1alpha1.PermissionOverwrite) bool {
					return o.Role == everyone && slices.Contains(o.Deny, "ViewChannel")
				}
				if list == nil || name != "DiscordChannel vault" && !slices.ContainsFunc(list, hides) {
					t.Errorf("%s, uncommented, is created with the overwrites %v, open to everyone", name, list)
				}
			}
			if folded := strings.Join(strings.Fields(strings.ReplaceAll(text, "\n#", "\n")), " "); !strings.Contains(folded, c.why) {
				t.Errorf("want %q in\n%s", c.why, text)
			}
			if want := fmt.Sprintf("commented out: %d;", 4-len(c.live)); !strings.Contains(summary, want) {
				t.Errorf("want %q in\n%s", want, summary)
			}
		})
	}
}

func TestCopyRefersToNoDisabledChannel(t *testing.T) {
	t.Parallel()
	s := vault(discordclient.Overwrite{ID: everyoneID, Deny: permissions.ViewChannel})
	s.guild.SystemChannelID = vaultID
	text, _ := render(t, s, toAnother)
	if strings.Contains(text, "\n  systemChannelRef") || !strings.Contains(text, "NOTE: systemChannelRef is left out") {
		t.Error(text)
	}
}

// Overwrites stay in the manifest if the bot has access only by a role that a user gave to the bot.
func TestAllRolesOfTheBotGrantItAccess(t *testing.T) {
	t.Parallel()
	s := vault(discordclient.Overwrite{ID: everyoneID, Deny: permissions.ViewChannel},
		discordclient.Overwrite{ID: teacherID, Allow: permissions.ViewChannel | permissions.ManageChannels})
	s.bot.roles = append(s.bot.roles, teacherID)
	if text, _ := render(t, s, usual); strings.Contains(text, "NOTE: permissionOverwrites is left out") {
		t.Error(text)
	}
}
