// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"cmp"
	"slices"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// maxChildren is Discord's limit of channels in a category. Source:
// https://discord.com/developers/docs/resources/channel
const maxChildren = 50

// Plan lists the calls for a channel and its webhook.
type Plan struct {
	lifecycle.Plan
	Webhook webhook.Plan
}

// NewPlan plans the calls that make the channel and its webhook match the spec.
func NewPlan(c *v1alpha1.DiscordChannel, s State) (p Plan) {
	p.Plan = planChannel(c, s)
	if s.Binding.Live != nil || p.Create != nil {
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
		in, changes := create(c, s, want)
		p.Changes = changes
		retains := grant.RetainRefused(s.Guild.Server, c.Namespace, c.Spec.DeletionPolicy)
		if !p.Report(retains) && !p.Report(refusedCreate(s, &in.ChannelCreate)) {
			p.Create = in
		}
		return p
	}
	edit, d := fields.Differ(desiredOf(c, s, want), s.live(), s.Binding.Stored)
	p.Changes = d.Changes
	p.Report(d.Issue())
	p.Edit, p.Fields = resource.ChannelEdit{ChannelEdit: edit}, d.Fields
	leaveOutRefused(&p, s)
	return p
}

// PlanDeletion plans the deletion of the channel. If the channel stays on Discord, the plan deletes
// at most the webhook: if ownsWebhook is true and no other object's status names the webhook.
func PlanDeletion(c *v1alpha1.DiscordChannel, s State, known []conditions.Issue) lifecycle.Plan {
	if len(known) == 0 && retained(c) && s.Binding.NoRetention == nil && ownsWebhook(c) && !s.WebhookShared {
		return lifecycle.Plan{Delete: &lifecycle.Deletion{
			By: webhook.Deleter{}, ID: c.Status.Webhook.ID, How: lifecycle.Retained,
		}}
	}
	return Kind.PlanDeletion(retained(c), s.Binding, known).
		Withhold(func() *conditions.Issue { return s.Guild.LacksToDelete(s.live(), Kind.Noun) })
}

// If the spec has no overwrites, the operator does not manage them, with one exception: if it created
// the channel without some overwrites of its category, it adds these.
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
		overwrites.WithRoleIDs(c.Spec.PermissionOverwrites, s.Roles, roles), s.live(), s.Guild.Snapshot, needed)
}

func create(
	c *v1alpha1.DiscordChannel, s State, want []discordclient.Overwrite,
) (*resource.ChannelCreate, []resource.Change) {
	t := channelTypes(c.Spec.Type)[0]
	s.Binding.Live = &discordclient.Channel{Type: t}
	in, changes := resource.NewChannelCreate(fields, desiredOf(c, s, want), s.live(), c.Spec.Name, want)
	if s.Position != nil {
		in.Position = s.Position.Initial(resource.Channels.Places(s.Guild.Snapshot, in.ParentID, t))
	}
	if t == discordgo.ChannelTypeGuildText {
		return in, changes
	}
	return in, slices.Insert(changes, 0, resource.Change{Field: "type", To: t})
}

func refusedCreate(s State, in *discordclient.ChannelCreate) *conditions.Issue {
	if full := cmp.Or(s.Guild.Full(), fullCategory(s)); full != nil {
		return full
	}
	if reserved := s.Guild.Reserved(nil, in.Overwrites); reserved != nil {
		return reserved
	}
	needed := discordclient.ToManage(in.Type) | overwrites.Changed(nil, in.Overwrites)
	if lacks := s.Guild.Lacks(needed, "which this channel requires"); lacks != nil {
		return lacks
	}
	if lacks := s.Guild.LacksInCategory(in.ParentID); lacks != nil {
		return lacks
	}
	bitrate, _ := in.Bitrate.Get()
	return cmp.Or(refusedType(s, in.Type), refusedBitrate(s, bitrate))
}

func fullCategory(s State) *conditions.Issue {
	if id := s.Binding.ParentID; id == "" || len(s.Guild.Snapshot.Children(id)) < maxChildren {
		return nil
	}
	return issues.Full("The category has %d channels, the most that Discord allows. Move or delete some.", maxChildren)
}

// Discord refuses an edit as a whole, so leaveOutRefused removes fields that Discord would refuse.
func leaveOutRefused(p *lifecycle.Plan, s State) {
	if len(p.Fields) == 0 {
		return
	}
	Kind.LeaveOutForbidden(p, func(e resource.Edit) *conditions.Issue {
		return s.Guild.LacksForEdit(s.live(), resource.EditOfChannel(e), Kind.Noun)
	})
	edit := resource.EditOfChannel(p.Edit)
	if to, ok := edit.Type.Get(); ok && p.Report(refusedType(s, to)) {
		Kind.LeaveOut(p, "type")
	}
	if to, ok := edit.Bitrate.Get(); ok && p.Report(refusedBitrate(s, to)) {
		Kind.LeaveOut(p, "bitrate")
	}
	if to, ok := edit.ParentID.Get(); ok && p.Report(cmp.Or(s.Guild.LacksInCategory(to), fullCategory(s))) {
		Kind.LeaveOut(p, "group")
	}
}
