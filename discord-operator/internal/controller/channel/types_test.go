// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

func community(s *scene) {
	s.Discord.EditGuildByHand(s.ID, func(g *discordtest.Guild) { g.Features = []string{"COMMUNITY", "NEWS"} })
}

func stored(t interface{ Fatal(...any) }, live discordclient.Channel, sent any) *discordclient.Channel {
	fields := map[string]any{}
	var after discordclient.Channel
	for _, step := range []func() error{
		func() error { return over(fields, live) }, func() error { return over(fields, sent) },
		func() error {
			raw, err := json.Marshal(fields)
			return errors.Join(err, json.Unmarshal(raw, &after))
		},
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return &after
}

func over(fields map[string]any, v any) error {
	raw, err := json.Marshal(v)
	return errors.Join(err, json.Unmarshal(raw, &fields))
}

func TestPlanOfEachTypeThenPlanAgainIsEmpty(t *testing.T) {
	t.Parallel()
	s := newScene(t, community)
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]v1alpha1.ChannelType{"Voice", "Stage", "Forum", "Media"}).Draw(t, "type")
		asked := spec{Name: "hall", Type: kind, NSFW: rapid.Ptr(rapid.Bool(), true).Draw(t, "nsfw")}
		live := discordclient.Channel{Type: typesByName[kind], Name: rapid.SampledFrom([]string{"hall", "HALL"}).Draw(t, "name")}
		if discordclient.IsForumLike(live.Type) {
			asked.Forum = rapid.Ptr(rapid.Custom(drawForum), true).Draw(t, "forum")
			drawLiveForum(t, &live)
		} else {
			asked.Voice = rapid.Ptr(rapid.Custom(drawVoice), true).Draw(t, "voice")
			live.Bitrate, live.VideoQuality, live.UserLimit = 64000, 1, rapid.IntRange(0, 2).Draw(t, "users")
			live.Region = rapid.SampledFrom([]string{"", "japan"}).Draw(t, "live region")
		}
		first := NewPlan(object(asked), s.observed(&live, ""))
		if second := NewPlan(object(asked), s.observed(stored(t, live, resource.EditOfChannel(first.Edit)), "")); first.Issues != nil || len(second.Fields) > 0 {
			t.Fatalf("issues %v, still differs: %v", first.Issues, second.Fields)
		}
		made := NewPlan(object(asked), s.observed(nil, ""))
		blank := discordclient.Channel{Bitrate: 64000}
		blank.Flags, _ = made.Create.(*resource.ChannelCreate).Asked.Flags.Get() // a later edit sets the flags
		if after := NewPlan(object(asked), s.observed(stored(t, blank, made.Create), "")); made.Issues != nil || len(after.Fields) > 0 {
			t.Fatalf("issues %v, a new channel differs: %v", made.Issues, after.Fields)
		}
	})
}

func drawVoice(t *rapid.T) v1alpha1.ChannelVoice {
	return v1alpha1.ChannelVoice{
		Bitrate:      rapid.Ptr(rapid.Int32Range(8000, 64000), true).Draw(t, "bitrate"),
		UserLimit:    rapid.Ptr(rapid.Int32Range(0, 2), true).Draw(t, "limit"),
		Region:       rapid.Ptr(rapid.SampledFrom([]string{"", "japan", "sydney"}), true).Draw(t, "region"),
		VideoQuality: rapid.SampledFrom([]v1alpha1.VideoQuality{"", "Auto", "Full"}).Draw(t, "quality"),
	}
}

func drawForum(t *rapid.T) v1alpha1.ChannelForum {
	forum := v1alpha1.ChannelForum{
		RequireTag: rapid.Ptr(rapid.Bool(), true).Draw(t, "require"), HideMediaDownload: rapid.Ptr(rapid.Bool(), true).Draw(t, "hide"),
		DefaultReaction: rapid.Ptr(rapid.SampledFrom([]v1alpha1.Emoji{"", "✅", "1234567"}), true).Draw(t, "reaction"),
		SortOrder:       rapid.SampledFrom([]v1alpha1.SortOrder{"", "NotSet", "LatestActivity", "CreationDate"}).Draw(t, "order"),
		Layout:          rapid.SampledFrom([]v1alpha1.ForumLayout{"", "NotSet", "List", "Gallery"}).Draw(t, "layout"),
	}
	if seconds := rapid.IntRange(-1, 2).Draw(t, "slowmode"); seconds >= 0 {
		forum.ThreadSlowmode = &metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	}
	tag := rapid.Custom(func(t *rapid.T) v1alpha1.ForumTag {
		return v1alpha1.ForumTag{
			Name: rapid.StringMatching("[abc]").Draw(t, "tag"), Moderated: rapid.Bool().Draw(t, "moderated"),
			Emoji: rapid.SampledFrom([]v1alpha1.Emoji{"", "🔥", "1234567"}).Draw(t, "emoji"),
		}
	})
	if rapid.Bool().Draw(t, "tags") {
		forum.Tags = rapid.SliceOfNDistinct(tag, 0, 3, func(t v1alpha1.ForumTag) string { return t.Name }).Draw(t, "list")
	}
	return forum
}

func drawLiveForum(t *rapid.T, live *discordclient.Channel) {
	live.Flags = rapid.SampledFrom([]int{0, discordclient.FlagRequireTag, 1 | discordclient.FlagHideMediaDownload}).Draw(t, "live flags")
	live.SortOrder = rapid.Ptr(rapid.IntRange(0, 1), true).Draw(t, "live order")
	live.Layout, live.ThreadSlowmode = rapid.IntRange(0, 2).Draw(t, "live layout"), rapid.IntRange(0, 2).Draw(t, "live slowmode")
	if rapid.Bool().Draw(t, "live reaction") {
		live.DefaultReaction = new(discordclient.ParseEmoji("👍"))
	}
	for _, name := range []string{"a", "B", "x"} {
		if rapid.Bool().Draw(t, "live "+name) {
			live.Tags = append(live.Tags, discordclient.Tag{ID: "9" + name, Name: name, Emoji: discordclient.ParseEmoji("🔥")})
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	const own, tag, hide = 1 << 7, discordclient.FlagRequireTag, discordclient.FlagHideMediaDownload
	s := newScene(t, community)
	for name, c := range map[string]struct {
		forum      v1alpha1.ChannelForum
		live, want int
		fields     []string
	}{
		"keeps flags outside the spec": {v1alpha1.ChannelForum{}, own | tag, own | tag, nil},
		"sets a flag":                  {v1alpha1.ChannelForum{RequireTag: ptr.To(true)}, own, own | tag, []string{"requireTag"}},
		"clears a flag":                {v1alpha1.ChannelForum{HideMediaDownload: ptr.To(false)}, own | tag | hide, own | tag, []string{"hideMediaDownload"}},
		"sets and clears":              {v1alpha1.ChannelForum{RequireTag: ptr.To(true), HideMediaDownload: ptr.To(false)}, hide, tag, []string{"hideMediaDownload", "requireTag"}},
		"in sync":                      {v1alpha1.ChannelForum{RequireTag: ptr.To(true), HideMediaDownload: ptr.To(true)}, own | tag | hide, own | tag | hide, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &discordclient.Channel{Type: discordgo.ChannelTypeGuildMedia, Name: "a", Flags: c.live}
			got := NewPlan(object(spec{Name: "a", Type: "Media", Forum: &c.forum}), s.observed(live, ""))
			if d := cmp.Diff(c.fields, got.Fields); d != "" {
				t.Error(d)
			}
			if to, ok := resource.EditOfChannel(got.Edit).Flags.Get(); ok != (c.fields != nil) || ok && to != c.want {
				t.Errorf("flags become %d, want %d", to, c.want)
			}
		})
	}
}

func TestPlanByType(t *testing.T) {
	t.Parallel()
	tier := func(n int, features ...string) func(*scene) {
		return func(s *scene) {
			s.Discord.EditGuildByHand(s.ID, func(g *discordtest.Guild) { g.PremiumTier, g.Features = n, features })
		}
	}
	bitrate := func(n int32) *v1alpha1.ChannelVoice { return &v1alpha1.ChannelVoice{Bitrate: ptr.To(n)} }
	hall := &discordclient.Channel{Type: discordgo.ChannelTypeGuildVoice, Name: "a", Bitrate: 64000}
	for name, c := range map[string]struct {
		guild  func(*scene)
		spec   spec
		live   *discordclient.Channel
		reason string
	}{
		"a voice channel in a server without Community":    {tier(0), spec{Type: "Voice"}, nil, ""},
		"a stage in a community server":                    {community, spec{Type: "Stage"}, nil, ""},
		"a forum in a server without Community":            {tier(0, "NEWS"), spec{Type: "Forum"}, nil, v1alpha1.ReasonCommunityRequired},
		"a media channel in a server without Community":    {tier(0, "NEWS"), spec{Type: "Media"}, nil, v1alpha1.ReasonCommunityRequired},
		"a stage in a server without Community":            {tier(0, "NEWS"), spec{Type: "Stage"}, nil, v1alpha1.ReasonCommunityRequired},
		"the highest bitrate":                              {tier(0), spec{Type: "Voice", Voice: bitrate(96000)}, nil, ""},
		"above the highest bitrate":                        {tier(0), spec{Type: "Voice", Voice: bitrate(96001)}, nil, v1alpha1.ReasonBitrateTooHigh},
		"above the highest bitrate, an existing channel":   {tier(2), spec{Type: "Voice", Voice: bitrate(256001)}, hall, v1alpha1.ReasonBitrateTooHigh},
		"a bitrate that only boosts allow":                 {tier(3), spec{Type: "Voice", Voice: bitrate(384000)}, hall, ""},
		"an undocumented boost level":                      {tier(4), spec{Type: "Voice", Voice: bitrate(384000)}, hall, ""},
		"a bitrate that VIP_REGIONS allows without boosts": {tier(0, "VIP_REGIONS"), spec{Type: "Voice", Voice: bitrate(384000)}, nil, ""},
		"no permission to connect": {func(s *scene) { s.Discord.SetPermissions(s.ID, s.ID, 0) }, spec{Type: "Voice"}, nil,
			v1alpha1.ReasonMissingPermissions},
		"no permission to connect, an existing channel": {func(s *scene) { s.Discord.SetPermissions(s.ID, s.ID, 0) },
			spec{Type: "Voice", Voice: bitrate(8000)}, hall, v1alpha1.ReasonMissingPermissions},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, c.guild)
			c.spec.Name = "a"
			got := NewPlan(object(c.spec), s.observed(c.live, ""))
			if reasonOf(got.Issues) != c.reason || c.reason != "" && got.Pending() {
				t.Errorf("issues %v and %v, want one with the reason %q", got.Issues, got, c.reason)
			}
		})
	}
}

func TestSiblings(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(s *scene) {
		for name, kind := range map[string]int{"b": discordtest.TypeText, "a": discordtest.TypeVoice, "c": discordtest.TypeStage} {
			s.Discord.CreateChannelByHand(s.ID, discordtest.Channel{Type: kind, Name: name, ParentID: s.a, Position: int(name[0])})
		}
	})
	for kind, want := range map[discordgo.ChannelType][]string{
		discordgo.ChannelTypeGuildText: {"b"}, discordgo.ChannelTypeGuildVoice: {"a", "c"}, discordgo.ChannelTypeGuildStageVoice: {"a", "c"},
	} {
		var got []string
		for _, sibling := range resource.Channels.Places(s.snap, s.a, kind) {
			c, _ := s.snap.Channel(sibling.ID)
			got = append(got, c.Name)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("beside type %d: %s", kind, d)
		}
	}
}
