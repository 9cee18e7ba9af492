// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"net/url"
	"strconv"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/permissions"
)

// PermissionsCore suffices for channels and webhooks, PermissionsGuild also for guild settings,
// PermissionsOverwrites also for roles and overwrites. To set an overwrite, the bot also needs each
// permission in the overwrite.
const (
	PermissionsCore       = permissions.ViewChannel | permissions.ManageChannels | permissions.ManageWebhooks // 536871952
	PermissionsGuild      = PermissionsCore | permissions.ManageGuild | permissions.ViewAuditLog              // 536872112
	PermissionsOverwrites = PermissionsGuild | permissions.ManageRoles                                        // 805307568
)

// ToManage returns the permissions to manage a channel of a type. Without Connect, Discord refuses
// changes of a voice or stage channel. Source:
// https://docs.discord.com/developers/topics/permissions#implicit-permissions.
func ToManage(t discordgo.ChannelType) permissions.Bits {
	const always = permissions.ViewChannel | permissions.ManageChannels
	if IsVoiceLike(t) {
		return always | permissions.Connect
	}
	return always
}

// InviteURL returns the page that adds the bot to a guild with exactly these permissions. web is
// [Client.WebURL]. A guildID that is not empty fixes the guild. Source:
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

// ChangeInvite returns invite, an [InviteURL], with the permissions that change returns. asked are
// the permissions in invite. ChangeInvite returns an error if invite is no URL.
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
