// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"net/url"
	"strconv"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/permissions"
)

// PermissionsCore suffices for channels and webhooks, PermissionsGuild also for guild settings,
// PermissionsOverwrites also for roles and overwrites (plus each permission in an overwrite).
const (
	PermissionsCore       = permissions.ViewChannel | permissions.ManageChannels | permissions.ManageWebhooks // 536871952
	PermissionsGuild      = PermissionsCore | permissions.ManageGuild | permissions.ViewAuditLog              // 536872112
	PermissionsOverwrites = PermissionsGuild | permissions.ManageRoles                                        // 805307568
)

// ToManage returns the permissions to manage a channel. Voice and stage channels need Connect:
// https://docs.discord.com/developers/topics/permissions#implicit-permissions.
func ToManage(t discordgo.ChannelType) permissions.Bits {
	const always = permissions.ViewChannel | permissions.ManageChannels
	if IsVoiceLike(t) {
		return always | permissions.Connect
	}
	return always
}

// InviteURL returns the page that adds the bot to a guild with these permissions. web is
// [Client.WebURL]. An empty guildID lets the user choose the guild. Source:
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

// ChangeInvite replaces the permissions in an [InviteURL] by the result of change.
func ChangeInvite(invite string, change func(asked permissions.Bits) permissions.Bits) (string, error) {
	link, err := url.Parse(invite)
	if err != nil {
		return "", err
	}
	query := link.Query()
	asked, _ := strconv.ParseUint(query.Get("permissions"), 10, 64)
	query.Set("permissions", strconv.FormatUint(uint64(change(permissions.Bits(asked))), 10))
	link.RawQuery = query.Encode()
	return link.String(), nil
}
