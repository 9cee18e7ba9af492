// SPDX-License-Identifier: Apache-2.0

package overwrites

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// MaxOpenTo is the largest number of lines that OpenTo returns.
const MaxOpenTo = 32

// OpenTo returns who, besides the bot, may view a channel but not its category.
func OpenTo(channel, category *discordclient.Channel, snap *guildcache.Snapshot) (lines []string) {
	opens := func(memberID string, roles ...string) bool {
		base := snap.Guild.Permissions("", roles)
		may := func(c *discordclient.Channel) bool {
			return permissions.In(base, snap.Guild.ID, memberID, roles, c.Overwrites).Has(permissions.ViewChannel)
		}
		return may(channel) && !may(category)
	}
	if opens("") {
		return []string{"@everyone"}
	}
	for _, role := range snap.Guild.Roles {
		own := role.Tags.BotID != "" && role.Tags.BotID == snap.SelfID()
		if role.ID != snap.Guild.ID && !own && opens("", role.ID) {
			lines = append(lines, "role "+strconv.Quote(role.Name))
		}
	}
	for _, o := range slices.Concat(channel.Overwrites, category.Overwrites) {
		line := "user " + o.ID
		if o.Type == discordgo.PermissionOverwriteTypeMember && o.ID != snap.SelfID() && opens(o.ID) &&
			!slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if more := len(lines) - MaxOpenTo + 1; more > 1 {
		lines = append(lines[:MaxOpenTo-1], fmt.Sprintf("%d more", more))
	}
	return lines
}
