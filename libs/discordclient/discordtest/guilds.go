package discordtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
)

// createGuild is POST /guilds, which Discord has closed to bots: see Options.AllowGuilds.
func (c *call) createGuild() (int, any, error) {
	if !c.srv.opts.AllowGuilds {
		return 0, nil, errBotsCannot
	}
	f, err := c.object()
	if err != nil {
		return 0, nil, err
	}
	spec := GuildSpec{ID: c.srv.newID()}
	f.require("name")
	f.text("name", 2, 100, &spec.Name)
	if err := f.err(); err != nil {
		return 0, nil, err
	}
	g := newGuild(spec, c.bot.UserID)
	g.members[c.bot.UserID] = &Member{UserID: c.bot.UserID, JoinedAt: c.now}
	c.srv.guilds[g.ID] = g
	c.srv.gateway.joined(g, c.bot.UserID)
	c.srv.changed()
	return http.StatusCreated, g.wire(), nil
}

// deleteGuild is DELETE /guilds/{guild_id}, for the owner. On Discord bots own none any more (the answer is a guess).
func (c *call) deleteGuild() (int, any, error) {
	g, err := c.guild()
	if err != nil {
		return 0, nil, err
	}
	switch {
	case !c.srv.opts.AllowGuilds:
		return 0, nil, errBotsCannot
	case g.OwnerID != c.bot.UserID:
		return 0, nil, errPermissions
	}
	for id := range g.members {
		c.srv.gateway.left(g, id)
	}
	delete(c.srv.guilds, g.ID)
	c.srv.changed()
	return http.StatusNoContent, nil, nil
}

// getGuild is GET /guilds/{guild_id}.
func (c *call) getGuild() (int, any, error) {
	g, err := c.guild()
	if err != nil {
		return 0, nil, err
	}
	w := g.wire()
	if c.flag("with_counts") {
		w["approximate_member_count"], w["approximate_presence_count"] = len(g.members), 1
	}
	return http.StatusOK, w, nil
}

// locales are the languages that a guild may prefer.
var locales = []string{"ar", "bg", "cs", "da", "de", "el", "en-GB", "en-US", "es-419", "es-ES", "fi", "fr", "he", "hi", "hr", "hu", "id", "it", "ja",
	"ko", "lt", "nl", "no", "pl", "pt-BR", "ro", "ru", "sv-SE", "th", "tr", "uk", "vi", "zh-CN", "zh-TW"}

// mutableFeatures are the features that an edit may set; the others stay as they are.
var mutableFeatures = []string{"COMMUNITY", "DISCOVERABLE", "INVITES_DISABLED", "RAID_ALERTS_DISABLED"}

// editGuild is PATCH /guilds/{guild_id}.
func (c *call) editGuild() (int, any, error) {
	g, err := c.guildWith(PermManageGuild)
	if err != nil {
		return 0, nil, err
	}
	f, err := c.object()
	if err != nil {
		return 0, nil, err
	}
	after := g.Guild
	after.Features = slices.Clone(g.Features)
	readSettings(f, &after)
	g.readChannelSettings(f, &after)
	readImages(f, &after)
	readFeatures(f, &after)
	if err := f.err(); err != nil {
		return 0, nil, err
	}
	if err := c.mayCommunity(g, &after); err != nil {
		return 0, nil, err
	}
	for _, id := range []string{after.RulesChannelID, after.PublicUpdatesChannelID} {
		if ch := g.channels[id]; ch != nil && ch.Type != TypeText {
			return 0, nil, errCommunityText
		}
	}
	reason, err := c.reason()
	if err != nil {
		return 0, nil, err
	}
	c.srv.replaceGuild(g, after, c.bot.UserID, reason)
	return http.StatusOK, g.wire(), nil
}

// mayCommunity asks for what switching COMMUNITY on or off needs: an administrator, and, to switch it on, the two channels
// that such a guild has. (How Discord says that they are missing is a guess; that the guild needs a verification level and a
// filter too is not simulated.)
func (c *call) mayCommunity(g *guild, after *Guild) error {
	is := slices.Contains(after.Features, "COMMUNITY")
	if is == slices.Contains(g.Features, "COMMUNITY") {
		return nil
	}
	if err := c.may(g, g.guildPermissions(c.bot.UserID), PermAdministrator); err != nil {
		return err
	}
	f := &form{errs: &[]fieldError{}}
	for key, id := range map[string]string{"rules_channel_id": after.RulesChannelID, "public_updates_channel_id": after.PublicUpdatesChannelID} {
		if is && id == "" {
			f.fail(key, "BASE_TYPE_REQUIRED", "This field is required")
		}
	}
	return f.err()
}

// readSettings reads the plain settings.
func readSettings(f *form, g *Guild) {
	f.notNull("name")
	f.text("name", 2, 100, &g.Name)
	f.text("description", 0, 300, &g.Description)
	f.choice("verification_level", 0, &g.VerificationLevel, 0, 1, 2, 3, 4)
	f.choice("default_message_notifications", 0, &g.DefaultNotifications, 0, 1)
	f.choice("explicit_content_filter", 0, &g.ExplicitContentFilter, 0, 1, 2)
	f.choice("afk_timeout", 300, &g.AFKTimeout, 60, 300, 900, 1800, 3600)
	f.integer("system_channel_flags", 0, 63, 0, &g.SystemChannelFlags)
	locale := g.PreferredLocale
	f.text("preferred_locale", 0, 10, &locale)
	switch {
	case f.null("preferred_locale"):
		g.PreferredLocale = "en-US"
	case slices.Contains(locales, locale):
		g.PreferredLocale = locale
	default:
		f.fail("preferred_locale", "BASE_TYPE_CHOICES", "Value must be one of the available locales.")
	}
}

// readChannelSettings reads the settings that name a channel of the guild.
func (g *guild) readChannelSettings(f *form, after *Guild) {
	for key, to := range map[string]*string{
		"system_channel_id": &after.SystemChannelID, "afk_channel_id": &after.AFKChannelID, "rules_channel_id": &after.RulesChannelID,
		"public_updates_channel_id": &after.PublicUpdatesChannelID, "safety_alerts_channel_id": &after.SafetyAlertsChannelID,
	} {
		id := *to
		f.id(key, &id)
		ch := g.channels[id]
		switch {
		case id == *to || id == "":
			*to = id
		case ch == nil:
			f.fail(key, "CHANNEL_INVALID", "Channel does not exist")
		case key == "afk_channel_id" && ch.Type != TypeVoice, key == "system_channel_id" && !textLike(ch.Type):
			f.fail(key, "CHANNEL_INVALID_TYPE", "Channel has the wrong type")
		default:
			*to = id
		}
	}
}

// dataURI is how images come in.
var dataURI = regexp.MustCompile(`^data:image/(png|jpeg|gif);base64,(.+)$`)

// readImages reads icon, splash and banner; they read back as a hash only.
func readImages(f *form, g *Guild) {
	readImage(f, "icon", &g.Icon)
	readImage(f, "splash", &g.Splash)
	readImage(f, "banner", &g.Banner)
}

// readImage reads one image as a data URI, or null.
func readImage(f *form, key string, to *string) {
	if !f.given(key) {
		if f.null(key) {
			*to = ""
		}
		return
	}
	var uri string
	_ = json.Unmarshal(f.fields[key], &uri)
	m := dataURI.FindStringSubmatch(uri)
	if m == nil {
		f.fail(key, "IMAGE_INVALID", "Invalid image data")
		return
	}
	data, err := base64.StdEncoding.DecodeString(m[2])
	if err != nil {
		f.fail(key, "BINARY_TYPE_INVALID", "Invalid base64 data")
		return
	}
	sum := sha256.Sum256(data)
	*to = hex.EncodeToString(sum[:16])
}

// readFeatures replaces the features that may be changed.
func readFeatures(f *form, g *Guild) {
	if !f.given("features") {
		return
	}
	community := slices.Contains(g.Features, "COMMUNITY")
	g.Features = slices.DeleteFunc(g.Features, func(s string) bool {
		return slices.Contains(mutableFeatures, s) || s == "NEWS" && community // it comes and goes with COMMUNITY
	})
	for _, raw := range f.list("features", 1521) {
		var name string
		if json.Unmarshal(raw, &name) == nil && slices.Contains(mutableFeatures, name) && !slices.Contains(g.Features, name) {
			g.Features = append(g.Features, name)
		}
	}
}

// replaceGuild puts new settings in place, logs what differs and tells everybody.
func (s *Server) replaceGuild(g *guild, after Guild, user, reason string) {
	before := g.wire()
	g.Guild = after
	g.Features = withNews(g.Features)
	var changes []Change
	now := g.wire()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if !reflect.DeepEqual(before[key], now[key]) {
			changes = append(changes, Change{Key: key, Old: before[key], New: now[key]})
		}
	}
	if len(changes) == 0 {
		return
	}
	s.log(g, AuditEntry{Action: auditGuildUpdate, UserID: user, TargetID: g.ID, Reason: reason, Changes: changes})
	s.emit(g, "GUILD_UPDATE", g.wire())
	s.changed()
}
