package group

import (
	"fmt"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/discord-operator/internal/overwrites"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// What Discord allows. Source: https://discord.com/developers/docs/resources/channel; the number of categories is what its users report.
const (
	maxChannels   = 500 // in a server, categories included
	maxCategories = 50
)

const manage = permissions.ViewChannel | permissions.ManageChannels

// steps are what has to be done about a group; a zero field is nothing to do.
type steps struct {
	create *discordclient.ChannelCreate
	edit   discordclient.ChannelEdit
	fields []string // that the edit changes
	// verdict keeps the group from being as the spec says.
	verdict error
}

// plan decides what has to be done. It does no I/O.
func plan(g *v1alpha1.DiscordGroup, seen *observed) (s steps) {
	var want []discordclient.Overwrite
	if g.Spec.PermissionOverwrites != nil {
		if want, s.verdict = overwrites.Resolve(g.Spec.PermissionOverwrites, seen.Channel, seen.Snapshot, manage); s.verdict != nil {
			return s
		}
	}
	if seen.Create {
		if s.verdict = mayCreate(seen, want); s.verdict == nil {
			s.create = &discordclient.ChannelCreate{Name: g.Spec.Name, Type: discordgo.ChannelTypeGuildCategory, Overwrites: want}
			if g.Spec.Position != nil {
				s.create.Position = order.First(seen.Snapshot.Categories(), seen.ranks, *g.Spec.Position)
			}
		}
		return s
	}
	edit, fields := differences(g, seen, want)
	if s.verdict = mayEdit(seen, edit, fields); s.verdict == nil {
		s.edit, s.fields = edit, fields
	}
	return s
}

func mayCreate(seen *observed, want []discordclient.Overwrite) error {
	switch {
	case len(seen.Snapshot.Channels()) >= maxChannels:
		return issues.Full(fmt.Sprintf("The server has %d channels and categories, the most that Discord allows. Delete some.", maxChannels))
	case len(seen.Snapshot.Categories()) >= maxCategories:
		return issues.Full(fmt.Sprintf("The server has %d categories, the most that Discord allows. Delete some.", maxCategories))
	}
	return lacking(seen, manage|overwrites.Changed(nil, want), "which this group requires")
}

// differences returns the edit that makes the settings of the spec true, and the names of the fields that it changes. What the spec leaves out
// is not looked at.
func differences(g *v1alpha1.DiscordGroup, seen *observed, want []discordclient.Overwrite) (edit discordclient.ChannelEdit, fields []string) {
	live := seen.Channel
	if !discordclient.SameChannelName(discordgo.ChannelTypeGuildCategory, g.Spec.Name, live.Name, seen.sought.StoredName) {
		edit.Name = discordclient.Set(g.Spec.Name)
		fields = append(fields, "name")
	}
	if g.Spec.PermissionOverwrites != nil && !overwrites.Same(live.Overwrites, want) {
		edit.Overwrites = discordclient.Set(want)
		fields = append(fields, "permissionOverwrites")
	}
	return edit, fields
}

// mayEdit says what Discord would refuse, without asking it.
func mayEdit(seen *observed, edit discordclient.ChannelEdit, fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	needed := manage
	if want, ok := edit.Overwrites.Get(); ok {
		needed |= permissions.ManageRoles
		if err := lacking(seen, overwrites.Changed(seen.Channel.Overwrites, want), "which the permission overwrites change"); err != nil {
			return err
		}
	}
	if here, exact := seen.Snapshot.BotPermissionsIn(seen.Channel); exact && here.Missing(needed) != 0 {
		return issues.Lacking(here.Missing(needed).Names(), "which it needs in this category", "")
	}
	return nil
}

func lacking(seen *observed, needed permissions.Bits, forWhat string) error {
	have, exact := seen.Snapshot.BotPermissions()
	if !exact || have.Missing(needed) == 0 {
		return nil
	}
	return issues.Lacking(have.Missing(needed).Names(), forWhat, seen.Server.Status.InviteURL)
}
