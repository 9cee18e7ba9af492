package discordclient

import (
	"cmp"
	"net/url"
	"slices"

	"jutsu.com/operators/libs/discordclient/permissions"
)

// Discord's objects, as far as this package has a use for them, so that a change of anything else in them cannot break their reading. discordgo's own
// types have every field that there is.

// wireChannel is a channel as Discord sends it.
type wireChannel struct {
	ID                 string       `json:"id"`
	GuildID            string       `json:"guild_id"`
	Type               ChannelType  `json:"type"`
	Name               string       `json:"name"`
	Topic              string       `json:"topic"`
	ParentID           string       `json:"parent_id"`
	Position           int          `json:"position"`
	NSFW               bool         `json:"nsfw"`
	Slowmode           int          `json:"rate_limit_per_user"`
	DefaultAutoArchive int          `json:"default_auto_archive_duration"`
	Overwrites         []*Overwrite `json:"permission_overwrites"`
}

// wireRole is a role as Discord sends it.
type wireRole struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Position    int              `json:"position"`
	Permissions permissions.Bits `json:"permissions"`
	Managed     bool             `json:"managed"`
	Tags        struct {
		BotID string `json:"bot_id"`
	} `json:"tags"`
}

// wireWebhook is a webhook as Discord sends it.
type wireWebhook struct {
	ID            string      `json:"id"`
	Type          WebhookType `json:"type"`
	GuildID       string      `json:"guild_id"`
	ChannelID     string      `json:"channel_id"`
	Name          string      `json:"name"`
	ApplicationID string      `json:"application_id"`
	Token         string      `json:"token"`
}

// wireAuditEntry is an entry of the audit log as Discord sends it.
type wireAuditEntry struct {
	ID         string      `json:"id"`
	ActionType AuditAction `json:"action_type"`
	TargetID   string      `json:"target_id"`
	UserID     string      `json:"user_id"`
	Reason     string      `json:"reason"`
}

// wireGuild is a guild as REST and the Gateway send it.
type wireGuild struct {
	ID                     string        `json:"id"`
	Name                   string        `json:"name"`
	Description            string        `json:"description"`
	OwnerID                string        `json:"owner_id"`
	Icon                   string        `json:"icon"`
	VerificationLevel      int           `json:"verification_level"`
	DefaultNotifications   int           `json:"default_message_notifications"`
	ExplicitContentFilter  int           `json:"explicit_content_filter"`
	PreferredLocale        string        `json:"preferred_locale"`
	AFKChannelID           string        `json:"afk_channel_id"`
	AFKTimeout             int           `json:"afk_timeout"`
	SystemChannelID        string        `json:"system_channel_id"`
	SystemChannelFlags     int           `json:"system_channel_flags"`
	RulesChannelID         string        `json:"rules_channel_id"`
	PublicUpdatesChannelID string        `json:"public_updates_channel_id"`
	SafetyAlertsChannelID  string        `json:"safety_alerts_channel_id"`
	Features               []string      `json:"features"`
	Roles                  []wireRole    `json:"roles"`
	Channels               []wireChannel `json:"channels"`    // GUILD_CREATE only
	Members                []wireMember  `json:"members"`     // GUILD_CREATE only: without privileged intents the bot itself
	Unavailable            *bool         `json:"unavailable"` // absent from GUILD_DELETE: the bot was removed
}

// wireMember is what is used of a member.
type wireMember struct {
	GuildID string   `json:"guild_id"`
	Roles   []string `json:"roles"`
	User    struct {
		ID string `json:"id"`
	} `json:"user"`
}

// channelOf turns a channel into ours. The Gateway leaves the guild's id out of a guild's own channels.
func channelOf(w *wireChannel, guildID string) *Channel {
	c := &Channel{
		ID: w.ID, GuildID: cmp.Or(w.GuildID, guildID), Type: w.Type, Name: w.Name, Topic: w.Topic,
		ParentID: w.ParentID, Position: w.Position, NSFW: w.NSFW, Slowmode: w.Slowmode,
		DefaultAutoArchive: w.DefaultAutoArchive,
	}
	for _, o := range w.Overwrites {
		if o != nil {
			c.Overwrites = append(c.Overwrites, *o)
		}
	}
	sortOverwrites(c.Overwrites)
	return c
}

func sortOverwrites(list []Overwrite) {
	slices.SortFunc(list, func(a, b Overwrite) int { return CompareIDs(a.ID, b.ID) })
}

// isThread reports the channel types that are not channels of their own.
func isThread(t ChannelType) bool { return t >= 10 && t <= 12 }

// channelsOf turns a list into ours, in the order of their ids.
func channelsOf(list []wireChannel, guildID string) []*Channel {
	channels := make([]*Channel, 0, len(list))
	for i := range list {
		if list[i].ID != "" && !isThread(list[i].Type) {
			channels = append(channels, channelOf(&list[i], guildID))
		}
	}
	slices.SortFunc(channels, func(a, b *Channel) int { return CompareIDs(a.ID, b.ID) })
	return channels
}

func roleOf(w *wireRole) Role {
	return Role{
		ID: w.ID, Name: w.Name, Position: w.Position, Permissions: w.Permissions,
		Managed: w.Managed, BotID: w.Tags.BotID,
	}
}

// rolesOf turns a list into ours, in the order of their ids.
func rolesOf(list []wireRole) []Role {
	roles := make([]Role, 0, len(list))
	for i := range list {
		roles = append(roles, roleOf(&list[i]))
	}
	slices.SortFunc(roles, func(a, b Role) int { return CompareIDs(a.ID, b.ID) })
	return roles
}

func guildOf(w *wireGuild) Guild {
	features := slices.Clone(w.Features)
	slices.Sort(features)
	return Guild{
		ID: w.ID, Name: w.Name, Description: w.Description, OwnerID: w.OwnerID, Icon: w.Icon,
		VerificationLevel: w.VerificationLevel, DefaultNotifications: w.DefaultNotifications,
		ExplicitContentFilter: w.ExplicitContentFilter, PreferredLocale: w.PreferredLocale,
		AFKChannelID: w.AFKChannelID, AFKTimeout: w.AFKTimeout,
		SystemChannelID: w.SystemChannelID, SystemChannelFlags: w.SystemChannelFlags,
		RulesChannelID: w.RulesChannelID, PublicUpdatesChannelID: w.PublicUpdatesChannelID,
		SafetyAlertsChannelID: w.SafetyAlertsChannelID, Features: features, Roles: rolesOf(w.Roles),
	}
}

// webhookOf turns a webhook into ours. Its URL is built from the configured API address and not taken from the answer,
// so that it cannot point anywhere else.
func (r *rest) webhookOf(w *wireWebhook) Webhook {
	hook := Webhook{
		ID: w.ID, Type: w.Type, GuildID: w.GuildID, ChannelID: w.ChannelID, Name: w.Name,
		ApplicationID: w.ApplicationID, Token: NewSecret(w.Token),
	}
	if w.Token != "" {
		hook.URL = NewSecret(r.webhookBase + "/webhooks/" + url.PathEscape(w.ID) + "/" + url.PathEscape(w.Token))
	}
	return hook
}
