package server

import (
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// steps are what has to be done about a server; a zero field is nothing to do.
type steps struct {
	create bool
	edit   discordclient.GuildEdit
	fields []string // that the edit changes
	// verdict keeps the server from being as the spec says. Unless usable, groups and channels wait.
	verdict error
	usable  bool
}

// plan decides what has to be done. It does no I/O.
func plan(s *v1alpha1.DiscordServer, seen *observed) steps {
	if seen.create {
		return steps{create: true}
	}
	switch {
	case seen.snap.Presence == guildcache.PresenceAbsent:
		return steps{verdict: conditions.Degraded(v1alpha1.ReasonBotNotInServer,
			"The bot %q is not a member of server %s, or the server does not exist. A user who may manage the server can add it: %s",
			seen.application.Name, seen.guildID, inviteURL(seen))}
	case seen.manager != nil && seen.manager.UID != s.UID:
		return steps{verdict: conditions.Degraded(v1alpha1.ReasonConflict,
			"Server %s is already managed by DiscordServer %s. Delete one of the two objects.",
			seen.guildID, nameOf(seen.manager))}
	}
	have, exact := seen.snap.BotPermissions()
	if exact && have.Missing(essential) != 0 {
		return steps{verdict: issues.Lacking(have.Missing(essential).Names(), "without which it cannot manage the server", inviteURL(seen))}
	}
	result := steps{usable: true}
	result.edit, result.fields, result.verdict = differences(s, seen)
	if needed := required(seen, len(result.fields) > 0 || managed(s)); exact && have.Missing(needed) != 0 {
		lacking := issues.Lacking(have.Missing(needed).Names(), "which this server's settings, groups and channels require", inviteURL(seen))
		result.verdict = issues.Graver(lacking, result.verdict)
	}
	if exact && !have.Has(permissions.ManageGuild) {
		result.edit, result.fields = discordclient.GuildEdit{}, nil
	}
	return result
}

// essential is what the bot cannot do without.
const essential = permissions.ViewChannel | permissions.ManageChannels

// required is what the bot needs for what the server, its groups and its channels ask for. The audit log is what lost creates are found by.
func required(seen *observed, settings bool) permissions.Bits {
	mentioned, overwritten, hooks := seen.mentioned()
	needed := essential | permissions.ViewAuditLog | mentioned
	if settings {
		needed |= permissions.ManageGuild
	}
	if overwritten {
		needed |= permissions.ManageRoles
	}
	if hooks {
		needed |= permissions.ManageWebhooks
	}
	return needed
}

// inviteURL asks for everything that the operator may ever need, and for what the overwrites mention.
func inviteURL(seen *observed) string {
	mentioned, _, _ := seen.mentioned()
	return discordclient.InviteURL(seen.application.ID, discordclient.PermissionsOverwrites|mentioned, seen.guildID)
}

// managed reports whether the spec names any setting.
func managed(s *v1alpha1.DiscordServer) bool {
	spec := s.Spec
	return spec.Name != "" || spec.Description != nil || spec.VerificationLevel != "" || spec.DefaultNotifications != "" || spec.ExplicitContentFilter != "" ||
		spec.PreferredLocale != "" || spec.AFKChannelID != nil || spec.AFKTimeout != "" || spec.SystemChannelRef != nil
}

var (
	verificationLevels = map[v1alpha1.VerificationLevel]int{
		v1alpha1.VerificationLevelNone: 0, v1alpha1.VerificationLevelLow: 1, v1alpha1.VerificationLevelMedium: 2,
		v1alpha1.VerificationLevelHigh: 3, v1alpha1.VerificationLevelVeryHigh: 4,
	}
	notifications  = map[v1alpha1.DefaultNotifications]int{v1alpha1.DefaultNotificationsAllMessages: 0, v1alpha1.DefaultNotificationsOnlyMentions: 1}
	contentFilters = map[v1alpha1.ExplicitContentFilter]int{
		v1alpha1.ExplicitContentFilterDisabled: 0, v1alpha1.ExplicitContentFilterMembersWithoutRoles: 1, v1alpha1.ExplicitContentFilterAllMembers: 2,
	}
	timeouts = map[v1alpha1.AFKTimeout]int{"1m": 60, "5m": 300, "15m": 900, "30m": 1800, "1h": 3600}
)

// differences returns the edit that makes the settings of the spec true, and the names of the fields that it changes. What the spec leaves out
// is not looked at. The error says what a setting waits for.
func differences(s *v1alpha1.DiscordServer, seen *observed) (edit discordclient.GuildEdit, fields []string, err error) {
	live, spec := seen.snap.Guild, s.Spec
	text := func(field string, want *string, have string, change *discordclient.Change[string]) {
		if want == nil || *want == have {
			return
		}
		fields = append(fields, field)
		if *change = discordclient.Set(*want); *want == "" {
			*change = discordclient.Clear[string]()
		}
	}
	number := func(field string, want int, asked bool, have int, change *discordclient.Change[int]) {
		if asked && want != have {
			fields = append(fields, field)
			*change = discordclient.Set(want)
		}
	}
	text("name", notEmpty(spec.Name), live.Name, &edit.Name)
	text("description", spec.Description, live.Description, &edit.Description)
	number("verificationLevel", verificationLevels[spec.VerificationLevel], spec.VerificationLevel != "", live.VerificationLevel, &edit.VerificationLevel)
	number("defaultNotifications", notifications[spec.DefaultNotifications], spec.DefaultNotifications != "",
		live.DefaultNotifications, &edit.DefaultNotifications)
	number("explicitContentFilter", contentFilters[spec.ExplicitContentFilter], spec.ExplicitContentFilter != "",
		live.ExplicitContentFilter, &edit.ExplicitContentFilter)
	text("preferredLocale", notEmpty(spec.PreferredLocale), live.PreferredLocale, &edit.PreferredLocale)
	text("afkChannelId", spec.AFKChannelID, live.AFKChannelID, &edit.AFKChannelID)
	number("afkTimeout", timeouts[spec.AFKTimeout], spec.AFKTimeout != "", live.AFKTimeout, &edit.AFKTimeout)
	if spec.SystemChannelRef != nil {
		id, waits := systemChannel(s, seen)
		if err = waits; err == nil {
			text("systemChannelRef", &id, live.SystemChannelID, &edit.SystemChannelID)
		}
	}
	return edit, fields, err
}

// systemChannel returns the id of the channel that spec.systemChannelRef names.
func systemChannel(s *v1alpha1.DiscordServer, seen *observed) (string, error) {
	c := seen.systemChannel
	if c != nil && c.Status.ServerID == seen.guildID {
		if _, exists := seen.snap.Channel(c.Status.ChannelID); exists {
			return c.Status.ChannelID, nil
		}
	}
	return "", conditions.Progressing(v1alpha1.ReasonWaitingForChannel,
		"DiscordChannel %s of spec.systemChannelRef does not exist in this server yet.", s.Spec.SystemChannelRef.Name)
}

func notEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
