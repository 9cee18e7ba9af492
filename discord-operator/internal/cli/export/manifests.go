// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/schema"
	"jutsu.com/operators/discord-operator/internal/controller/channel"
	"jutsu.com/operators/libs/discordclient"
)

const (
	kindServer  = "DiscordServer"
	kindGroup   = "DiscordGroup"
	kindChannel = "DiscordChannel"
	kindRole    = "DiscordRole"
)

type exporter struct {
	*server
	o                    *options
	groups, names, roles map[string]string // names of objects; the keys are ids of resources
	disabled             map[string]bool   // ids of resources whose objects are commented out
	refused              func(*unstructured.Unstructured) (field.ErrorList, error)
	err                  error
}

func manifests(ctx context.Context, kinds schema.Kinds, s *server, o *options) (*document, error) {
	l := sorted(s.channels)
	e := &exporter{server: s, o: o, disabled: map[string]bool{}}
	e.refused = func(o *unstructured.Unstructured) (field.ErrorList, error) { return kinds.Problems(ctx, o, nil) }
	e.groups, e.names = objectNames(o.name, l)
	roles, unmanaged := s.splitRoles()
	e.roles = roleNames(roles)
	d := &document{head: e.head(), namespace: o.namespace, leftOut: append(l.leftOut, unmanaged...)}
	d.copied = o.copyTo != ""
	var channels []entry // built first, because the server must not refer to disabled channels
	for i, c := range l.channels[""] {
		channels = append(channels, e.channelEntry(c, nil, i))
	}
	for i, category := range l.categories {
		channels = append(channels, e.groupEntry(category, i))
		for j, c := range l.channels[category.ID] {
			channels = append(channels, e.channelEntry(c, category, j))
		}
	}
	d.entries = append(d.entries, e.serverEntry())
	for i, r := range roles {
		d.entries = append(d.entries, e.roleEntry(r, i))
	}
	d.entries = append(d.entries, channels...)
	return d, e.err
}

type layout struct {
	categories []*discordclient.Channel
	channels   map[string][]*discordclient.Channel // the keys are ids of categories; "" for no category
	leftOut    []string                            // descriptions of all other channels
}

func sorted(all []*discordclient.Channel) layout {
	var l layout
	parents := map[string]*discordclient.Channel{"": nil}
	all = slices.Clone(all)
	all = slices.DeleteFunc(all, func(c *discordclient.Channel) bool {
		if c.Hidden {
			l.leftOut = append(l.leftOut, fmt.Sprintf("%s channel %s: the bot may not view it; allow the bot ViewChannel "+
				"in this channel, and run the command again", strings.ToLower(c.TypeName()), c.ID))
		}
		return c.Hidden
	})
	for _, c := range all {
		if c.Type == discordgo.ChannelTypeGuildCategory {
			parents[c.ID] = c
			l.categories = append(l.categories, c)
		}
	}
	l.channels = map[string][]*discordclient.Channel{}
	for _, c := range all {
		_, known := parents[c.ParentID]
		switch c.Type {
		case discordgo.ChannelTypeGuildCategory:
		default:
			if !known {
				l.leftOut = append(l.leftOut,
					fmt.Sprintf("%s: it was moved while the server was read; run the command again", described(c)))
				continue
			}
			if channel.TypeOf(c.Type) == "" {
				l.leftOut = append(l.leftOut, described(c)+": discord-operator does not manage channels of this type")
				continue
			}
			l.channels[c.ParentID] = append(l.channels[c.ParentID], c)
		}
	}
	discordclient.SortChannels(l.categories)
	for _, siblings := range l.channels {
		discordclient.SortChannels(siblings)
	}
	return l
}

func (e *exporter) adopt(id string) *v1alpha1.Adoption {
	if e.o.copyTo != "" {
		return nil
	}
	return &v1alpha1.Adoption{ID: id}
}

func (e *exporter) deletionPolicy() v1alpha1.DeletionPolicy {
	if e.o.copyTo != "" {
		return ""
	}
	return v1alpha1.DeletionPolicyRetain
}

// described names a channel in a comment. It quotes the name, which may contain line breaks.
func described(c *discordclient.Channel) string {
	return fmt.Sprintf("%s channel %q (%s)", strings.ToLower(c.TypeName()), c.Name, c.ID)
}

func (e *exporter) head() []string {
	in := ""
	if e.o.namespace != "" {
		in = " --namespace=" + e.o.namespace
	}
	effect := []string{
		"Applied unchanged, these manifests change nothing on Discord: every object adopts what exists, and Discord keeps " +
			"it when",
		"the object is deleted (deletionPolicy: Retain). If you edit the manifests and apply them again, Discord changes.",
		"To apply the manifests, write the bot's token into a file TOKEN-FILE:",
	}
	if e.o.copyTo != "" {
		effect = []string{
			fmt.Sprintf("If you apply these manifests, the server %s gets the settings of this server, and copies of",
				e.o.copyTo),
			"its channels and roles. Members, messages, emojis and roles of bots are not copied. The other channels and roles",
			fmt.Sprintf("of the server %s stay as they are.", e.o.copyTo),
			"To apply the manifests, write the bot's token into a file TOKEN-FILE:",
		}
	}
	return append(append([]string{
		fmt.Sprintf("The Discord server %q (%s), exported by discord-operator.", e.guild.Name, e.guild.ID),
		"",
	}, effect...),
		"",
		fmt.Sprintf("  kubectl create secret generic %s%s --from-file=token=TOKEN-FILE", e.o.tokenSecret, in),
		"  kubectl apply -f THIS-FILE",
		fmt.Sprintf("  kubectl wait%s --for=condition=Ready --timeout=2m "+
			"discordservers,discordroles,discordgroups,discordchannels --all", in),
		"",
		"The URL of each webhook is then in the Secret that spec.webhook.secretName names.",
	)
}
