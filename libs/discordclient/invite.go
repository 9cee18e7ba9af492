// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"net/url"
	"strconv"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/permissions"
)

// What the bot needs: to manage channels and webhooks; to manage the guild's settings and to read
// the audit log too; and to set overwrites as well. Setting an overwrite also takes every
// permission that the overwrite mentions.
const (
	PermissionsCore       = permissions.ViewChannel | permissions.ManageChannels | permissions.ManageWebhooks // 536871952
	PermissionsGuild      = PermissionsCore | permissions.ManageGuild | permissions.ViewAuditLog              // 536872112
	PermissionsOverwrites = PermissionsGuild | permissions.ManageRoles                                        // 805307568
)

// ToManage is what a bot needs in a channel of a type to manage it. Where it may not connect to one in
// which members talk, it may not manage it either. Source:
// https://docs.discord.com/developers/topics/permissions#implicit-permissions.
func ToManage(t discordgo.ChannelType) permissions.Bits {
	const always = permissions.ViewChannel | permissions.ManageChannels
	if IsVoiceLike(t) {
		return always | permissions.Connect
	}
	return always
}

// InviteURL is where a user adds the bot of an application to a guild, with exactly the given
// permissions, below the web's address ([Client.WebURL]). guildID chooses the guild beforehand;
// empty leaves it to the user. Source:
// https://discord.com/developers/docs/topics/oauth2#bot-authorization-flow.
func InviteURL(web, applicationID string, wanted permissions.Bits, guildID string) string {
	query := url.Values{
		"client_id": {applicationID}, "scope": {"bot"}, "permissions": {strconv.FormatUint(uint64(wanted), 10)},
	}
	if guildID != "" {
		query.Set("guild_id", guildID)
		query.Set("disable_guild_select", "true")
	}
	return web + "/oauth2/authorize?" + query.Encode()
}
