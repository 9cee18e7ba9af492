// SPDX-License-Identifier: Apache-2.0

package export

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/discord-operator/internal/cli/schema"
	"jutsu.com/operators/discord-operator/internal/controller/channel"
	"jutsu.com/operators/discord-operator/internal/controller/group"
	"jutsu.com/operators/discord-operator/internal/controller/role"
	controller "jutsu.com/operators/discord-operator/internal/controller/server"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

var update = flag.Bool("update", false, "update the golden files")

const (
	guildID    = "1401681709430341704"
	everyoneID = guildID // the role @everyone has the guild's id
	botID      = "1401681709430341799"
	botRole    = "1401681709430341798"
	teacherID  = "1401681709430341801"
)

var usual = &options{Connection: cli.Connection{ServerID: guildID}, name: "jujutsu", tokenSecret: "discord-bot"}

func school(channels ...*discordclient.Channel) *server {
	return &server{
		guild: discordclient.Guild{
			ID: guildID, Name: "Jujutsu High", Icon: "a_1269e74af4df7417b13759eae50c83dc", VerificationLevel: 2, DefaultNotifications: 1, ExplicitContentFilter: 2,
			PreferredLocale: "en-US", AFKTimeout: 300, SystemChannelID: "1401681709430341811",
			RulesChannelID: "1401681709430341811", PublicUpdatesChannelID: "1401681709430341811",
			Features: []string{"COMMUNITY", "NEWS"},
			Roles: []discordclient.Role{
				{ID: everyoneID, Name: "@everyone", Permissions: permissions.ViewChannel},
				{ID: botRole, Name: "operator", Managed: true, Position: 4, Tags: discordclient.RoleTags{BotID: botID}, Permissions: discordclient.PermissionsOverwrites},
				{ID: teacherID, Name: "Sensei", Position: 3, Colors: discordclient.RoleColors{Primary: 0xE67E22, Secondary: new(0xFF)},
					Hoist: true, Permissions: permissions.ViewChannel | 1<<47},
				{ID: "1401681709430341802", Name: "Student", Position: 1},
				{ID: "1401681709430341803", Name: "Student", Position: 2},
				{ID: "1401681709430341804", Name: "Headmaster", Position: 5},
			},
		},
		bot:      bot{userID: botID, roles: []string{botRole}, applicationID: botID, webURL: "https://discord.com", permissions: discordclient.PermissionsOverwrites},
		channels: channels,
	}
}

func campus() *server {
	s := school(
		&discordclient.Channel{ID: "1401681709430341810", Type: discordgo.ChannelTypeGuildCategory, Name: "Incidents 🔥",
			Position: 2, Overwrites: []discordclient.Overwrite{
				{ID: everyoneID, Deny: permissions.ViewChannel},
				{ID: botRole, Allow: permissions.ViewChannel | permissions.ManageChannels},
				{ID: teacherID, Allow: permissions.ViewChannel | permissions.SendMessages, Deny: permissions.MentionEveryone},
			}},
		&discordclient.Channel{ID: "1401681709430341811", Type: discordgo.ChannelTypeGuildText, Name: "general",
			Topic: "# not a comment: \"quoted\"\nand a second line"},
		&discordclient.Channel{ID: "1401681709430341812", Type: discordgo.ChannelTypeGuildText, Name: "tokyo",
			ParentID: "1401681709430341810", Position: 7, NSFW: true, Slowmode: 5400,
			DefaultAutoArchive: 4320, Overwrites: []discordclient.Overwrite{
				{ID: "1401681709430341803", Allow: permissions.ViewChannel | 1<<47},
				{ID: "1401681709430341850", Type: discordgo.PermissionOverwriteTypeMember, Deny: permissions.SendMessages},
			}},
		&discordclient.Channel{ID: "1401681709430341813", Type: discordgo.ChannelTypeGuildNews, Name: "news",
			ParentID: "1401681709430341810", Position: 3},
		&discordclient.Channel{ID: "1401681709430341814", Type: discordgo.ChannelTypeGuildVoice, Name: "Dorm",
			ParentID: "1401681709430341810", Bitrate: 96000, UserLimit: 5, Region: "rotterdam", VideoQuality: 1},
		&discordclient.Channel{ID: "1401681709430341817", Type: discordgo.ChannelTypeGuildStageVoice, Name: "Main Stage",
			Bitrate: 64000, UserLimit: 10000, VideoQuality: 2},
		&discordclient.Channel{ID: "1401681709430341818", Type: discordgo.ChannelTypeGuildForum, Name: "ideas",
			Topic: strings.Repeat("Be kind. ", 115) + "Always.", Flags: discordclient.FlagRequireTag, SortOrder: new(0), Layout: 2,
			ThreadSlowmode: 30, DefaultReaction: new(discordclient.ParseEmoji("✅")), Tags: []discordclient.Tag{
				{ID: "1401681709430341950", Name: "bug", Emoji: discordclient.ParseEmoji("🐛")},
				{ID: "1401681709430341951", Name: "solved", Moderated: true, Emoji: discordclient.ParseEmoji("1401681709430341960")},
			}},
		&discordclient.Channel{ID: "1401681709430341819", Type: discordgo.ChannelTypeGuildMedia, Name: "pictures",
			Flags: discordclient.FlagHideMediaDownload},
		&discordclient.Channel{ID: "1401681709430341820", Type: 14, Name: "Library"},
		&discordclient.Channel{ID: "1401681709430341815", Type: discordgo.ChannelTypeGuildCategory, Name: "Archive", Position: 1},
		&discordclient.Channel{ID: "1401681709430341816", Type: discordgo.ChannelTypeGuildText, Name: "general",
			ParentID: "1401681709430341815"},
	)
	token := discordclient.NewSecret("a-webhook-token")
	s.webhooks = []discordclient.Webhook{
		{ID: "1401681709430341903", Type: discordgo.WebhookTypeIncoming, ChannelID: "1401681709430341812", Name: "Grafana"},
		{ID: "1401681709430341902", Type: discordgo.WebhookTypeIncoming, ChannelID: "1401681709430341812", Name: "newer",
			ApplicationID: botID, Token: token},
		{ID: "1401681709430341901", Type: discordgo.WebhookTypeIncoming, ChannelID: "1401681709430341812",
			Name: "Alertmanager", ApplicationID: botID, Token: token},
		{ID: "1401681709430341900", Type: discordgo.WebhookTypeIncoming, ChannelID: "1401681709430341813", Name: "other",
			ApplicationID: "1401681709430341777"},
	}
	return s
}

func ruins() *server {
	s := school(
		&discordclient.Channel{ID: "1401681709430341810", Type: discordgo.ChannelTypeGuildText, Name: "General Chat"},
		&discordclient.Channel{ID: "1401681709430341811", Type: discordgo.ChannelTypeGuildText, Name: "!!!\n---\nkind: Secret"},
		&discordclient.Channel{ID: "1401681709430341812", Type: discordgo.ChannelTypeGuildCategory, Name: " Old "},
		&discordclient.Channel{ID: "1401681709430341813", Type: discordgo.ChannelTypeGuildText, Name: "below",
			ParentID: "1401681709430341812", Topic: " padded "},
		&discordclient.Channel{ID: "1401681709430341814", Type: discordgo.ChannelTypeGuildText, Name: "locked",
			DefaultAutoArchive: 7, Overwrites: []discordclient.Overwrite{
				{ID: everyoneID, Deny: permissions.ViewChannel},
				{ID: teacherID, Allow: permissions.ViewChannel},
			}},
		&discordclient.Channel{ID: "1401681709430341815", Type: discordgo.ChannelTypeGuildText, Name: "haunted",
			Overwrites: []discordclient.Overwrite{{ID: "1401681709430341899"}}},
		&discordclient.Channel{ID: "1401681709430341816", Type: discordgo.ChannelTypeGuildText, Name: "moved",
			ParentID: "1401681709430341898"},
		&discordclient.Channel{ID: "1401681709430341817", Type: discordgo.ChannelTypeGuildForum, Name: "ideas",
			Layout: 7, Tags: []discordclient.Tag{{Name: "a tag with a name that is too long"}}},
		&discordclient.Channel{ID: "1401681709430341819", Type: discordgo.ChannelTypeGuildForum, Name: "twice",
			Tags: []discordclient.Tag{{Name: "Bug"}, {Name: "bug"}}},
		&discordclient.Channel{ID: "1401681709430341820", Type: discordgo.ChannelTypeGuildForum, Name: "closed",
			Flags: discordclient.FlagRequireTag, Tags: []discordclient.Tag{{Name: "bug", Moderated: true}}},
		&discordclient.Channel{ID: "1401681709430341818", Type: discordgo.ChannelTypeGuildStageVoice, Name: "Old Stage", Bitrate: 96000},
	)
	s.guild.VerificationLevel, s.guild.PreferredLocale, s.guild.SystemChannelID = 9, "tlh", "1401681709430341810"
	s.bot.permissions = discordclient.PermissionsOverwrites &^ permissions.ManageWebhooks
	s.webhooksUnread = true
	return s
}

func render(t *testing.T, s *server, o *options) (text, summary string) {
	t.Helper()
	kinds, err := schema.Load()
	if err != nil {
		t.Fatal(err)
	}
	d, err := manifests(t.Context(), kinds, s, o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := d.yaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(out), d.summary()
}

// `go test -run TestGolden -update` updates the files.
func TestGolden(t *testing.T) {
	for name, test := range map[string]struct {
		server  *server
		options *options
	}{
		"campus": {campus(), usual},
		"ruins":  {ruins(), &options{Connection: cli.Connection{ServerID: guildID}, name: "old-school", namespace: "discord", tokenSecret: "token"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, summary := render(t, test.server, test.options)
			for file, got := range map[string]string{name + ".yaml": text, name + ".txt": summary} {
				path := filepath.Join("testdata", file)
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", path, diff)
				}
				if strings.Contains(got, "a-webhook-token") {
					t.Errorf("%s has a webhook's token", path)
				}
			}
		})
	}
}

func TestOrderOfChannelsChangesNothing(t *testing.T) {
	want, _ := render(t, campus(), usual)
	reversed := campus()
	slices.Reverse(reversed.channels)
	got, _ := render(t, reversed, usual)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFieldsSurvive(t *testing.T) {
	text, _ := render(t, campus(), usual)
	kinds := map[string]int{}
	for _, part := range strings.Split(text, "---\n") {
		var of struct{ Kind string }
		if err := yaml.Unmarshal([]byte(part), &of); err != nil {
			t.Fatal(err)
		}
		object, ok := map[string]any{"DiscordServer": &v1alpha1.DiscordServer{}, "DiscordGroup": &v1alpha1.DiscordGroup{},
			"DiscordChannel": &v1alpha1.DiscordChannel{}, "DiscordRole": &v1alpha1.DiscordRole{}}[of.Kind]
		if !ok {
			continue
		}
		kinds[of.Kind]++
		if err := yaml.UnmarshalStrict([]byte(part), object); err != nil {
			t.Error(err)
		}
		if c, ok := object.(*v1alpha1.DiscordChannel); ok && c.Name == "news" &&
			(c.Spec.PermissionOverwrites == nil || len(c.Spec.PermissionOverwrites) != 0) {
			t.Errorf("no overwrites became %v, want an empty list", c.Spec.PermissionOverwrites)
		}
	}
	if diff := cmp.Diff(map[string]int{"DiscordServer": 1, "DiscordRole": 3, "DiscordGroup": 2, "DiscordChannel": 8}, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFieldIsExported(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		rows    resource.Rows
		without []string
	}{
		kindServer: {controller.Rows, []string{"icon"}}, kindRole: {role.Kind.Fields, nil},
		kindGroup:   {group.Kind.Fields, []string{"permissionOverwrites"}},
		kindChannel: {channel.Kind.Fields, []string{"type", "group", "permissionOverwrites"}},
	} {
		var without []string
		for _, row := range c.rows {
			if row.Path == "" {
				without = append(without, row.Name)
			}
		}
		if diff := cmp.Diff(c.without, without); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}
