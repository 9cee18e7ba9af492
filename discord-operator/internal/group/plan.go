// SPDX-License-Identifier: Apache-2.0

package group

import (
	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/grant"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/discord-operator/internal/lifecycle"
	"jutsu.com/operators/discord-operator/internal/overwrites"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// maxCategories is how many categories Discord allows in a server, as its users report.
const maxCategories = 50

const manage = permissions.ViewChannel | permissions.ManageChannels

// Plan plans the category of a group. It does no I/O.
func Plan(g *v1alpha1.DiscordGroup, s State) lifecycle.Plan {
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
			overwrites.Named(g.Spec.PermissionOverwrites, s.Roles, p.Roles), s.Binding.Channel, s.Guild.Snapshot, manage)
		if err != nil {
			p.Issues = conditions.Of(err)
			return p
		}
	}
	if s.Binding.Absent {
		p.Changes = settingsOf(g, s, want)
		retains := grant.RetainRefused(s.Guild.Server, g.Namespace, g.Spec.DeletionPolicy)
		if !p.Report(retains) && !p.Report(refusedCreate(s, want)) {
			p.Create = create(g, s, want)
		}
		return p
	}
	edit, d := differences(g, s, want)
	p.Changes = d.Changes
	p.Report(d.Issue())
	if p.Edit, p.Fields = edit, d.Fields; len(d.Fields) > 0 {
		p.ReportLack(s.Guild, s.Binding.Channel, Kind.Noun)
	}
	return p
}

// create describes the category with all that it is to have, so that a private one is never public.
func create(g *v1alpha1.DiscordGroup, s State, want []discordclient.Overwrite) *discordclient.ChannelCreate {
	in := &discordclient.ChannelCreate{Name: g.Spec.Name, Type: discordgo.ChannelTypeGuildCategory, Overwrites: want}
	if s.Position != nil {
		in.Position = s.Position.First(s.Guild.Snapshot.Categories())
	}
	return in
}

// settingsOf are the fields of a category that is to be created.
func settingsOf(g *v1alpha1.DiscordGroup, s State, want []discordclient.Overwrite) []lifecycle.Change {
	s.Binding.Channel, s.Binding.Stored = &discordclient.Channel{Type: discordgo.ChannelTypeGuildCategory}, nil
	_, d := differences(g, s, want)
	return d.Changes
}

// refusedCreate is why Discord would refuse a create.
func refusedCreate(s State, want []discordclient.Overwrite) *conditions.Issue {
	if full := s.Guild.Full(); full != nil {
		return full
	}
	if s.Guild.Categories() >= maxCategories {
		return issues.Full("The server has %d categories, the most that Discord allows. Delete some.", maxCategories)
	}
	if lacks := s.Guild.Lacks(manage|overwrites.Changed(nil, want), "which this group requires"); lacks != nil {
		return lacks
	}
	return s.Guild.LacksToOverwrite(nil, want)
}

// PlanDeletion plans what becomes of the category of a deleted object.
func PlanDeletion(g *v1alpha1.DiscordGroup, s State, known []conditions.Issue) lifecycle.Plan {
	p := lifecycle.PlanDeletion(Kind.Noun, retained(g), s.Binding, known)
	return p.WithholdDeletion(s.Guild, s.Binding.Channel, Kind.Noun)
}

// differences returns the edit that makes the category match the spec, and how the two differ.
func differences(
	g *v1alpha1.DiscordGroup, s State, want []discordclient.Overwrite,
) (edit discordclient.ChannelEdit, d lifecycle.Differences) {
	live := s.Binding.Channel
	d.Stored = s.Binding.Stored
	if !discordclient.SameChannelName(discordgo.ChannelTypeGuildCategory, g.Spec.Name, live.Name, "") {
		lifecycle.Differ(&d, "name", &g.Spec.Name, live.Name, &edit.Name)
	}
	if g.Spec.PermissionOverwrites != nil && !overwrites.Same(live.Overwrites, want) {
		lifecycle.Differ(&d, "permissionOverwrites", &want, live.Overwrites, &edit.Overwrites)
	}
	return edit, d
}
