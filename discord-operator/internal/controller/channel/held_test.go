// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

func TestRefusedFieldBlocksNoOther(t *testing.T) {
	t.Parallel()
	closed := []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: []v1alpha1.Permission{"SendMessages"}}}
	boosted := &v1alpha1.ChannelVoice{Bitrate: ptr.To(int32(128000)), UserLimit: ptr.To(int32(5))}
	text := discordclient.Channel{Type: discordgo.ChannelTypeGuildText, Name: "a"}
	for name, c := range map[string]struct {
		spec    spec
		live    discordclient.Channel
		parent  func(*scene) string
		guild   func(*scene)
		reasons []string
		fields  []string
	}{
		"a bitrate above the limit of the boost level": {
			spec:    spec{Type: "Voice", Voice: boosted, PermissionOverwrites: closed},
			live:    discordclient.Channel{Type: discordgo.ChannelTypeGuildVoice, Name: "a", Bitrate: 64000},
			reasons: []string{v1alpha1.ReasonBitrateTooHigh}, fields: []string{"userLimit", "permissionOverwrites"},
		},
		"a server that allows no announcement channel": {
			spec: spec{Type: "Announcement", Topic: ptr.To("x"), PermissionOverwrites: closed}, live: text,
			reasons: []string{v1alpha1.ReasonAnnouncementsNotAllowed}, fields: []string{"topic", "permissionOverwrites"},
		},
		"a full category": {
			spec: spec{Topic: ptr.To("x"), PermissionOverwrites: closed}, live: text,
			guild: func(s *scene) {
				for range maxChildren {
					s.Discord.CreateChannelByHand(s.ID, discordtest.Channel{Name: "x", ParentID: s.a})
				}
			},
			parent:  func(s *scene) string { return s.a },
			reasons: []string{v1alpha1.ReasonLimitReached}, fields: []string{"topic", "permissionOverwrites"},
		},
		"two refused fields": {
			spec: spec{Type: "Voice", Voice: boosted, PermissionOverwrites: closed},
			live: discordclient.Channel{Type: discordgo.ChannelTypeGuildVoice, Name: "a", Bitrate: 64000},
			guild: func(s *scene) {
				for range maxChildren {
					s.Discord.CreateChannelByHand(s.ID, discordtest.Channel{Name: "x", ParentID: s.a})
				}
			},
			parent:  func(s *scene) string { return s.a },
			reasons: []string{v1alpha1.ReasonBitrateTooHigh, v1alpha1.ReasonLimitReached}, fields: []string{"userLimit", "permissionOverwrites"},
		},
		"overwrites of permissions that the bot lacks": {
			spec: spec{Topic: ptr.To("x"), PermissionOverwrites: []v1alpha1.PermissionOverwrite{
				{Role: "@everyone", Deny: []v1alpha1.Permission{"BanMembers"}},
			}}, live: text,
			reasons: []string{v1alpha1.ReasonMissingPermissions}, fields: []string{"topic"},
		},
		"the bot may not edit the channel": {
			spec: spec{Topic: ptr.To("x"), PermissionOverwrites: closed},
			live: discordclient.Channel{Type: discordgo.ChannelTypeGuildText, Name: "a", Overwrites: []discordclient.Overwrite{
				{ID: "self", Type: discordgo.PermissionOverwriteTypeMember, Deny: permissions.ManageChannels},
			}},
			reasons: []string{v1alpha1.ReasonMissingPermissions},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, func(s *scene) {
				if c.guild != nil {
					c.guild(s)
				}
			})
			parent := ""
			if c.parent != nil {
				parent = c.parent(s)
			}
			for i, o := range c.live.Overwrites {
				if o.ID == "self" {
					c.live.Overwrites[i].ID = s.snap.SelfID()
				}
			}
			c.spec.Name = "a"
			got := NewPlan(object(c.spec), s.observed(&c.live, parent))
			var reasons []string
			for _, i := range got.Issues {
				reasons = append(reasons, i.Reason)
			}
			if d := cmp.Diff(c.reasons, reasons); d != "" {
				t.Errorf("issues: %s", d)
			}
			if d := cmp.Diff(c.fields, got.Fields); d != "" {
				t.Errorf("fields: %s", d)
			}
			sent := slices.Contains(got.Fields, "permissionOverwrites")
			if list, ok := resource.EditOfChannel(got.Edit).Overwrites.Get(); ok != sent || sent && len(list) == 0 {
				t.Errorf("the edit has the overwrites %v", list)
			}
			if !resource.EditOfChannel(got.Edit).Bitrate.IsZero() || !resource.EditOfChannel(got.Edit).Type.IsZero() || !resource.EditOfChannel(got.Edit).ParentID.IsZero() {
				t.Errorf("the edit has a field that Discord refuses: %+v", resource.EditOfChannel(got.Edit))
			}
		})
	}
}
