// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/channel"
	"jutsu.com/operators/discord-operator/internal/controller/group"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

const manage = permissions.ViewChannel | permissions.ManageChannels

func (e *exporter) groupEntry(c *discordclient.Channel, position int) entry {
	result := entry{kind: kindGroup, name: e.groups[c.ID], about: fmt.Sprintf("Category %q", c.Name)}
	spec, omitted := group.SpecOf(c)
	result.notes.omitAll(omitted)
	spec.ServerRef = v1alpha1.ServerReference{Name: e.o.name}
	spec.Position = new(int32(position)) //nolint:gosec // G115: Discord allows 500 channels
	spec.Adopt, spec.DeletionPolicy = e.adopt(c.ID), e.deletionPolicy()
	spec.PermissionOverwrites, result.disabled = e.overwrites(&result.notes, c, manage)
	if why := refusal(c); why != "" {
		result.disable(why)
		spec.Name = proposed(c)
	}
	result.spec = spec
	e.fit(&result, group.Kind.Fields)
	e.disabled[c.ID] = result.disabled
	return result
}

func (e *exporter) channelEntry(c, category *discordclient.Channel, position int) entry {
	result := entry{kind: kindChannel, name: e.names[c.ID], about: fmt.Sprintf("Channel %q", c.Name)}
	spec, omitted := channel.SpecOf(c)
	result.notes.omitAll(omitted)
	spec.Position = new(int32(position)) //nolint:gosec // G115: Discord allows 500 channels
	spec.Adopt, spec.DeletionPolicy = e.adopt(c.ID), e.deletionPolicy()
	if category != nil {
		spec.GroupRef = &v1alpha1.GroupReference{Name: e.groups[category.ID]}
		result.about += fmt.Sprintf(" in category %q", category.Name)
	} else {
		spec.ServerRef = &v1alpha1.ServerReference{Name: e.o.name}
	}
	needed := discordclient.ToManage(c.Type)
	if spec.Webhook = e.webhook(&result.notes, c); spec.Webhook != nil {
		needed |= permissions.ManageWebhooks
	}
	spec.PermissionOverwrites, result.disabled = e.overwrites(&result.notes, c, needed)
	switch {
	case refusal(c) != "":
		result.disable(refusal(c))
		spec.Name = proposed(c)
	case category != nil && e.disabled[category.ID]:
		result.disable(fmt.Sprintf("its group %q is commented out, too.", e.groups[category.ID]))
	}
	result.spec = spec
	e.fit(&result, slices.Concat(channel.Kind.Fields, resource.Rows{{Path: "webhook"}}))
	e.disabled[c.ID] = result.disabled
	return result
}

// webhook exports the bot's oldest webhook in a channel, because the operator uses the oldest.
func (e *exporter) webhook(notes *notes, c *discordclient.Channel) *v1alpha1.ChannelWebhook {
	var oldest *discordclient.Webhook
	count := 0
	for i, w := range e.webhooks {
		if discordclient.IsForumLike(c.Type) {
			break // the schema allows no webhook in a forum
		}
		own := w.Type == discordgo.WebhookTypeIncoming && w.ApplicationID == e.bot.applicationID && !w.Token.IsZero()
		if !own || w.ChannelID != c.ID {
			continue
		}
		count++
		if oldest == nil || discordclient.CompareIDs(w.ID, oldest.ID) < 0 {
			oldest = &e.webhooks[i]
		}
	}
	if oldest == nil {
		return nil
	}
	if count > 1 {
		notes.add("The bot has %d webhooks in this channel. The oldest is in this manifest; the operator does "+
			"not manage the others.", count)
	}
	return &v1alpha1.ChannelWebhook{Name: oldest.Name, SecretName: e.names[c.ID] + "-webhook"}
}

func refusal(c *discordclient.Channel) string {
	if storable(c.Type, c.Name) {
		return ""
	}
	return fmt.Sprintf("Discord no longer allows the name %q. Change the name on Discord, for example to %q, and run "+
		"the command again; or uncomment this manifest, and the operator changes the name.", c.Name, proposed(c))
}

func storable(t discordgo.ChannelType, name string) bool {
	if t == discordgo.ChannelTypeGuildCategory || discordclient.IsVoiceLike(t) {
		return fits(name, 1, discordclient.MaxNameLength)
	}
	return fits(name, 1, discordclient.MaxNameLength) && !strings.ContainsFunc(name, unicode.IsControl) &&
		discordclient.NormaliseChannelName(t, name) == name
}

func proposed(c *discordclient.Channel) string {
	for _, name := range []string{c.Name, stem(c.Name)} {
		if name = discordclient.NormaliseChannelName(c.Type, name); storable(c.Type, name) {
			return name
		}
	}
	return "channel-" + c.ID
}

func fits(text string, least, most int) bool {
	return strings.TrimSpace(text) == text && length(text) >= least && length(text) <= most
}

func length(text string) int { return utf8.RuneCountInString(text) }
