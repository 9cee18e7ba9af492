// SPDX-License-Identifier: Apache-2.0

package guildtest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

// Needed are the permissions of a bot that manages the result of Populate.
const Needed = discordtest.PermManageChannels | discordtest.PermManageGuild | discordtest.PermViewAuditLog |
	discordtest.PermViewChannel | discordtest.PermManageRoles | discordtest.PermManageWebhooks |
	discordtest.PermConnect | granted

const granted = discordtest.PermSendMessages | discordtest.PermManageMessages | discordtest.PermReadMessageHistory

type random struct {
	*rand.Rand
	srv   *discordtest.Server
	guild string
	bot   discordtest.Bot
	roles []string
}

// Populate gives a guild random roles, channels, webhooks and settings that the operator supports.
// The same seed gives the same result.
func Populate(ctx context.Context, srv *discordtest.Server, guild string, bot discordtest.Bot, seed uint64) error {
	r := &random{rand.New(rand.NewPCG(seed, 0)), srv, guild, bot, nil} //nolint:gosec // G404: a test's
	Community(srv, guild)
	for _, own := range srv.Guild(guild).Members[bot.UserID].Roles {
		srv.EditRoleByHand(guild, own, func(role *discordtest.Role) { role.Position = 10 }) // above all others
	}
	for range r.IntN(7) {
		r.roles = append(r.roles, srv.CreateRoleByHand(guild, r.role()))
	}
	categories := []string{""}
	for range r.IntN(4) {
		categories = append(categories, srv.CreateChannelByHand(guild, discordtest.Channel{
			Type: discordtest.TypeCategory, Name: r.name(), Position: r.IntN(5), Overwrites: r.overwrites(),
		}))
	}
	of := map[int][]string{discordtest.TypeText: {srv.CreateChannelByHand(guild, discordtest.Channel{Name: "rules"})}}
	for range r.IntN(14) {
		c := r.channel(categories[r.IntN(len(categories))])
		id := srv.CreateChannelByHand(guild, c)
		of[c.Type] = append(of[c.Type], id)
	}
	srv.EditGuildByHand(guild, func(g *discordtest.Guild) { r.settings(g, of) })
	return r.webhooks(ctx, of[discordtest.TypeText])
}

// Community enables the features for all channel types and for gradients of roles.
func Community(srv *discordtest.Server, guild string) {
	srv.EditGuildByHand(guild, func(g *discordtest.Guild) {
		g.Features = []string{"COMMUNITY", "NEWS", "ENHANCED_ROLE_COLORS"}
		g.VerificationLevel, g.ExplicitContentFilter = 1, 2
	})
}

func (r *random) coin() bool { return r.IntN(2) == 0 }

func one[T any](r *random, of ...T) T { return of[r.IntN(len(of))] }

func (r *random) name() string {
	return one(r, "Incidents", "On call", "名前", "Ünïcödé & co.", "a: b", "yes", "#1", strings.Repeat("x", 100),
		fmt.Sprintf("Number %d", r.IntN(5)))
}

func (r *random) permissions() (bits discordtest.Permissions) {
	for bit := discordtest.Permissions(1); bit <= granted; bit <<= 1 {
		if granted&bit != 0 && r.coin() {
			bits |= bit
		}
	}
	return bits
}

func (r *random) role() discordtest.Role {
	role := discordtest.Role{
		Name: r.name(), Position: r.IntN(4), Color: r.IntN(1 << 24), Hoist: r.coin(), Mentionable: r.coin(),
		Permissions: r.permissions(),
	}
	if r.IntN(3) == 0 {
		role.Secondary = new(r.IntN(1 << 24))
	}
	return role
}

func (r *random) overwrites() []discordtest.Overwrite {
	if r.IntN(3) == 0 {
		return nil
	}
	all := []discordtest.Overwrite{}
	if r.IntN(3) == 0 {
		// access lacks ManageRoles, because only an administrator may put it into an overwrite.
		const access = discordtest.PermViewChannel | discordtest.PermManageChannels | discordtest.PermConnect |
			discordtest.PermManageWebhooks
		all = append(all, discordtest.Overwrite{ID: r.guild, Deny: discordtest.PermViewChannel},
			discordtest.Overwrite{ID: r.bot.UserID, Type: 1, Allow: access})
	}
	for _, role := range r.roles {
		if allow := r.permissions(); r.coin() {
			all = append(all, discordtest.Overwrite{ID: role, Allow: allow, Deny: r.permissions() &^ allow})
		}
	}
	return all
}

func (r *random) channel(category string) discordtest.Channel {
	c := discordtest.Channel{
		Type: one(r, discordtest.TypeText, discordtest.TypeText, discordtest.TypeAnnouncement, discordtest.TypeVoice,
			discordtest.TypeStage, discordtest.TypeForum, discordtest.TypeMedia),
		Name: r.name(), ParentID: category, Position: r.IntN(6), NSFW: r.coin(), RateLimitPerUser: one(r, 0, 5, 21600),
		Overwrites: r.overwrites(),
	}
	switch c.Type {
	case discordtest.TypeVoice, discordtest.TypeStage:
		c.Bitrate, c.UserLimit = one(r, 8000, 64000), r.IntN(100)
		c.Region, c.VideoQuality = one(r, "", "japan"), r.IntN(3)
		return c
	case discordtest.TypeForum, discordtest.TypeMedia:
		r.forum(&c)
	}
	c.Name = discordtest.NormaliseName(c.Name)
	c.Topic = one(r, "", "What everyone may read", "\"quoted\"\n# and more")
	c.DefaultAutoArchive = one(r, 0, 60, 1440, 4320, 10080)
	return c
}

func (r *random) forum(c *discordtest.Channel) {
	for i := range r.IntN(4) {
		c.Tags = append(c.Tags, discordtest.Tag{
			Name: fmt.Sprintf("tag %d", i), Moderated: r.coin(), Emoji: discordtest.Emoji{Name: one(r, "", "🐛", "✅")},
		})
	}
	open := func(t discordtest.Tag) bool { return !t.Moderated }
	if slices.ContainsFunc(c.Tags, open) && r.coin() {
		c.Flags |= discordtest.FlagRequireTag
	}
	c.Reaction.Name, c.ThreadSlowmode = one(r, "", "🔥"), one(r, 0, 30)
	c.SortOrder = one(r, nil, new(0), new(1))
	if c.Type == discordtest.TypeForum {
		c.Layout = r.IntN(3)
	} else if r.coin() {
		c.Flags |= discordtest.FlagHideMediaDownload
	}
}

func (r *random) settings(g *discordtest.Guild, of map[int][]string) {
	g.Name, g.Description = one(r, "Jujutsu High", "Kyoto"), one(r, "", "A school")
	g.VerificationLevel, g.DefaultNotifications = 1+r.IntN(4), r.IntN(2)
	g.AFKTimeout, g.PreferredLocale, g.SystemChannelFlags = one(r, 60, 900), one(r, "ja", "en-US"), r.IntN(64)
	some := func(kind int) string { return one(r, append(of[kind], "")...) }
	g.AFKChannelID, g.SystemChannelID = some(discordtest.TypeVoice), some(discordtest.TypeText)
	text := of[discordtest.TypeText] // a community server has text channels
	g.RulesChannelID, g.PublicUpdatesChannelID = one(r, text...), one(r, text...)
}

func (r *random) webhooks(ctx context.Context, channels []string) error {
	api, err := discordclient.New(discordclient.Options{
		Token: discordclient.NewSecret(r.bot.Token), APIURL: r.srv.APIURL(),
	})
	if err != nil {
		return err
	}
	for _, c := range channels {
		if r.coin() {
			if _, err := api.CreateWebhook(ctx, c, "alertmanager", ""); err != nil {
				return fmt.Errorf("create a webhook in %s: %w", c, err)
			}
		}
	}
	return nil
}

// Portrait describes a guild for comparisons: without members, and with names or indexes in place
// of the ids of roles and channels.
func Portrait(g discordtest.Guild) (all []string) {
	names := map[string]string{g.ID: "@everyone"}
	for _, r := range g.RankedRoles() {
		if r.Managed || r.ID == g.ID {
			names[r.ID] = cmp.Or(names[r.ID], r.Name)
			continue
		}
		names[r.ID] = fmt.Sprintf("role %d", len(all))
		all = append(all, fmt.Sprintf("%s %q %o color %d to %v, hoist %t, mentionable %t", names[r.ID], r.Name, r.Permissions,
			r.Color, values(r.Secondary, r.Tertiary), r.Hoist, r.Mentionable))
	}
	for i, c := range g.Channels {
		names[c.ID] = fmt.Sprintf("channel %d", i)
	}
	for _, c := range g.Channels {
		all = append(all, channelPortrait(c, names))
	}
	for _, w := range g.Webhooks {
		all = append(all, fmt.Sprintf("webhook %q in %s", w.Name, names[w.ChannelID]))
	}
	slices.Sort(all)
	return append(all, fmt.Sprintf("%q %q verification %d, notifications %d, filter %d, AFK %d in %q, "+
		"messages %d in %q, rules in %q, updates in %q, locale %s", g.Name, g.Description, g.VerificationLevel,
		g.DefaultNotifications, g.ExplicitContentFilter, g.AFKTimeout, names[g.AFKChannelID], g.SystemChannelFlags,
		names[g.SystemChannelID], names[g.RulesChannelID], names[g.PublicUpdatesChannelID], g.PreferredLocale))
}

func channelPortrait(c discordtest.Channel, names map[string]string) string {
	var parts []string
	for _, o := range c.Overwrites {
		parts = append(parts, fmt.Sprintf("%s allow %o deny %o", cmp.Or(names[o.ID], o.ID), o.Allow, o.Deny))
	}
	slices.Sort(parts)
	for _, t := range c.Tags {
		parts = append(parts, fmt.Sprintf("tag %q %t %v", t.Name, t.Moderated, t.Emoji))
	}
	return fmt.Sprintf("%s %q type %d in %q topic %q, nsfw %t, slowmode %d, archive %d, flags %d, voice %d %d %q %d, "+
		"forum %v %v %d %d, %s", names[c.ID], c.Name, c.Type, names[c.ParentID], c.Topic, c.NSFW, c.RateLimitPerUser,
		c.DefaultAutoArchive, c.Flags, c.Bitrate, c.UserLimit, c.Region, max(c.VideoQuality, 1), c.Reaction,
		values(c.SortOrder), c.Layout, c.ThreadSlowmode, strings.Join(parts, ", "))
}

func values(all ...*int) (texts []string) {
	for _, v := range all {
		if v != nil {
			texts = append(texts, strconv.Itoa(*v))
		}
	}
	return texts
}
