// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
)

const (
	kindServer  = "DiscordServer"
	kindGroup   = "DiscordGroup"
	kindChannel = "DiscordChannel"
)

// exporter is what all entries of a document need.
type exporter struct {
	*server
	o *options
	// groups and texts are the names of the objects, by the id of their category or channel.
	groups, texts map[string]string
}

// manifests plans the document of a server. It is pure, and the same server gives the same
// document: in Discord's order, where channels outside of any category come first.
func manifests(s *server, o *options) *document {
	l := sorted(s.channels)
	e := &exporter{server: s, o: o}
	e.groups, e.texts = objectNames(o.name, l)
	d := &document{head: e.head(), namespace: o.namespace, leftOut: l.leftOut}
	d.entries = append(d.entries, e.serverEntry())
	for i, c := range l.texts[""] {
		d.entries = append(d.entries, e.channelEntry(c, nil, i))
	}
	for i, category := range l.categories {
		d.entries = append(d.entries, e.groupEntry(category, i))
		for j, c := range l.texts[category.ID] {
			d.entries = append(d.entries, e.channelEntry(c, category, j))
		}
	}
	return d
}

// layout is the channels of a server by what they become.
type layout struct {
	categories []*discordclient.Channel
	// texts are the text channels by the id of their category, "" for those outside of any.
	texts map[string][]*discordclient.Channel
	// leftOut describes all other channels.
	leftOut []string
}

// sorted returns the categories and the text channels by the id of their category, both in
// Discord's order, and describes all other channels.
func sorted(all []*discordclient.Channel) layout {
	var l layout
	parents := map[string]*discordclient.Channel{"": nil}
	all = slices.Clone(all)
	all = slices.DeleteFunc(all, func(c *discordclient.Channel) bool {
		if c.Hidden {
			l.leftOut = append(l.leftOut, fmt.Sprintf("%s channel %s: the bot may not view it; allow it ViewChannel there, "+
				"and run this again", strings.ToLower(c.TypeName()), c.ID))
		}
		return c.Hidden
	})
	for _, c := range all {
		if c.Type == discordgo.ChannelTypeGuildCategory {
			parents[c.ID] = c
			l.categories = append(l.categories, c)
		}
	}
	l.texts = map[string][]*discordclient.Channel{}
	for _, c := range all {
		_, known := parents[c.ParentID]
		switch c.Type {
		case discordgo.ChannelTypeGuildCategory:
		case discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews:
			if !known {
				l.leftOut = append(l.leftOut,
					fmt.Sprintf("%s: it was moved while the server was read; run this again", described(c)))
				continue
			}
			l.texts[c.ParentID] = append(l.texts[c.ParentID], c)
		default:
			l.leftOut = append(l.leftOut, described(c))
		}
	}
	discordclient.SortChannels(l.categories)
	for _, siblings := range l.texts {
		discordclient.SortChannels(siblings)
	}
	return l
}

// described is a channel's type, name and id. The name is quoted, since it may contain anything.
func described(c *discordclient.Channel) string {
	return fmt.Sprintf("%s channel %q (%s)", strings.ToLower(c.TypeName()), c.Name, c.ID)
}

// head explains the file and how to apply it.
func (e *exporter) head() []string {
	in := ""
	if e.o.namespace != "" {
		in = " --namespace=" + e.o.namespace
	}
	return []string{
		fmt.Sprintf("The Discord server %q (%s), exported by discord-operator.", e.guild.Name, e.guild.ID),
		"",
		"Applied unchanged, this changes nothing on Discord: every object adopts what exists already, and leaves it there " +
			"when the",
		"object is deleted (deletionPolicy: Retain). What you then edit here changes Discord. To apply it, with the bot's " +
			"token in a file TOKEN-FILE:",
		"",
		fmt.Sprintf("  kubectl create secret generic %s%s --from-file=token=TOKEN-FILE", e.o.tokenSecret, in),
		"  kubectl apply -f THIS-FILE",
		fmt.Sprintf("  kubectl wait%s --for=condition=Ready --timeout=2m discordservers,discordgroups,discordchannels --all",
			in),
		"",
		"The URL of each webhook is then in the Secret that spec.webhook.secretName names.",
	}
}
