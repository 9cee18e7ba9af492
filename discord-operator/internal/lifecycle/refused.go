// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/discord-operator/internal/bot"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/discordclient"
)

// maxLess bounds how often an edit is sent again with fewer fields. Discord names all fields that it
// refuses at once.
const maxLess = 3

// leftOut returns the fields without which an edit that has failed is to be sent again; none where that
// would not help. It is pure.
func leftOut(err error, edit discordclient.ChannelEdit, fields []string) []string {
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok {
		if limited.After <= issues.MaxTransient {
			return nil
		}
		return ofWire(fields, "name", "topic") // under a limit of their own
	}
	refused, ok := errors.AsType[*discordclient.Error](err)
	if !ok {
		return nil
	}
	switch refused.Class {
	case discordclient.ClassInvalid, discordclient.ClassLimit:
	case discordclient.ClassGone:
		switch refused.Code {
		case discordgo.ErrCodeUnknownOverwrite, discordgo.ErrCodeUnknownRole: // of what an overwrite is for
			return ofWire(fields, wire["permissionOverwrites"])
		}
		return nil
	default:
		return nil
	}
	var named []string
	for _, f := range refused.Fields {
		name, _, _ := strings.Cut(f.Path, ".")
		name, _, _ = strings.Cut(name, "[")
		named = append(named, name)
	}
	if less := ofWire(fields, named...); len(less) > 0 {
		return less
	}
	if edit.Overwrites.IsZero() {
		return nil
	}
	return without(fields, "permissionOverwrites")
}

// Leave leaves a field of the spec out of an edit that is planned, since Discord would refuse it.
func (p *Plan) Leave(fields ...string) {
	p.Edit, p.Fields = p.Edit.Without(wireNames(fields)...), without(p.Fields, fields...)
	if len(p.Fields) == 0 {
		p.Fields = nil
	}
}

// ReportLack leaves out of an edit what the bot may not do, and reports why: the overwrites alone, where it
// may change the rest.
func (p *Plan) ReportLack(guild *bot.Guild, live *discordclient.Channel, noun string) {
	if !p.Report(guild.LacksForEdit(live, p.Edit, noun)) {
		return
	}
	p.Leave("permissionOverwrites")
	if guild.LacksForEdit(live, p.Edit, noun) != nil {
		p.Leave(p.Fields...)
	}
}

// WithholdDeletion leaves out a deletion of a channel or category that Discord would refuse, and reports why.
// What else the plan says of the deletion stands.
func (p Plan) WithholdDeletion(guild *bot.Guild, live *discordclient.Channel, noun string) Plan {
	if p.Delete == nil || p.Delete.Channel == "" {
		return p
	}
	if p.Report(cmp.Or(guild.Required(live), guild.LacksToDelete(live, noun))) {
		p.Delete = nil
	}
	return p
}

// wireNames are Discord's own names of fields.
func wireNames(fields []string) []string {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, cmp.Or(wire[f], f))
	}
	return names
}

// ofWire returns the fields that Discord knows by some names. Several may have one.
func ofWire(fields []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(f string) bool {
		return !slices.Contains(names, cmp.Or(wire[f], f))
	})
}
