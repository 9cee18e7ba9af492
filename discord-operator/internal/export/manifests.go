package export

import (
	"fmt"
	"strings"

	"jutsu.com/operators/libs/discordclient"
)

const (
	kindServer  = "DiscordServer"
	kindGroup   = "DiscordGroup"
	kindChannel = "DiscordChannel"
)

// exporter is what the parts of a document need of each other.
type exporter struct {
	*server
	o *options
	// groups and texts are the names of the objects, by the id of what they stand for.
	groups, texts map[string]string
}

// manifests decides what is printed for a server. It is pure, and the same server gives the same document: in the order of Discord,
// where channels outside of any category come first.
func manifests(s *server, o *options) *document {
	categories, texts, leftOut := sorted(s.channels)
	e := &exporter{server: s, o: o}
	e.groups, e.texts = objectNames(o.name, categories, texts)
	d := &document{head: e.head(), namespace: o.namespace, leftOut: leftOut}
	d.entries = append(d.entries, e.serverEntry())
	for i, c := range texts[""] {
		d.entries = append(d.entries, e.channelEntry(c, nil, i))
	}
	for i, category := range categories {
		d.entries = append(d.entries, e.groupEntry(category, i))
		for j, c := range texts[category.ID] {
			d.entries = append(d.entries, e.channelEntry(c, category, j))
		}
	}
	return d
}

// sorted returns the categories, the text channels by the id of their category, both as Discord shows them, and words for the rest.
func sorted(all []*discordclient.Channel) (categories []*discordclient.Channel, texts map[string][]*discordclient.Channel, leftOut []string) {
	parents := map[string]*discordclient.Channel{"": nil}
	for _, c := range all {
		if c.Type == discordclient.ChannelCategory {
			parents[c.ID] = c
			categories = append(categories, c)
		}
	}
	texts = map[string][]*discordclient.Channel{}
	for _, c := range all {
		_, known := parents[c.ParentID]
		switch c.Type {
		case discordclient.ChannelCategory:
		case discordclient.ChannelText, discordclient.ChannelAnnouncement:
			if !known {
				leftOut = append(leftOut, fmt.Sprintf("%s: it was moved while the server was read; run this again", described(c)))
				continue
			}
			texts[c.ParentID] = append(texts[c.ParentID], c)
		default:
			leftOut = append(leftOut, described(c))
		}
	}
	discordclient.SortChannels(categories)
	for _, siblings := range texts {
		discordclient.SortChannels(siblings)
	}
	return categories, texts, leftOut
}

// described names a channel for people. What it is called is quoted, since it may hold anything.
func described(c *discordclient.Channel) string {
	return fmt.Sprintf("%s channel %q (%s)", strings.ToLower(c.Type.String()), c.Name, c.ID)
}

// head says what the file is and what to do with it.
func (e *exporter) head() []string {
	in := ""
	if e.o.namespace != "" {
		in = " --namespace=" + e.o.namespace
	}
	return []string{
		fmt.Sprintf("The Discord server %q (%s), exported by discord-operator.", e.guild.Name, e.guild.ID),
		"",
		"Applied unchanged, this changes nothing on Discord: every object adopts what exists already, and leaves it there when the",
		"object is deleted (deletionPolicy: Retain). What you then edit here changes Discord. To apply it, with the bot's token in a file TOKEN-FILE:",
		"",
		fmt.Sprintf("  kubectl create secret generic %s%s --from-file=token=TOKEN-FILE", e.o.tokenSecret, in),
		"  kubectl apply -f THIS-FILE",
		fmt.Sprintf("  kubectl wait%s --for=condition=Ready --timeout=2m discordservers,discordgroups,discordchannels --all", in),
		"",
		"The URL of each webhook is then in the Secret that spec.webhook.secretName names.",
	}
}
