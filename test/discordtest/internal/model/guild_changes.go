// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"reflect"
	"slices"
)

func newGuild(spec GuildSpec, owner string) *GuildState {
	return &GuildState{
		Guild: Guild{
			ID: spec.ID, Name: spec.Name, OwnerID: owner, Features: withNews(spec.Features), MFALevel: spec.MFALevel,
			AFKTimeout: 300, PreferredLocale: "en-US", DefaultNotifications: 0,
			Roles: []Role{{ID: spec.ID, Name: "@everyone", Permissions: permDefault}},
		},
		Channels: map[string]*Channel{}, Webhooks: map[string]*Webhook{},
		Messages: map[string][]*Message{}, Members: map[string]*Member{},
		channelLags: map[string]lag[Channel]{}, webhookLags: map[string]lag[Webhook]{}, settingsLags: map[string]lag[Guild]{},
	}
}

// AddGuild adds a guild without the app's default channels. The owner becomes its first member.
func (d *Discord) AddGuild(spec GuildSpec, owner string) *GuildState {
	g := newGuild(spec, owner)
	g.OverwritesInOrder = d.opts.Compatible
	g.Members[owner] = &Member{UserID: owner, JoinedAt: d.Clock.Now()}
	d.Guilds[g.ID] = g
	d.OnChange()
	return g
}

// RemoveGuild deletes a guild. Its connected bots get GUILD_DELETE.
func (d *Discord) RemoveGuild(g *GuildState) {
	for id := range g.Members {
		d.Events.Left(g, id)
	}
	delete(d.Guilds, g.ID)
	d.OnChange()
}

// GuildSpec describes a new guild.
type GuildSpec struct {
	// ID is the guild's id, a snowflake; default: a new one.
	ID string
	// OwnerID is the user who owns the guild; default: a new user.
	OwnerID string
	// Name has 2 to 100 characters; default "Test server".
	Name string
	// Features of the guild, such as COMMUNITY. COMMUNITY implies NEWS (announcement channels).
	Features []string
	// MFALevel 1 makes administrative calls require two-factor authentication of the bot's owner.
	MFALevel int
}

func withNews(features []string) []string {
	if slices.Contains(features, "COMMUNITY") && !slices.Contains(features, "NEWS") {
		return append(slices.Clone(features), "NEWS")
	}
	return append([]string{}, features...)
}

// ReplaceGuild sets a guild's settings. A change causes an audit log entry and GUILD_UPDATE.
func (d *Discord) ReplaceGuild(g *GuildState, after Guild, user, reason string) {
	before, was := g.Wire(), g.Guild
	g.Guild = after
	g.Features = withNews(g.Features)
	var changes []Change
	now := g.Wire()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if !reflect.DeepEqual(before[key], now[key]) {
			changes = append(changes, Change{Key: key, Old: before[key], New: now[key]})
		}
	}
	if len(changes) == 0 {
		return
	}
	wrote(d, g.settingsLags, g.ID, &was)
	d.Log(g, AuditEntry{Action: auditGuildUpdate, UserID: user, TargetID: g.ID, Reason: reason, Changes: changes})
	d.Emit(g, "GUILD_UPDATE", g.Wire())
	d.OnChange()
}
