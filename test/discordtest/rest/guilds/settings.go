// SPDX-License-Identifier: Apache-2.0

package guilds

import (
	"encoding/json"
	"net/http"
	"slices"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

var locales = []string{
	"ar", "bg", "cs", "da", "de", "el", "en-GB", "en-US", "es-419", "es-ES", "fi", "fr", "he", "hi", "hr", "hu",
	"id", "it", "ja", "ko", "lt", "nl", "no", "pl", "pt-BR", "ro", "ru", "sv-SE", "th", "tr", "uk", "vi", "zh-CN",
	"zh-TW",
}

const community = "COMMUNITY"

// mutableFeatures are the guild features that Discord lets an edit add or remove.
var mutableFeatures = []string{community, "DISCOVERABLE", "INVITES_DISABLED", "RAID_ALERTS_DISABLED"}

// Edit is PATCH /guilds/{guild_id}.
func Edit(c *call.Call) (int, any, error) {
	g, err := c.GuildWith(model.PermManageGuild)
	if err != nil {
		return 0, nil, err
	}
	f, err := c.Object()
	if err != nil {
		return 0, nil, err
	}
	after := g.Guild
	after.Features = slices.Clone(g.Features)
	readSettings(c, f, &after)
	readChannelSettings(f, g, &after)
	readImages(c, f, &after)
	readFeatures(f, &after)
	if ignoresCommunityChannels(c, f, g, &after) {
		after.RulesChannelID, after.PublicUpdatesChannelID = g.RulesChannelID, g.PublicUpdatesChannelID
	}
	if err := f.Err(); err != nil {
		return 0, nil, err
	}
	if err := mayCommunity(c, f, g, &after); err != nil {
		return 0, nil, err
	}
	for _, id := range []string{after.RulesChannelID, after.PublicUpdatesChannelID} {
		if ch := g.Channels[id]; ch != nil && ch.Type != model.TypeText {
			return 0, nil, call.ErrCommunityText
		}
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	c.Discord.ReplaceGuild(g, after, c.Bot.UserID, reason)
	return http.StatusOK, settings(c, g.Wire()), nil
}

// ignoresCommunityChannels reports whether an edit leaves the rules and updates channels unchanged.
// Users report this for an edit of a Community guild that sends no COMMUNITY in features. For such
// an edit of another guild, Options.Altered decides.
func ignoresCommunityChannels(c *call.Call, f *call.Form, g *model.GuildState, after *model.Guild) bool {
	if slices.Contains(after.Features, community) {
		return g.Feature(community) && !f.Given("features")
	}
	return c.Options.Altered.CommunityChannels || g.Feature(community)
}

// A Community guild needs at least verification level 1 (verified email) and content filter 2
// (scans the media of all members).
const minVerification, minFilter = 1, 2

// Discord documents that only an administrator may add or remove COMMUNITY. Users report that a new
// Community guild needs a rules and an updates channel (else 40006) and minimum levels. It is a
// guess that Discord refuses a lower level instead of raising it.
func mayCommunity(c *call.Call, f *call.Form, g *model.GuildState, after *model.Guild) error {
	is, was := slices.Contains(after.Features, community), g.Feature(community)
	if is != was {
		if err := c.May(g, g.GuildPermissions(c.Bot.UserID), model.PermAdministrator); err != nil {
			return err
		}
	}
	switch {
	case !is:
		return nil
	case !was && (!f.Given("rules_channel_id") || !f.Given("public_updates_channel_id")):
		return call.ErrFeatureDisabled
	case (!was || f.Given("verification_level")) && after.VerificationLevel < minVerification:
		f.Fail("verification_level", "GUILD_VERIFICATION_LEVEL_INSUFFICIENT", "Guild verification level insufficient")
	}
	if (!was || f.Given("explicit_content_filter")) && after.ExplicitContentFilter < minFilter {
		f.Fail("explicit_content_filter", "GUILD_EXPLICIT_CONTENT_FILTER_LEVEL_INSUFFICIENT",
			"Guild explicit content filter level insufficient")
	}
	return f.Err()
}

func readSettings(c *call.Call, f *call.Form, g *model.Guild) {
	before, isCommunity := *g, slices.Contains(g.Features, community)
	f.NotNull("name")
	f.Text("name", 2, 100, &g.Name)
	f.Text("description", 0, 300, &g.Description)
	f.Choice("verification_level", 0, &g.VerificationLevel, 0, 1, 2, 3, 4)
	f.Choice("default_message_notifications", 0, &g.DefaultNotifications, 0, 1)
	f.Choice("explicit_content_filter", 0, &g.ExplicitContentFilter, 0, 1, 2)
	f.Choice("afk_timeout", 300, &g.AFKTimeout, 60, 300, 900, 1800, 3600)
	f.Integer("system_channel_flags", 0, 63, 0, &g.SystemChannelFlags)
	locale := g.PreferredLocale
	f.Text("preferred_locale", 0, 10, &locale)
	switch {
	case f.Null("preferred_locale"):
		g.PreferredLocale = "en-US"
	case slices.Contains(locales, locale):
		g.PreferredLocale = locale
	default:
		f.Fail("preferred_locale", "BASE_TYPE_CHOICES", "Value must be one of the available locales.")
	}
	if c.Options.Altered.Locale && !isCommunity {
		g.PreferredLocale = before.PreferredLocale
	}
	if c.Options.Altered.Description && !isCommunity || c.Options.Compatible {
		g.Description = before.Description
	}
}

func readChannelSettings(f *call.Form, g *model.GuildState, after *model.Guild) {
	for key, to := range map[string]*string{
		"system_channel_id": &after.SystemChannelID, "afk_channel_id": &after.AFKChannelID,
		"rules_channel_id":          &after.RulesChannelID,
		"public_updates_channel_id": &after.PublicUpdatesChannelID, "safety_alerts_channel_id": &after.SafetyAlertsChannelID,
	} {
		id := *to
		f.ID(key, &id)
		ch := g.Channels[id]
		switch {
		case id == *to || id == "":
			*to = id
		case ch == nil:
			f.Fail(key, "CHANNEL_INVALID", "Channel does not exist")
		case key == "afk_channel_id" && ch.Type != model.TypeVoice, key == "system_channel_id" && !model.TextLike(ch.Type):
			f.Fail(key, "CHANNEL_INVALID_TYPE", "Channel has the wrong type")
		default:
			*to = id
		}
	}
}

// maxIcon is the documented maximum width and height of icons. It is a guess that Discord refuses
// larger icons, and animated icons in guilds without ANIMATED_ICON.
const maxIcon = 1024

func readImages(c *call.Call, f *call.Form, g *model.Guild) {
	has := func(feature string) bool { return slices.Contains(g.Features, feature) }
	if !c.Options.Altered.Icon {
		f.Image("icon", &g.Icon, maxIcon, has("ANIMATED_ICON"))
	}
	f.Image("splash", &g.Splash, 0, false)
	f.Image("banner", &g.Banner, 0, has("ANIMATED_BANNER"))
}

func readFeatures(f *call.Form, g *model.Guild) {
	if !f.Given("features") {
		return
	}
	was := slices.Contains(g.Features, community)
	g.Features = slices.DeleteFunc(g.Features, func(s string) bool {
		return slices.Contains(mutableFeatures, s) || s == "NEWS" && was // ReplaceGuild adds NEWS again if COMMUNITY stays
	})
	for _, raw := range f.List("features", 1521) {
		var name string
		mutable := json.Unmarshal(raw, &name) == nil && slices.Contains(mutableFeatures, name)
		if mutable && !slices.Contains(g.Features, name) {
			g.Features = append(g.Features, name)
		}
	}
}
