// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"strings"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// maxLess bounds how often an edit is sent again with fewer fields. Discord names all fields that it
// refuses at once.
const maxLess = 3

// leftOut returns the fields without which an edit that has failed is to be sent again; none where that
// would not help. It is pure.
func leftOut(rows resource.Rows, err error, fields []string) []string {
	if !rows.Guarded() {
		return nil
	}
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok {
		if limited.After <= issues.MaxTransient {
			return nil
		}
		return rows.Select(fields, func(r resource.Row) bool { return r.Limited })
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
			return rows.Select(fields, guards)
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
	if less := rows.Named(fields, named...); len(less) > 0 {
		return less
	}
	if !rows.Guards(fields) {
		return nil
	}
	return rows.Select(fields, func(r resource.Row) bool { return !r.Guard })
}

func guards(r resource.Row) bool { return r.Guard }

// Leave leaves fields of the spec out of an edit that is planned, since Discord would refuse them.
func (k *Kind) Leave(p *Plan, fields ...string) {
	p.Edit, p.Fields = p.Edit.Without(k.Fields.Wires(fields)...), without(p.Fields, fields...)
	if len(p.Fields) == 0 {
		p.Fields = nil
	}
}

// ReportLack leaves out of an edit what the bot may not do, and reports why: the guard alone, where it
// may change the rest.
func (k *Kind) ReportLack(p *Plan, lacks func(resource.Edit) *conditions.Issue) {
	if !p.Report(lacks(p.Edit)) {
		return
	}
	k.Leave(p, k.Fields.Select(p.Fields, guards)...)
	if lacks(p.Edit) != nil {
		k.Leave(p, p.Fields...)
	}
}

// Withhold leaves out a deletion that Discord would refuse, and reports why. What else the plan says of the
// deletion stands.
func (p Plan) Withhold(lacks func() *conditions.Issue) Plan {
	if p.Delete != nil && p.Delete.By != nil && p.Report(lacks()) {
		p.Delete = nil
	}
	return p
}
