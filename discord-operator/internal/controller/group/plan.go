// SPDX-License-Identifier: Apache-2.0

package group

import (
	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// maxCategories is a limit that users report, but that Discord does not document.
const maxCategories = 50

const manage = permissions.ViewChannel | permissions.ManageChannels

// NewPlan compares the spec with the observed category, and plans its create or edit.
func NewPlan(g *v1alpha1.DiscordGroup, s State) lifecycle.Plan {
	p := planCategory(g, s)
	p.Report(s.Selector)
	return p
}

func planCategory(g *v1alpha1.DiscordGroup, s State) lifecycle.Plan {
	p := lifecycle.Plan{Position: s.Position}
	var want []discordclient.Overwrite
	var err error
	if p.Roles, err = s.Names.Resolve(g.Spec.PermissionOverwrites, s.Guild.Snapshot); err != nil {
		p.Issues = conditions.Of(err)
		return p
	}
	if g.Spec.PermissionOverwrites != nil {
		want, err = overwrites.Resolve(
			overwrites.WithRoleIDs(g.Spec.PermissionOverwrites, s.Roles, p.Roles), s.live(), s.Guild.Snapshot, manage)
		if err != nil {
			p.Issues = conditions.Of(err)
			return p
		}
	}
	if s.Binding.Absent {
		in, changes := create(g, s, want)
		p.Changes = changes
		retains := grant.RetainRefused(s.Guild.Server, g.Namespace, g.Spec.DeletionPolicy)
		if !p.Report(retains) && !p.Report(refusedCreate(s, want)) {
			p.Create = in
		}
		return p
	}
	edit, d := fields.Differ(desired{g.Spec.Name, want, s.live()}, s.live(), s.Binding.Stored)
	p.Changes = d.Changes
	p.Report(d.Issue())
	if p.Edit, p.Fields = (resource.ChannelEdit{ChannelEdit: edit}), d.Fields; len(d.Fields) > 0 {
		Kind.LeaveOutForbidden(&p, func(e resource.Edit) *conditions.Issue {
			return s.Guild.LacksForEdit(s.live(), resource.EditOfChannel(e), Kind.Noun)
		})
	}
	return p
}

func create(
	g *v1alpha1.DiscordGroup, s State, want []discordclient.Overwrite,
) (*resource.ChannelCreate, []resource.Change) {
	blank := &discordclient.Channel{Type: discordgo.ChannelTypeGuildCategory}
	in, changes := resource.NewChannelCreate(fields, desired{g.Spec.Name, want, blank}, blank, g.Spec.Name, want)
	if s.Position != nil {
		in.Position = s.Position.Initial(resource.Categories.Places(s.Guild.Snapshot, "", blank.Type))
	}
	return in, changes
}

func refusedCreate(s State, want []discordclient.Overwrite) *conditions.Issue {
	if full := s.Guild.Full(); full != nil {
		return full
	}
	if s.Guild.Categories() >= maxCategories {
		return issues.Full("The server has %d categories, the most that Discord allows. Delete some.", maxCategories)
	}
	if reserved := s.Guild.Reserved(nil, want); reserved != nil {
		return reserved
	}
	return s.Guild.Lacks(manage|overwrites.Changed(nil, want), "which this group requires")
}

// PlanDeletion plans the deletion of the category.
func PlanDeletion(g *v1alpha1.DiscordGroup, s State, known []conditions.Issue) lifecycle.Plan {
	return Kind.PlanDeletion(retained(g), s.Binding, known).
		Withhold(func() *conditions.Issue { return s.Guild.LacksToDelete(s.live(), Kind.Noun) })
}

type desired struct {
	name       string
	overwrites []discordclient.Overwrite // nil if the spec does not manage them
	live       *discordclient.Channel
}

var fields = resource.Table[desired, discordclient.Channel, discordclient.ChannelEdit]{
	resource.NewField[desired, discordclient.Channel, discordclient.ChannelEdit](
		"name", "", desired.changedName).Limited().Filled(fillName),
	resource.Overwrites(func(d desired) ([]discordclient.Overwrite, *discordclient.Channel) {
		return d.overwrites, d.live
	}),
}

func (d desired) changedName() *string {
	if discordclient.SameChannelName(discordgo.ChannelTypeGuildCategory, d.name, d.live.Name, "") {
		return nil
	}
	return &d.name
}

func fillName(d *desired, live *discordclient.Channel) error {
	d.name = live.Name
	return nil
}

// SpecOf exports a live category without server, overwrites and position.
func SpecOf(live *discordclient.Channel) (v1alpha1.DiscordGroupSpec, []resource.Omission) {
	var d desired
	omitted := fields.Fill(&d, live)
	return v1alpha1.DiscordGroupSpec{Name: d.name}, omitted
}
