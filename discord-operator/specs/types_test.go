// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func ofType(kind v1alpha1.ChannelType, change ...func(*channelSpec)) func(*v1alpha1.DiscordChannel) {
	return with(func(s *channelSpec) {
		s.Type = kind
		for _, c := range change {
			c(s)
		}
	})
}

// newCommunity creates a community guild, which supports every type of channel.
func newCommunity(ctx context.Context, features ...string) *world {
	GinkgoHelper()
	w := newWorld(ctx)
	discord.EditGuildByHand(w.guild,
		func(g *discordtest.Guild) { g.Features = append([]string{"COMMUNITY", "NEWS"}, features...) })
	return w
}

func voice(change func(*v1alpha1.ChannelVoice)) func(*channelSpec) {
	return func(s *channelSpec) {
		if s.Voice == nil {
			s.Voice = &v1alpha1.ChannelVoice{}
		}
		change(s.Voice)
	}
}

type setting struct {
	field string // name of the field in the drift metric
	kind  v1alpha1.ChannelType
	// unset is nil if the field has no empty value.
	initial, next, unset func(*channelSpec)
	// unmanaged removes the field from the spec, so that the operator does not manage it.
	unmanaged func(*channelSpec)
	// key is the field's name in Discord's API. one, another and zero are the field's values there
	// for initial, next and unset.
	key                string
	one, another, zero any
	// drift changes the field by hand.
	drift func(*discordtest.Channel)
	live  func(discordtest.Channel) any
}

// expectSetting expects one call for each change of a setting.
func expectSetting(ctx context.Context, s setting) {
	GinkgoHelper()
	w := newCommunity(ctx)
	c := w.channel("", "lounge", ofType(s.kind, s.initial))
	ready(ctx, w.server(), c)
	Expect(w.edits()).To(Equal([]string{postChannel}), "one call should create the channel with all its fields")
	Expect(w.bodies(postChannel)[0]).To(HaveKeyWithValue(s.key, s.one))

	live := func() any { return s.live(on(c)) }
	byHand := func() { discord.EditChannelByHand(c.Status.ChannelID, s.drift) }
	counted := driftCount(ctx, "DiscordChannel", s.field)
	expectCorrected(ctx, live, byHand)
	Eventually(ctx, driftCount).WithArguments("DiscordChannel", s.field).
		Should(Equal(counted+1), "the operator counts a correction after Discord has answered")

	sent := []map[string]any{{s.key: s.one}, {s.key: s.another}}
	edit(ctx, c, with(s.next))
	eventuallyReady(ctx, c)
	if s.unset != nil {
		edit(ctx, c, with(s.unset))
		eventuallyReady(ctx, c)
		sent = append(sent, map[string]any{s.key: s.zero})
	}
	Expect(w.bodies(patchChannel)).To(Equal(sent), "one call for each change, with the setting and nothing else")

	edit(ctx, c, with(s.unmanaged))
	eventuallyReady(ctx, c)
	byHand()
	changed := live()
	w.expectInSync(ctx, c)
	Expect(live()).To(Equal(changed), "a field outside the spec should not be managed")
	Expect(w.bodies(patchChannel)).To(HaveLen(len(sent)))
}

func merged(kind v1alpha1.ChannelType, all map[string]setting) (change []func(*channelSpec), sent map[string]any) {
	sent = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if s := all[name]; s.kind == kind {
			change = append(change, s.initial)
			sent[s.key] = s.one
		}
	}
	return change, sent
}

var voiceSettings = map[string]setting{
	"the bitrate of a voice channel": {
		field: "bitrate", kind: v1alpha1.ChannelTypeVoice, key: "bitrate", one: 96000.0, another: 8000.0,
		initial:   voice(func(v *v1alpha1.ChannelVoice) { v.Bitrate = new(int32(96000)) }),
		next:      voice(func(v *v1alpha1.ChannelVoice) { v.Bitrate = new(int32(8000)) }),
		unmanaged: func(s *channelSpec) { s.Voice = nil },
		drift:     func(c *discordtest.Channel) { c.Bitrate = 32000 }, live: func(c discordtest.Channel) any { return c.Bitrate },
	},
	"the user limit of a voice channel": {
		field: "userLimit", kind: v1alpha1.ChannelTypeVoice, key: "user_limit", one: 5.0, another: 99.0, zero: 0.0,
		initial:   voice(func(v *v1alpha1.ChannelVoice) { v.UserLimit = new(int32(5)) }),
		next:      voice(func(v *v1alpha1.ChannelVoice) { v.UserLimit = new(int32(99)) }),
		unset:     voice(func(v *v1alpha1.ChannelVoice) { v.UserLimit = new(int32(0)) }),
		unmanaged: func(s *channelSpec) { s.Voice.UserLimit = nil },
		drift:     func(c *discordtest.Channel) { c.UserLimit = 7 }, live: func(c discordtest.Channel) any { return c.UserLimit },
	},
	"the region of a voice channel": {
		field: "region", kind: v1alpha1.ChannelTypeVoice, key: "rtc_region", one: "rotterdam", another: "us-east", zero: nil,
		initial:   voice(func(v *v1alpha1.ChannelVoice) { v.Region = new("rotterdam") }),
		next:      voice(func(v *v1alpha1.ChannelVoice) { v.Region = new("us-east") }),
		unset:     voice(func(v *v1alpha1.ChannelVoice) { v.Region = new("") }),
		unmanaged: func(s *channelSpec) { s.Voice.Region = nil },
		drift:     func(c *discordtest.Channel) { c.Region = "japan" }, live: func(c discordtest.Channel) any { return c.Region },
	},
	"the video quality of a voice channel": {
		field: "videoQuality", kind: v1alpha1.ChannelTypeVoice, key: "video_quality_mode", one: 2.0, another: 1.0,
		initial:   voice(func(v *v1alpha1.ChannelVoice) { v.VideoQuality = v1alpha1.VideoQualityFull }),
		next:      voice(func(v *v1alpha1.ChannelVoice) { v.VideoQuality = v1alpha1.VideoQualityAuto }),
		unmanaged: func(s *channelSpec) { s.Voice.VideoQuality = "" },
		drift:     func(c *discordtest.Channel) { c.VideoQuality = 0 }, // Discord may omit the field, which means 1
		live:      func(c discordtest.Channel) any { return c.VideoQuality },
	},
	"the bitrate of a stage": {
		field: "bitrate", kind: v1alpha1.ChannelTypeStage, key: "bitrate", one: 32000.0, another: 64000.0,
		initial:   voice(func(v *v1alpha1.ChannelVoice) { v.Bitrate = new(int32(32000)) }),
		next:      voice(func(v *v1alpha1.ChannelVoice) { v.Bitrate = new(int32(64000)) }),
		unmanaged: func(s *channelSpec) { s.Voice = nil },
		drift:     func(c *discordtest.Channel) { c.Bitrate = 8000 }, live: func(c discordtest.Channel) any { return c.Bitrate },
	},
	"the user limit of a stage": {
		field: "userLimit", kind: v1alpha1.ChannelTypeStage, key: "user_limit", one: 10000.0, another: 100.0, zero: 0.0,
		initial:   voice(func(v *v1alpha1.ChannelVoice) { v.UserLimit = new(int32(10000)) }),
		next:      voice(func(v *v1alpha1.ChannelVoice) { v.UserLimit = new(int32(100)) }),
		unset:     voice(func(v *v1alpha1.ChannelVoice) { v.UserLimit = new(int32(0)) }),
		unmanaged: func(s *channelSpec) { s.Voice.UserLimit = nil },
		drift:     func(c *discordtest.Channel) { c.UserLimit = 7 }, live: func(c discordtest.Channel) any { return c.UserLimit },
	},
	"the region of a stage": {
		field: "region", kind: v1alpha1.ChannelTypeStage, key: "rtc_region", one: "japan", another: "sydney", zero: nil,
		initial:   voice(func(v *v1alpha1.ChannelVoice) { v.Region = new("japan") }),
		next:      voice(func(v *v1alpha1.ChannelVoice) { v.Region = new("sydney") }),
		unset:     voice(func(v *v1alpha1.ChannelVoice) { v.Region = new("") }),
		unmanaged: func(s *channelSpec) { s.Voice.Region = nil },
		drift:     func(c *discordtest.Channel) { c.Region = "brazil" }, live: func(c discordtest.Channel) any { return c.Region },
	},
	"the age restriction of a voice channel": {
		field: "nsfw", kind: v1alpha1.ChannelTypeVoice, key: "nsfw", one: true, another: false,
		initial: func(s *channelSpec) { s.NSFW = new(true) }, next: func(s *channelSpec) { s.NSFW = new(false) },
		unmanaged: func(s *channelSpec) { s.NSFW = nil },
		drift:     func(c *discordtest.Channel) { c.NSFW = !c.NSFW }, live: func(c discordtest.Channel) any { return c.NSFW },
	},
	"the slowmode of a stage": {
		field: "slowmode", kind: v1alpha1.ChannelTypeStage, key: "rate_limit_per_user", one: 30.0, another: 60.0, zero: 0.0,
		initial: inSlowmode(30), next: inSlowmode(60), unset: inSlowmode(0), unmanaged: func(s *channelSpec) { s.Slowmode = nil },
		drift: func(c *discordtest.Channel) { c.RateLimitPerUser = 5 },
		live:  func(c discordtest.Channel) any { return c.RateLimitPerUser },
	},
}

func inSlowmode(seconds int) func(*channelSpec) {
	return func(s *channelSpec) {
		c := v1alpha1.DiscordChannel{Spec: *s}
		slowmode(seconds)(&c)
		*s = c.Spec
	}
}

var _ = Describe("A voice or stage channel", func() {
	for name, s := range voiceSettings {
		It("is updated after edits of its spec "+
			"and corrected after edits on Discord: "+name, func(ctx context.Context) { expectSetting(ctx, s) })
	}

	DescribeTable("with capitals and spaces in its name is created by one call, and its webhook by a second call",
		func(ctx context.Context, kind v1alpha1.ChannelType, number float64) {
			w := newCommunity(ctx)
			change, sent := merged(kind, voiceSettings)
			sent["name"], sent["type"] = "The Great Hall!", number
			c := w.channel("", "hall", withWebhook, ofType(kind, change...),
				with(func(s *channelSpec) { s.Name = "The Great Hall!" }))
			ready(ctx, w.server(), c)
			Expect(w.bodies(postChannel)).To(Equal([]map[string]any{sent}))
			Expect(w.edits()).To(Equal([]string{postChannel, postWebhook}))
			Expect(on(c).Name).To(Equal("The Great Hall!"))
			w.expectInSync(ctx, c)
		},
		Entry("a voice channel", v1alpha1.ChannelTypeVoice, 2.0),
		Entry("a stage", v1alpha1.ChannelTypeStage, 13.0),
	)

	It("is edited by one call for all changed fields", func(ctx context.Context) {
		w := newCommunity(ctx)
		c := w.channel("", "hall", ofType(v1alpha1.ChannelTypeVoice))
		ready(ctx, w.server(), c)
		change, sent := merged(v1alpha1.ChannelTypeVoice, voiceSettings)
		edit(ctx, c, ofType(v1alpha1.ChannelTypeVoice, change...))
		eventuallyReady(ctx, c)
		Expect(w.bodies(patchChannel)).To(Equal([]map[string]any{sent}))
	})

	It("is ordered among voice and stage channels, below all channels of other types", func(ctx context.Context) {
		w := newCommunity(ctx)
		at := func(place int32, kind v1alpha1.ChannelType, name string) *v1alpha1.DiscordChannel {
			return w.channel("g", name, ofType(kind, func(s *channelSpec) { s.Position = new(place) }))
		}
		g := w.group("g")
		hall, alerts, stage := at(0, v1alpha1.ChannelTypeVoice, "hall"), at(1, v1alpha1.ChannelTypeText, "alerts"),
			at(2, v1alpha1.ChannelTypeStage, "stage")
		news, den := at(3, v1alpha1.ChannelTypeText, "news"), at(4, v1alpha1.ChannelTypeVoice, "den")
		ready(ctx, w.server(), g, den, stage, hall, news, alerts)
		order := func() []string { return w.namesIn(g.Status.GroupID) }
		Eventually(ctx, order).Should(Equal([]string{"alerts", "news", "hall", "stage", "den"}))
		w.expectIdle(ctx)
		before := len(w.edits())
		expectCorrected(ctx, order, func() {
			discord.EditChannelByHand(hall.Status.ChannelID, func(c *discordtest.Channel) { c.Position = 99 })
		})
		Expect(w.edits()[before:]).To(Equal([]string{moveChannels}))
		w.expectInSync(ctx, hall, alerts, stage, news, den)
	})

	It("adopts only a channel of its type", func(ctx context.Context) {
		w := newCommunity(ctx)
		hall := w.channelByHand(discordtest.Channel{Name: "Hall", Type: discordtest.TypeVoice, UserLimit: 3})
		right := w.channel("", "right", adopting(hall), ofType(v1alpha1.ChannelTypeVoice, func(s *channelSpec) { s.Name = "Hall" }))
		ready(ctx, w.server(), right)
		Expect(w.edits()).To(BeEmpty())
		text := w.channelByHand(discordtest.Channel{Name: "text"})
		wrong := w.channel("", "wrong", adopting(text), ofType(v1alpha1.ChannelTypeVoice))
		create(ctx, wrong)
		Expect(eventuallyDegraded(ctx, wrong, "AdoptMismatch")).
			To(And(ContainSubstring("the type Text"), ContainSubstring("the type Voice")))
	})

	It("gets an overwrite that lets the bot connect if @everyone may not connect, "+
		"and is Degraded if a user removes the overwrite", func(ctx context.Context) {
		w := newCommunity(ctx)
		c := w.channel("", "hall", ofType(v1alpha1.ChannelTypeVoice, func(s *channelSpec) {
			s.PermissionOverwrites = []v1alpha1.PermissionOverwrite{denying("@everyone", "Connect")}
		}))
		ready(ctx, w.server(), c)
		Expect(on(c).Overwrites).To(ContainElement(discordtest.Overwrite{
			ID: w.bot.UserID, Type: 1, Allow: discordtest.PermConnect,
		}))
		edit(ctx, c, with(inSlowmode(5)))
		eventuallyReady(ctx, c)

		discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) {
			ch.Overwrites = []discordtest.Overwrite{{ID: w.guild, Deny: discordtest.PermConnect}}
		})
		Expect(eventuallyDegraded(ctx, c, "MissingPermissions")).To(ContainSubstring("Connect"))
	})

	It("is Degraded without a write to Discord "+
		"if the server's boost level does not allow the bitrate", func(ctx context.Context) {
		w := newCommunity(ctx)
		ready(ctx, w.server())
		bitrate := func(n int32) func(*channelSpec) {
			return voice(func(v *v1alpha1.ChannelVoice) { v.Bitrate = new(n) })
		}
		c := w.channel("", "hall", ofType(v1alpha1.ChannelTypeVoice, bitrate(128000)))
		create(ctx, c)
		Expect(eventuallyDegraded(ctx, c, "BitrateTooHigh")).To(ContainSubstring("at most 96000"))
		Expect(w.edits()).To(BeEmpty())
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.PremiumTier = 1 })
		eventuallyReady(ctx, c)
		edit(ctx, c, with(bitrate(384000)))
		Expect(eventuallyDegraded(ctx, c, "BitrateTooHigh")).To(ContainSubstring("at most 128000"))
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = append(g.Features, "VIP_REGIONS") })
		eventuallyReady(ctx, c)
		Expect(on(c).Bitrate).To(Equal(384000))
	})

	It("is Degraded if Discord does not know its region", func(ctx context.Context) {
		w := newCommunity(ctx)
		ready(ctx, w.server())
		c := w.channel("", "hall", ofType(v1alpha1.ChannelTypeVoice,
			voice(func(v *v1alpha1.ChannelVoice) { v.Region = new("atlantis") })))
		create(ctx, c)
		Expect(eventuallyDegraded(ctx, c, "Refused")).To(ContainSubstring("rtc_region"))
	})
})

var _ = DescribeTable("A channel of a type for communities is Degraded, without a write to Discord, "+
	"if the server is no community",
	func(ctx context.Context, kind v1alpha1.ChannelType) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		c := w.channel("", "lounge", ofType(kind))
		create(ctx, c)
		Expect(eventuallyDegraded(ctx, c, "CommunityRequired")).To(ContainSubstring(string(kind)))
		Expect(w.edits()).To(BeEmpty())
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = []string{"COMMUNITY", "NEWS"} })
		eventuallyReady(ctx, c)
	},
	Entry("a stage", v1alpha1.ChannelTypeStage),
	Entry("a forum", v1alpha1.ChannelTypeForum),
	Entry("a media channel", v1alpha1.ChannelTypeMedia),
)

var _ = It("A new channel is edited by one call if Discord ignored some settings of "+
	"the create", func(ctx context.Context) {
	anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits(), Altered: discordtest.Altered{Bare: true}})
	w := newCommunity(ctx)
	change, sent := merged(v1alpha1.ChannelTypeVoice, voiceSettings)
	// The create has already set these two fields.
	for _, key := range []string{"nsfw", "rate_limit_per_user"} {
		delete(sent, key)
	}
	ready(ctx, w.server(), w.channel("", "hall", ofType(v1alpha1.ChannelTypeVoice, change...)))
	Expect(w.bodies(patchChannel)).To(Equal([]map[string]any{sent}))
})
