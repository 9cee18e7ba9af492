// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

const (
	// Limits of Discord. maxGuidelines is the topic of a forum, maxSlowmode is in seconds.
	maxTopic      = 1024
	maxGuidelines = 4096
	maxSlowmode   = 6 * 60 * 60
	maxWebhook    = 80
	// manage is needed in every channel and category.
	manage = permissions.ViewChannel | permissions.ManageChannels
)

func (e *exporter) groupEntry(c *discordclient.Channel, position int) entry {
	var notes notes
	result := entry{kind: kindGroup, name: e.groups[c.ID], about: fmt.Sprintf("Category %q", c.Name)}
	spec := v1alpha1.DiscordGroupSpec{
		ServerRef:      v1alpha1.ServerReference{Name: e.o.name},
		Name:           c.Name,
		Position:       new(int32(position)), //nolint:gosec // G115: Discord allows 500 channels
		Adopt:          e.adopt(c.ID),
		DeletionPolicy: e.deletionPolicy(),
	}
	spec.PermissionOverwrites, result.disabled = e.overwrites(&notes, c, manage)
	if why := refusal(c); why != "" {
		notes.disable(why)
		result.disabled, spec.Name = true, proposed(c)
	}
	result.spec, result.notes, e.disabled[c.ID] = spec, notes, result.disabled
	return result
}

func (e *exporter) channelEntry(c, category *discordclient.Channel, position int) entry {
	var notes notes
	result := entry{kind: kindChannel, name: e.names[c.ID], about: fmt.Sprintf("Channel %q", c.Name)}
	spec := v1alpha1.DiscordChannelSpec{
		Name:               c.Name,
		Type:               typeName(c.Type),
		NSFW:               &c.NSFW,
		DefaultAutoArchive: e.autoArchive(&notes, c),
		Position:           new(int32(position)), //nolint:gosec // G115: Discord allows 500 channels
		Webhook:            e.webhook(&notes, c),
		Adopt:              e.adopt(c.ID),
		DeletionPolicy:     e.deletionPolicy(),
	}
	if category != nil {
		spec.GroupRef = &v1alpha1.GroupReference{Name: e.groups[category.ID]}
		result.about += fmt.Sprintf(" in category %q", category.Name)
	} else {
		spec.ServerRef = &v1alpha1.ServerReference{Name: e.o.name}
	}
	describe(&notes, &spec, c)
	switch {
	case discordclient.IsVoiceLike(c.Type):
		spec.Voice = voice(&notes, c)
	case discordclient.IsForumLike(c.Type):
		spec.Forum = forum(&notes, c)
	}
	needed := discordclient.ToManage(c.Type)
	if spec.Webhook != nil {
		needed |= permissions.ManageWebhooks
	}
	spec.PermissionOverwrites, result.disabled = e.overwrites(&notes, c, needed)
	switch {
	case refusal(c) != "":
		notes.disable(refusal(c))
		result.disabled, spec.Name = true, proposed(c)
	case category != nil && e.disabled[category.ID]:
		notes.disable(fmt.Sprintf("its group %s is commented out, too.", e.groups[category.ID]))
		result.disabled = true
	}
	result.spec, result.notes, e.disabled[c.ID] = spec, notes, result.disabled
	return result
}

func describe(notes *notes, spec *v1alpha1.DiscordChannelSpec, c *discordclient.Channel) {
	longest := maxTopic
	if discordclient.IsForumLike(c.Type) {
		longest = maxGuidelines
	}
	if !discordclient.IsVoiceLike(c.Type) {
		setOrOmit(notes, "topic", &spec.Topic, &c.Topic, fits(c.Topic, 0, longest),
			fmt.Sprintf("the schema allows at most %d characters without white space around them", longest))
	}
	setOrOmit(notes, "slowmode", &spec.Slowmode, &metav1.Duration{Duration: time.Duration(c.Slowmode) * time.Second},
		c.Slowmode >= 0 && c.Slowmode <= maxSlowmode,
		fmt.Sprintf("%d seconds are more than the 6 hours that the schema allows", c.Slowmode))
}

func (e *exporter) autoArchive(notes *notes, c *discordclient.Channel) v1alpha1.AutoArchive {
	if c.DefaultAutoArchive == 0 || discordclient.IsVoiceLike(c.Type) {
		return ""
	}
	return wordFor(notes, "defaultAutoArchive", resource.AutoArchives, c.DefaultAutoArchive)
}

// webhook returns the bot's oldest webhook in a channel, which the operator uses too.
func (e *exporter) webhook(notes *notes, c *discordclient.Channel) *v1alpha1.ChannelWebhook {
	var oldest *discordclient.Webhook
	count := 0
	for i, w := range e.webhooks {
		if discordclient.IsForumLike(c.Type) {
			break // the schema allows none
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
	lower := strings.ToLower(oldest.Name)
	if !fits(oldest.Name, 1, maxWebhook) || strings.Contains(lower, "discord") || strings.Contains(lower, "clyde") {
		notes.omit("webhook", fmt.Sprintf("the schema does not allow the name %q", oldest.Name))
		return nil
	}
	if count > 1 {
		notes.add("The bot has %d webhooks in this channel. The oldest is here; the operator does not manage the others.",
			count)
	}
	return &v1alpha1.ChannelWebhook{Name: oldest.Name, SecretName: e.names[c.ID] + "-webhook"}
}

func refusal(c *discordclient.Channel) string {
	if storable(c.Type, c.Name) {
		return ""
	}
	return fmt.Sprintf("Discord no longer allows the name %q. Rename it there, to %q for example, and run this again; "+
		"or remove the comment signs, and the operator renames it.", c.Name, proposed(c))
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
