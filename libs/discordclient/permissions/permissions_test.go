// SPDX-License-Identifier: Apache-2.0

package permissions_test

import (
	"encoding/json"
	"math/bits"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient/permissions"
)

func TestNamesAndBitsAreInverse(t *testing.T) {
	t.Parallel()
	for i := range 64 {
		want := permissions.Bits(1) << i
		names := want.Names()
		if len(names) != 1 {
			t.Fatalf("bit %d has names %q, want one", i, names)
		}
		got, ok := permissions.Parse(names[0])
		if !ok || got != want {
			t.Errorf("Parse(%q) = %d, %v; want %d", names[0], got, ok, want)
		}
	}
	var all permissions.Bits
	for _, name := range permissions.Bits(1<<64 - 1).Names() {
		bit, _ := permissions.Parse(name)
		all |= bit
	}
	if all != 1<<64-1 {
		t.Errorf("all 64 bits come back as %d", all)
	}
}

// Compare every name with discordgo, or with Discord's documentation where discordgo is older.
func TestBitsAgreeWithOthers(t *testing.T) {
	t.Parallel()
	others := map[string]int64{
		"CreateInstantInvite":              discordgo.PermissionCreateInstantInvite,
		"KickMembers":                      discordgo.PermissionKickMembers,
		"BanMembers":                       discordgo.PermissionBanMembers,
		"Administrator":                    discordgo.PermissionAdministrator,
		"ManageChannels":                   discordgo.PermissionManageChannels,
		"ManageGuild":                      discordgo.PermissionManageGuild,
		"AddReactions":                     discordgo.PermissionAddReactions,
		"ViewAuditLog":                     discordgo.PermissionViewAuditLogs,
		"PrioritySpeaker":                  discordgo.PermissionVoicePrioritySpeaker,
		"Stream":                           discordgo.PermissionVoiceStreamVideo,
		"ViewChannel":                      discordgo.PermissionViewChannel,
		"SendMessages":                     discordgo.PermissionSendMessages,
		"SendTTSMessages":                  discordgo.PermissionSendTTSMessages,
		"ManageMessages":                   discordgo.PermissionManageMessages,
		"EmbedLinks":                       discordgo.PermissionEmbedLinks,
		"AttachFiles":                      discordgo.PermissionAttachFiles,
		"ReadMessageHistory":               discordgo.PermissionReadMessageHistory,
		"MentionEveryone":                  discordgo.PermissionMentionEveryone,
		"UseExternalEmojis":                discordgo.PermissionUseExternalEmojis,
		"ViewGuildInsights":                discordgo.PermissionViewGuildInsights,
		"Connect":                          discordgo.PermissionVoiceConnect,
		"Speak":                            discordgo.PermissionVoiceSpeak,
		"MuteMembers":                      discordgo.PermissionVoiceMuteMembers,
		"DeafenMembers":                    discordgo.PermissionVoiceDeafenMembers,
		"MoveMembers":                      discordgo.PermissionVoiceMoveMembers,
		"UseVAD":                           discordgo.PermissionVoiceUseVAD,
		"ChangeNickname":                   discordgo.PermissionChangeNickname,
		"ManageNicknames":                  discordgo.PermissionManageNicknames,
		"ManageRoles":                      discordgo.PermissionManageRoles,
		"ManageWebhooks":                   discordgo.PermissionManageWebhooks,
		"ManageGuildExpressions":           discordgo.PermissionManageGuildExpressions,
		"UseApplicationCommands":           discordgo.PermissionUseApplicationCommands,
		"RequestToSpeak":                   discordgo.PermissionVoiceRequestToSpeak,
		"ManageEvents":                     discordgo.PermissionManageEvents,
		"ManageThreads":                    discordgo.PermissionManageThreads,
		"CreatePublicThreads":              discordgo.PermissionCreatePublicThreads,
		"CreatePrivateThreads":             discordgo.PermissionCreatePrivateThreads,
		"UseExternalStickers":              discordgo.PermissionUseExternalStickers,
		"SendMessagesInThreads":            discordgo.PermissionSendMessagesInThreads,
		"UseEmbeddedActivities":            discordgo.PermissionUseEmbeddedActivities,
		"ModerateMembers":                  discordgo.PermissionModerateMembers,
		"ViewCreatorMonetizationAnalytics": discordgo.PermissionViewCreatorMonetizationAnalytics,
		"UseSoundboard":                    discordgo.PermissionUseSoundboard,
		"CreateGuildExpressions":           discordgo.PermissionCreateGuildExpressions,
		"CreateEvents":                     discordgo.PermissionCreateEvents,
		"UseExternalSounds":                discordgo.PermissionUseExternalSounds,
		"SendVoiceMessages":                discordgo.PermissionSendVoiceMessages,
		"SetVoiceChannelStatus":            1 << 48,
		"SendPolls":                        discordgo.PermissionSendPolls,
		"UseExternalApps":                  discordgo.PermissionUseExternalApps,
		"PinMessages":                      1 << 51,
		"BypassSlowmode":                   1 << 52,
	}
	for _, name := range permissions.Documented() {
		want, there := others[name]
		if got, ok := permissions.Parse(name); !ok || !there || got != permissions.Bits(want) {
			t.Errorf("%s = %d, %v; want %d", name, got, ok, want)
		}
	}
	for name, constant := range map[string]permissions.Bits{
		"Administrator":   permissions.Administrator,
		"ManageChannels":  permissions.ManageChannels,
		"ManageGuild":     permissions.ManageGuild,
		"AddReactions":    permissions.AddReactions,
		"ViewAuditLog":    permissions.ViewAuditLog,
		"ViewChannel":     permissions.ViewChannel,
		"SendMessages":    permissions.SendMessages,
		"MentionEveryone": permissions.MentionEveryone,
		"Speak":           permissions.Speak,
		"MoveMembers":     permissions.MoveMembers,
		"ManageRoles":     permissions.ManageRoles,
		"ManageWebhooks":  permissions.ManageWebhooks,
	} {
		if got, ok := permissions.Parse(name); !ok || got != constant {
			t.Errorf("%s = %d, %v, and the constant %d", name, got, ok, constant)
		}
	}
	if core := permissions.ViewChannel | permissions.ManageChannels | permissions.ManageWebhooks; core != 536871952 {
		t.Errorf("core permissions are %d, want 536871952", core)
	}
	if got := len(permissions.Documented()); got != 52 || bits.OnesCount64(uint64(permissions.All)) != got {
		t.Errorf("%d documented permissions, want 52", got)
	}
}

func TestParseRejectsOtherNames(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"VIEW_CHANNEL", "viewChannel", "", "Bit10", "Bit64", "Bit-1", "Bit047", "Bit"} {
		if got, ok := permissions.Parse(bad); ok {
			t.Errorf("Parse(%q) = %d, want none", bad, got)
		}
	}
}

func TestJSONIsDecimalString(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(permissions.ViewChannel)
	if err != nil || string(out) != `"1024"` {
		t.Fatalf("marshalled to %s, %v", out, err)
	}
	var in permissions.Bits
	if err := json.Unmarshal([]byte(`"1024"`), &in); err != nil || in != permissions.ViewChannel {
		t.Errorf("unmarshalled to %d, %v", in, err)
	}
	if err := json.Unmarshal([]byte(`"many"`), &in); err == nil {
		t.Error("a word was parsed as permissions")
	}
}

func TestBaseAndIn(t *testing.T) {
	t.Parallel()
	const view, send, manage = permissions.ViewChannel, permissions.SendMessages, permissions.ManageChannels
	type ow = permissions.Overwrite
	for name, c := range map[string]struct {
		base       permissions.Bits
		overwrites []ow
		want       permissions.Bits
	}{
		"no overwrites":                       {view | send, nil, view | send},
		"@everyone denied":                    {view | send, []ow{{ID: "g", Deny: view}}, send},
		"a role allows what @everyone denies": {view, []ow{{ID: "g", Deny: view}, {ID: "r1", Allow: view}}, view},
		"between roles an allow wins":         {view, []ow{{ID: "r1", Deny: view}, {ID: "r2", Allow: view}}, view},
		"the member's overwrite comes last":   {view, []ow{{ID: "r1", Allow: view}, {ID: "m", Deny: view}}, 0},
		"other roles do not matter":           {view, []ow{{ID: "r9", Deny: view}}, view},
		"no overwrite restricts an administrator": {permissions.Base(false, permissions.Administrator),
			[]ow{{ID: "g", Deny: view}}, permissions.All},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := permissions.In(c.base, "g", "m", []string{"r1", "r2"}, c.overwrites)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("wrong permissions (-want +got):\n%s", diff)
			}
		})
	}
	if permissions.Base(true, 0) != permissions.All {
		t.Error("the owner does not hold everything")
	}
	if got := permissions.Base(false, view, send, manage); got != view|send|manage {
		t.Errorf("roles do not add up: %s", got)
	}
	if missing := (view | send).Missing(view | manage); missing != manage || missing.String() != "ManageChannels" {
		t.Errorf("missing are %s", missing)
	}
}
