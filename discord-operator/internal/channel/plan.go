// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"cmp"
	"slices"

	"github.com/bwmarrin/discordgo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/grant"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/discord-operator/internal/lifecycle"
	"jutsu.com/operators/discord-operator/internal/overwrites"
	"jutsu.com/operators/discord-operator/internal/resource"
	"jutsu.com/operators/discord-operator/internal/webhook"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// maxChildren is how many channels Discord allows in a category. Source:
// https://discord.com/developers/docs/resources/channel
const maxChildren = 50

// Plan is what has to be done about a channel and its webhook.
type Plan struct {
	lifecycle.Plan
	Webhook webhook.Plan
}

// NewPlan plans the channel and its webhook. It does no I/O.
func NewPlan(c *v1alpha1.DiscordChannel, s State) (p Plan) {
	p.Plan = planChannel(c, s)
	if s.Binding.Channel != nil || p.Create != nil {
		p.Webhook = webhook.NewPlan(c, s.Webhook)
	}
	return p
}

func planChannel(c *v1alpha1.DiscordChannel, s State) lifecycle.Plan {
	p := lifecycle.Plan{Position: s.Position}
	var err error
	if p.Roles, err = s.Names.Resolve(c.Spec.PermissionOverwrites, s.Guild.Snapshot); err != nil {
		p.Issues = conditions.Of(err)
		return p
	}
	want, err := desiredOverwrites(c, s, p.Roles)
	if err != nil {
		p.Issues = conditions.Of(err)
		return p
	}
	if s.Binding.Absent {
		in := create(c, s, want)
		p.Changes = settingsOf(c, s, in)
		retains := grant.RetainRefused(s.Guild.Server, c.Namespace, c.Spec.DeletionPolicy)
		if !p.Report(retains) && !p.Report(refusedCreate(s, in)) {
			p.Create = in
		}
		return p
	}
	edit, d := differences(c, s, want)
	p.Changes = d.Changes
	p.Report(d.Issue())
	p.Edit, p.Fields = edit, d.Fields
	leaveRefused(&p, s)
	return p
}

// PlanDeletion plans what becomes of the channel of a deleted object. A webhook goes with its
// channel, and is deleted on its own only where the channel stays.
func PlanDeletion(c *v1alpha1.DiscordChannel, s State, known []conditions.Issue) lifecycle.Plan {
	if len(known) == 0 && retained(c) && s.Binding.NoRetention == nil && ownsWebhook(c) {
		return lifecycle.Plan{Delete: &lifecycle.Deletion{Webhook: c.Status.Webhook.ID, How: lifecycle.Retained}}
	}
	p := lifecycle.PlanDeletion(Kind.Noun, retained(c), s.Binding, known)
	return p.WithholdDeletion(s.Guild, s.Binding.Channel, Kind.Noun)
}

// desiredOverwrites returns the overwrites that the spec asks for; nil where it has none. A new
// channel without any is to have those of its category.
func desiredOverwrites(
	c *v1alpha1.DiscordChannel, s State, roles []v1alpha1.ResolvedRole,
) ([]discordclient.Overwrite, error) {
	if c.Spec.PermissionOverwrites == nil {
		if category, ok := s.Guild.Snapshot.Channel(s.Binding.ParentID); ok && s.Binding.Inherits && !s.Binding.Absent {
			return category.Overwrites, nil
		}
		return nil, nil
	}
	needed := discordclient.ToManage(channelTypes(c.Spec.Type)[0])
	if c.Spec.Webhook != nil {
		needed |= permissions.ManageWebhooks
	}
	return overwrites.Resolve(
		overwrites.Named(c.Spec.PermissionOverwrites, s.Roles, roles), s.Binding.Channel, s.Guild.Snapshot, needed)
}

// create describes the channel with all that it is to have, so that a private one is never public.
func create(c *v1alpha1.DiscordChannel, s State, want []discordclient.Overwrite) *discordclient.ChannelCreate {
	spec, parentID := c.Spec, s.Binding.ParentID
	in := &discordclient.ChannelCreate{
		Name: spec.Name, Type: channelTypes(spec.Type)[0], Topic: ptr.Deref(spec.Topic, ""), ParentID: parentID,
		NSFW: ptr.Deref(spec.NSFW, false), Slowmode: ptr.Deref(seconds(spec.Slowmode), 0), Overwrites: want,
		DefaultAutoArchive: ptr.Deref(resource.AutoArchives.Number(spec.DefaultAutoArchive), 0),
	}
	createVoice(in, spec.Voice)
	createForum(in, spec.Forum)
	if s.Position != nil {
		in.Position = s.Position.First(alike(s.Guild.Snapshot, parentID, in.Type))
	}
	return in
}

// settingsOf are the fields of a channel that is to be created.
func settingsOf(c *v1alpha1.DiscordChannel, s State, in *discordclient.ChannelCreate) []lifecycle.Change {
	s.Binding.Channel, s.Binding.Stored = &discordclient.Channel{Type: in.Type}, nil
	_, d := differences(c, s, in.Overwrites)
	if in.Type == discordgo.ChannelTypeGuildText {
		return d.Changes
	}
	return slices.Insert(d.Changes, 0, lifecycle.Change{Field: "type", To: in.Type})
}

// refusedCreate is why Discord would refuse a create.
func refusedCreate(s State, in *discordclient.ChannelCreate) *conditions.Issue {
	if full := cmp.Or(s.Guild.Full(), fullCategory(s)); full != nil {
		return full
	}
	needed := discordclient.ToManage(in.Type) | overwrites.Changed(nil, in.Overwrites)
	if lacks := s.Guild.Lacks(needed, "which this channel requires"); lacks != nil {
		return lacks
	}
	if lacks := cmp.Or(s.Guild.LacksToOverwrite(nil, in.Overwrites), s.Guild.LacksInCategory(in.ParentID)); lacks != nil {
		return lacks
	}
	return cmp.Or(refusedType(s, in.Type), refusedBitrate(s, in.Bitrate))
}

func fullCategory(s State) *conditions.Issue {
	if id := s.Binding.ParentID; id == "" || len(s.Guild.Snapshot.Children(id)) < maxChildren {
		return nil
	}
	return issues.Full("The category has %d channels, the most that Discord allows. Move or delete some.", maxChildren)
}

// differences returns the edit that makes the channel match the spec, and how the two differ.
func differences(
	c *v1alpha1.DiscordChannel, s State, want []discordclient.Overwrite,
) (edit discordclient.ChannelEdit, d lifecycle.Differences) {
	live, spec, parentID := s.Binding.Channel, c.Spec, s.Binding.ParentID
	d.Stored = s.Binding.Stored
	if !discordclient.SameChannelName(live.Type, spec.Name, live.Name, "") {
		lifecycle.Differ(&d, "name", &spec.Name, live.Name, &edit.Name)
	}
	if spec.Type != "" {
		lifecycle.Differ(&d, "type", &channelTypes(spec.Type)[0], live.Type, &edit.Type)
	}
	lifecycle.Differ(&d, "topic", spec.Topic, live.Topic, &edit.Topic)
	lifecycle.Differ(&d, "nsfw", spec.NSFW, live.NSFW, &edit.NSFW)
	lifecycle.Differ(&d, "slowmode", seconds(spec.Slowmode), live.Slowmode, &edit.Slowmode)
	archive := resource.AutoArchives.Number(spec.DefaultAutoArchive)
	lifecycle.Differ(&d, "defaultAutoArchive", archive, live.DefaultAutoArchive, &edit.DefaultAutoArchive)
	lifecycle.Differ(&d, "group", &parentID, live.ParentID, &edit.ParentID)
	differVoice(&d, spec.Voice, live, &edit)
	differForum(&d, c, live, &edit)
	if want != nil && !overwrites.Same(live.Overwrites, want) {
		lifecycle.Differ(&d, "permissionOverwrites", &want, live.Overwrites, &edit.Overwrites)
	}
	return edit, d
}

// seconds are what Discord counts in; nil for no duration.
func seconds(d *metav1.Duration) *int {
	if d == nil {
		return nil
	}
	return new(int(d.Seconds()))
}

// leaveRefused leaves out of an edit what Discord would refuse, and reports why: Discord refuses an edit as
// a whole, and the overwrites that close a channel must get through.
func leaveRefused(p *lifecycle.Plan, s State) {
	if len(p.Fields) == 0 {
		return
	}
	p.ReportLack(s.Guild, s.Binding.Channel, Kind.Noun)
	if to, ok := p.Edit.Type.Get(); ok && p.Report(refusedType(s, to)) {
		p.Leave("type")
	}
	if to, ok := p.Edit.Bitrate.Get(); ok && p.Report(refusedBitrate(s, to)) {
		p.Leave("bitrate")
	}
	if to, ok := p.Edit.ParentID.Get(); ok && p.Report(cmp.Or(s.Guild.LacksInCategory(to), fullCategory(s))) {
		p.Leave("group")
	}
}
