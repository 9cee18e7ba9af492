// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
)

var locales = strings.Fields("ar bg cs da de el en-GB en-US es-419 es-ES fi fr he hi hr hu id it ja ko " +
	"lt nl no pl pt-BR ro ru sv-SE th tr uk vi zh-CN zh-TW")

// maxDescription is the schema's limit in characters.
const maxDescription = 300

func (e *exporter) serverEntry() entry {
	g, notes := e.guild, notes{}
	spec := v1alpha1.DiscordServerSpec{
		TokenSecretRef:       v1alpha1.TokenSecretReference{Name: e.o.tokenSecret},
		ServerID:             cmp.Or(e.o.copyTo, g.ID),
		VerificationLevel:    wordFor(&notes, "verificationLevel", resource.VerificationLevels, g.VerificationLevel),
		DefaultNotifications: wordFor(&notes, "defaultNotifications", resource.DefaultNotifications, g.DefaultNotifications),
		ExplicitContentFilter: wordFor(&notes, "explicitContentFilter", resource.ExplicitContentFilters,
			g.ExplicitContentFilter),
		AFKTimeout:     wordFor(&notes, "afkTimeout", resource.AFKTimeouts, g.AFKTimeout),
		DeletionPolicy: v1alpha1.DeletionPolicyRetain,
	}
	setOrOmit(&notes, "name", &spec.Name, g.Name, fits(g.Name, 2, discordclient.MaxNameLength),
		fmt.Sprintf("%q is not what the schema allows: 2 to 100 characters without white space around them", g.Name))
	setOrOmit(&notes, "description", &spec.Description, &g.Description, length(g.Description) <= maxDescription,
		"it is longer than 300 characters")
	setOrOmit(&notes, "preferredLocale", &spec.PreferredLocale, g.PreferredLocale,
		slices.Contains(locales, g.PreferredLocale),
		fmt.Sprintf("%q is not a language that the schema lists", g.PreferredLocale))
	if g.Icon != "" {
		notes.omit("icon", "Discord has a hash of it alone, "+g.Icon+"; the picture is at "+
			iconURL(e.bot.webURL, g.ID, g.Icon))
	}
	if g.AFKChannelID == "" {
		spec.AFKChannelID = &g.AFKChannelID
	}
	spec.AFKChannelRef = e.reference(&notes, "afkChannelRef", g.AFKChannelID)
	spec.SystemChannelRef = e.reference(&notes, "systemChannelRef", g.SystemChannelID)
	spec.RulesChannelRef = e.reference(&notes, "rulesChannelRef", g.RulesChannelID)
	spec.PublicUpdatesChannelRef = e.reference(&notes, "publicUpdatesChannelRef", g.PublicUpdatesChannelID)
	keepCommunity(&notes, &spec, &g)
	flags := resource.SystemChannelFlags.Words(g.SystemChannelFlags)
	spec.SystemChannelFlags = append([]v1alpha1.SystemChannelFlag{}, flags...)
	if missing := e.bot.permissions.Missing(discordclient.PermissionsOverwrites); missing != 0 {
		notes.add("The bot lacks %s, so not everything below can be kept as it is. "+
			"A user who may manage the server can grant them: %s",
			missing, discordclient.InviteURL(e.bot.webURL, e.bot.applicationID,
				discordclient.PermissionsOverwrites|e.bot.permissions, g.ID))
	}
	if e.webhooksUnread {
		notes.add("The bot may not see webhooks (it lacks ManageWebhooks), so none is here.")
	}
	if e.hiddenUnread {
		notes.add("Discord's Gateway could not be reached, which alone names the channels that the bot may not view. " +
			"If the server has any, they are not here.")
	}
	return entry{kind: kindServer, name: e.o.name, about: fmt.Sprintf("Server %q", g.Name), spec: spec, notes: notes}
}

// Source: https://discord.com/developers/docs/reference#image-formatting.
func iconURL(webURL, guildID, hash string) string {
	base := webURL
	if base == discordURL {
		base = "https://cdn.discordapp.com"
	}
	return base + "/icons/" + guildID + "/" + hash + ".png"
}

const discordURL = "https://discord.com"

func keepCommunity(notes *notes, spec *v1alpha1.DiscordServerSpec, g *discordclient.Guild) {
	if !g.IsCommunity() {
		return
	}
	filter := cmp.Or(spec.ExplicitContentFilter, v1alpha1.ExplicitContentFilterAllMembers)
	setOrOmit(notes, "community", &spec.Community, v1alpha1.CommunityEnabled,
		spec.RulesChannelRef != nil && spec.PublicUpdatesChannelRef != nil &&
			spec.VerificationLevel != v1alpha1.VerificationLevelNone && filter == v1alpha1.ExplicitContentFilterAllMembers,
		"it requires rulesChannelRef, publicUpdatesChannelRef, a verificationLevel and the explicitContentFilter AllMembers")
}

func (e *exporter) reference(notes *notes, field, id string) *v1alpha1.ChannelReference {
	if id == "" {
		return nil
	}
	for _, c := range e.channels {
		if c.ID != id {
			continue
		}
		if name, ok := e.names[c.ID]; ok && !e.disabled[c.ID] {
			return &v1alpha1.ChannelReference{Name: name}
		}
	}
	notes.omit(field, fmt.Sprintf("the channel %s has no object here", id))
	return nil
}

func wordFor[T ~string](notes *notes, field string, names resource.Enum[T], number int) T {
	name, ok := names[number]
	if !ok {
		notes.omit(field, fmt.Sprintf("Discord says %d, which this version of discord-operator does not know", number))
	}
	return name
}
