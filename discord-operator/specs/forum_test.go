// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func forum(change func(*v1alpha1.ChannelForum)) func(*channelSpec) {
	return func(s *channelSpec) {
		if s.Forum == nil {
			s.Forum = &v1alpha1.ChannelForum{}
		}
		change(s.Forum)
	}
}

func tagged(names string) func(*channelSpec) {
	return forum(func(f *v1alpha1.ChannelForum) {
		f.Tags = []v1alpha1.ForumTag{}
		for _, name := range strings.Fields(names) {
			f.Tags = append(f.Tags, v1alpha1.ForumTag{Name: name})
		}
	})
}

func tagsOn(c *v1alpha1.DiscordChannel) (names string, ids map[string]string) {
	GinkgoHelper()
	ids = map[string]string{}
	var list []string
	for _, t := range on(c).Tags {
		list, ids[t.Name] = append(list, t.Name), t.ID
	}
	return strings.Join(list, " "), ids
}

func emojiOf(name string) map[string]any { return map[string]any{"emoji_id": nil, "emoji_name": name} }

var forumSettings = map[string]setting{
	"the guidelines of a forum": {
		field: "topic", kind: v1alpha1.ChannelTypeForum, key: "topic",
		one: strings.Repeat("ü", 4096), another: nil, // cleared, because Discord limits a third new text within ten minutes
		initial:   func(s *channelSpec) { s.Topic = new(strings.Repeat("ü", 4096)) },
		next:      func(s *channelSpec) { s.Topic = new("") },
		unmanaged: func(s *channelSpec) { s.Topic = nil },
		drift:     func(c *discordtest.Channel) { c.Topic = "by hand" }, live: func(c discordtest.Channel) any { return c.Topic },
	},
	"the slowmode of a forum": {
		field: "slowmode", kind: v1alpha1.ChannelTypeForum, key: "rate_limit_per_user", one: 30.0, another: 60.0, zero: 0.0,
		initial: inSlowmode(30), next: inSlowmode(60), unset: inSlowmode(0), unmanaged: func(s *channelSpec) { s.Slowmode = nil },
		drift: func(c *discordtest.Channel) { c.RateLimitPerUser = 5 },
		live:  func(c discordtest.Channel) any { return c.RateLimitPerUser },
	},
	"the default auto-archive time of a forum": {
		field: "defaultAutoArchive", kind: v1alpha1.ChannelTypeForum, key: "default_auto_archive_duration",
		one: 60.0, another: 10080.0,
		initial:   func(s *channelSpec) { s.DefaultAutoArchive = v1alpha1.AutoArchiveOneHour },
		next:      func(s *channelSpec) { s.DefaultAutoArchive = v1alpha1.AutoArchiveOneWeek },
		unmanaged: func(s *channelSpec) { s.DefaultAutoArchive = "" },
		drift:     func(c *discordtest.Channel) { c.DefaultAutoArchive = 1440 },
		live:      func(c discordtest.Channel) any { return c.DefaultAutoArchive },
	},
	"the slowmode of a forum's threads": {
		field: "threadSlowmode", kind: v1alpha1.ChannelTypeForum, key: "default_thread_rate_limit_per_user",
		one: 5.0, another: 90.0, zero: 0.0,
		initial: inThreads(5), next: inThreads(90), unset: inThreads(0), unmanaged: func(s *channelSpec) { s.Forum = nil },
		drift: func(c *discordtest.Channel) { c.ThreadSlowmode = 7 },
		live:  func(c discordtest.Channel) any { return c.ThreadSlowmode },
	},
	"the default reaction of a forum": {
		field: "defaultReaction", kind: v1alpha1.ChannelTypeForum, key: "default_reaction_emoji",
		one: emojiOf("✅"), another: emojiOf("👍🏽"), zero: nil,
		initial:   forum(func(f *v1alpha1.ChannelForum) { f.DefaultReaction = new(v1alpha1.Emoji("✅")) }),
		next:      forum(func(f *v1alpha1.ChannelForum) { f.DefaultReaction = new(v1alpha1.Emoji("👍🏽")) }),
		unset:     forum(func(f *v1alpha1.ChannelForum) { f.DefaultReaction = new(v1alpha1.Emoji("")) }),
		unmanaged: func(s *channelSpec) { s.Forum.DefaultReaction = nil },
		drift:     func(c *discordtest.Channel) { c.Reaction = discordtest.Emoji{Name: "🎉"} },
		live:      func(c discordtest.Channel) any { return c.Reaction },
	},
	"the sort order of a forum": {
		field: "sortOrder", kind: v1alpha1.ChannelTypeForum, key: "default_sort_order", one: 0.0, another: 1.0, zero: nil,
		initial:   forum(func(f *v1alpha1.ChannelForum) { f.SortOrder = v1alpha1.SortOrderLatestActivity }),
		next:      forum(func(f *v1alpha1.ChannelForum) { f.SortOrder = v1alpha1.SortOrderCreationDate }),
		unset:     forum(func(f *v1alpha1.ChannelForum) { f.SortOrder = v1alpha1.SortOrderNotSet }),
		unmanaged: func(s *channelSpec) { s.Forum.SortOrder = "" },
		drift:     func(c *discordtest.Channel) { c.SortOrder = new(1) },
		live:      func(c discordtest.Channel) any { return c.SortOrder },
	},
	"the layout of a forum": {
		field: "layout", kind: v1alpha1.ChannelTypeForum, key: "default_forum_layout", one: 1.0, another: 2.0, zero: 0.0,
		initial:   forum(func(f *v1alpha1.ChannelForum) { f.Layout = v1alpha1.ForumLayoutList }),
		next:      forum(func(f *v1alpha1.ChannelForum) { f.Layout = v1alpha1.ForumLayoutGallery }),
		unset:     forum(func(f *v1alpha1.ChannelForum) { f.Layout = v1alpha1.ForumLayoutNotSet }),
		unmanaged: func(s *channelSpec) { s.Forum.Layout = "" },
		drift:     func(c *discordtest.Channel) { c.Layout = (c.Layout + 1) % 3 }, live: func(c discordtest.Channel) any { return c.Layout },
	},
	"the sort order of a media channel": {
		field: "sortOrder", kind: v1alpha1.ChannelTypeMedia, key: "default_sort_order", one: 1.0, another: 0.0, zero: nil,
		initial:   forum(func(f *v1alpha1.ChannelForum) { f.SortOrder = v1alpha1.SortOrderCreationDate }),
		next:      forum(func(f *v1alpha1.ChannelForum) { f.SortOrder = v1alpha1.SortOrderLatestActivity }),
		unset:     forum(func(f *v1alpha1.ChannelForum) { f.SortOrder = v1alpha1.SortOrderNotSet }),
		unmanaged: func(s *channelSpec) { s.Forum = nil },
		drift:     func(c *discordtest.Channel) { c.SortOrder = nil },
		live:      func(c discordtest.Channel) any { return c.SortOrder },
	},
	"the age restriction of a media channel": {
		field: "nsfw", kind: v1alpha1.ChannelTypeMedia, key: "nsfw", one: true, another: false,
		initial: func(s *channelSpec) { s.NSFW = new(true) }, next: func(s *channelSpec) { s.NSFW = new(false) },
		unmanaged: func(s *channelSpec) { s.NSFW = nil },
		drift:     func(c *discordtest.Channel) { c.NSFW = !c.NSFW }, live: func(c discordtest.Channel) any { return c.NSFW },
	},
}

func inThreads(seconds int) func(*channelSpec) {
	return forum(func(f *v1alpha1.ChannelForum) {
		f.ThreadSlowmode = &metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	})
}

var _ = Describe("A forum or media channel", func() {
	for name, s := range forumSettings {
		It("is updated after edits of its spec "+
			"and corrected after edits on Discord: "+name, func(ctx context.Context) { expectSetting(ctx, s) })
	}

	DescribeTable("is created by one call, and edited by one call for all changes",
		func(ctx context.Context, kind v1alpha1.ChannelType, number float64) {
			w := newCommunity(ctx)
			change, sent := merged(kind, forumSettings)
			tags := forum(func(f *v1alpha1.ChannelForum) {
				f.Tags = []v1alpha1.ForumTag{{Name: "bug", Emoji: "🐛"}, {Name: "solved", Moderated: true}}
			})
			sent["available_tags"] = []any{
				map[string]any{"name": "bug", "moderated": false, "emoji_id": nil, "emoji_name": "🐛"},
				map[string]any{"name": "solved", "moderated": true, "emoji_id": nil, "emoji_name": nil},
			}
			blank := w.channel("", "blank", ofType(kind))
			ready(ctx, w.server(), blank)
			edit(ctx, blank, ofType(kind, append(change, tags)...))
			eventuallyReady(ctx, blank)
			Expect(w.bodies(patchChannel)).To(Equal([]map[string]any{sent}))
			full := w.channel("", "ideas", ofType(kind, append(change, tags)...))
			ready(ctx, full)
			sent["name"], sent["type"] = "ideas", number
			Expect(w.bodies(postChannel)[1]).To(Equal(sent))
			Expect(w.edits()).To(Equal([]string{postChannel, patchChannel, postChannel}))
			w.expectInSync(ctx, blank, full)
		},
		Entry("a forum", v1alpha1.ChannelTypeForum, 15.0),
		Entry("a media channel", v1alpha1.ChannelTypeMedia, 16.0),
	)

	DescribeTable("has the flags of its spec, and keeps Discord's own flags",
		func(ctx context.Context, kind v1alpha1.ChannelType, field string, flag int, set func(*v1alpha1.ChannelForum, *bool)) {
			w := newCommunity(ctx)
			to := func(want *bool) func(*channelSpec) {
				return forum(func(f *v1alpha1.ChannelForum) { set(f, want) })
			}
			c := w.channel("", "ideas", ofType(kind, tagged("bug"), to(new(true))))
			ready(ctx, w.server(), c)
			Expect(w.edits()).To(Equal([]string{postChannel, patchChannel}), "a create takes no flags")
			Expect(on(c).Flags).To(Equal(flag))
			Expect(eventsOf(c)(ctx)).NotTo(ContainElement("Normal DriftCorrected"), "no user has changed anything")

			const own = 1 << 7
			byHand := func(flags int) func() {
				return func() {
					discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) { ch.Flags = flags })
				}
			}
			byHand(flag | own)()
			counted := driftCount(ctx, "DiscordChannel", field)
			expectCorrected(ctx, func() int { return on(c).Flags & flag }, byHand(own))
			Expect(on(c).Flags).To(Equal(flag | own))
			Eventually(ctx, driftCount).WithArguments("DiscordChannel", field).Should(Equal(counted + 1))
			edit(ctx, c, with(to(new(false))))
			eventuallyReady(ctx, c)
			Expect(on(c).Flags).To(Equal(own))
			edit(ctx, c, with(to(nil)))
			eventuallyReady(ctx, c)
			byHand(flag)()
			w.expectInSync(ctx, c)
			Expect(on(c).Flags).To(Equal(flag), "the operator does not manage a flag that the spec leaves out")
		},
		Entry("a forum whose posts need a tag", v1alpha1.ChannelTypeForum, "requireTag", discordtest.FlagRequireTag,
			func(f *v1alpha1.ChannelForum, want *bool) { f.RequireTag = want }),
		Entry("a media channel without downloads", v1alpha1.ChannelTypeMedia, "hideMediaDownload",
			discordtest.FlagHideMediaDownload, func(f *v1alpha1.ChannelForum, want *bool) { f.HideMediaDownload = want }),
	)

	It("keeps the ids of its tags when they are renamed, moved, added and removed", func(ctx context.Context) {
		w := newCommunity(ctx)
		c := w.channel("", "ideas", ofType(v1alpha1.ChannelTypeForum, tagged("bug idea")))
		ready(ctx, w.server(), c)
		_, before := tagsOn(c)
		Expect(c.Status.Tags).To(Equal([]v1alpha1.ForumTagStatus{
			{Name: "bug", ID: before["bug"]}, {Name: "idea", ID: before["idea"]},
		}))
		for _, step := range []struct{ to, bug, idea string }{
			{"defect idea", "defect", "idea"},
			{"idea defect", "defect", "idea"},
			{"idea defect question", "defect", "idea"},
			{"question proposal fault", "fault", "proposal"},
			{"question fault", "fault", ""},
			{"question Fault", "Fault", ""},
		} {
			edit(ctx, c, with(tagged(step.to)))
			eventuallyReady(ctx, c)
			names, ids := tagsOn(c)
			Expect(names).To(Equal(step.to))
			// Both tags are renamed, so the operator matches them by their order.
			if step.bug == "fault" && step.idea == "proposal" {
				Expect([]string{ids["proposal"], ids["fault"]}).To(Equal([]string{before["idea"], before["bug"]}))
				continue
			}
			Expect(ids[step.bug]).To(Equal(before["bug"]), step.to)
			if step.idea != "" {
				Expect(ids[step.idea]).To(Equal(before["idea"]), step.to)
			}
		}
		w.expectInSync(ctx, c)
	})

	It("gets its tags back after a user changes them, "+
		"with the same ids for tags that still exist", func(ctx context.Context) {
		w := newCommunity(ctx)
		c := w.channel("", "ideas", ofType(v1alpha1.ChannelTypeForum, tagged("bug idea")))
		ready(ctx, w.server(), c)
		_, before := tagsOn(c)
		names := func() string { is, _ := tagsOn(c); return is }
		byHand := func(change func([]discordtest.Tag) []discordtest.Tag) {
			GinkgoHelper()
			edits := len(w.edits())
			expectCorrected(ctx, names, func() {
				discord.EditChannelByHand(c.Status.ChannelID, func(ch *discordtest.Channel) { ch.Tags = change(ch.Tags) })
			})
			Expect(w.edits()[edits:]).To(Equal([]string{patchChannel}))
		}
		counted := driftCount(ctx, "DiscordChannel", "tags")
		byHand(func(tags []discordtest.Tag) []discordtest.Tag {
			tags[0].Name = "renamed"
			return append(tags, discordtest.Tag{Name: "theirs"})
		})
		Eventually(ctx, driftCount).WithArguments("DiscordChannel", "tags").Should(Equal(counted + 1))
		_, now := tagsOn(c)
		Expect(now).To(Equal(before))
		byHand(func(tags []discordtest.Tag) []discordtest.Tag { return tags[1:] })
		_, now = tagsOn(c)
		Expect(now["idea"]).To(Equal(before["idea"]))
		Eventually(ctx, refetch(c)).Should(HaveField("Status.Tags",
			ContainElement(v1alpha1.ForumTagStatus{Name: "bug", ID: now["bug"]})))
	})

	It("loses its tags when spec.forum.tags is empty, "+
		"and keeps them when the spec leaves out the field", func(ctx context.Context) {
		w := newCommunity(ctx)
		c := w.channel("", "ideas", ofType(v1alpha1.ChannelTypeForum, tagged("bug idea")))
		ready(ctx, w.server(), c)
		edit(ctx, c, with(func(s *channelSpec) { s.Forum = nil }))
		eventuallyReady(ctx, c)
		w.expectInSync(ctx, c)
		Expect(on(c).Tags).To(HaveLen(2))
		edit(ctx, c, with(tagged("")))
		eventuallyReady(ctx, c)
		Expect(on(c).Tags).To(BeEmpty())
		Expect(w.bodies(patchChannel)).To(Equal([]map[string]any{{"available_tags": []any{}}}))
		w.expectInSync(ctx, c)
	})

	It("that a DiscordChannel adopts keeps the ids of the tags whose names are in the spec", func(ctx context.Context) {
		w := newCommunity(ctx)
		id := w.channelByHand(discordtest.Channel{Name: "ideas", Type: discordtest.TypeForum, Tags: []discordtest.Tag{
			{Name: "bug", Emoji: discordtest.Emoji{Name: "🐛"}}, {Name: "idea", Moderated: true},
		}})
		was, _ := discord.Channel(id)
		c := w.channel("", "ideas", adopting(id), ofType(v1alpha1.ChannelTypeForum, tagged("idea bug")))
		ready(ctx, w.server(), c)
		Expect(on(c).Tags).To(Equal([]discordtest.Tag{{ID: was.Tags[1].ID, Name: "idea"}, {ID: was.Tags[0].ID, Name: "bug"}}))
		Expect(w.edits()).To(Equal([]string{patchChannel}))
	})

	It("accepts an emoji of the server, and is Degraded with an emoji of another server", func(ctx context.Context) {
		w := newCommunity(ctx)
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Emojis = []string{"1234567"} })
		emoji := func(id v1alpha1.Emoji) func(*channelSpec) {
			return forum(func(f *v1alpha1.ChannelForum) { f.Tags = []v1alpha1.ForumTag{{Name: "bug", Emoji: id}} })
		}
		c := w.channel("", "ideas", ofType(v1alpha1.ChannelTypeForum, emoji("1234567")))
		ready(ctx, w.server(), c)
		Expect(on(c).Tags[0].Emoji).To(Equal(discordtest.Emoji{ID: "1234567"}))
		w.expectInSync(ctx, c)
		edit(ctx, c, with(emoji("7654321")))
		Expect(eventuallyDegraded(ctx, c, "Refused")).To(ContainSubstring("Unknown Emoji"))
	})

	It("is Degraded if each post must have a tag but the forum has no tags", func(ctx context.Context) {
		w := newCommunity(ctx)
		ready(ctx, w.server())
		c := w.channel("", "ideas", ofType(v1alpha1.ChannelTypeForum,
			forum(func(f *v1alpha1.ChannelForum) { f.RequireTag = new(true) })))
		create(ctx, c)
		Expect(eventuallyDegraded(ctx, c, "Refused")).To(ContainSubstring("no tags available"))
		edit(ctx, c, with(tagged("bug")))
		eventuallyReady(ctx, c)
	})
})
