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

// maxResends is small, because one response names all refused fields.
const maxResends = 3

func refusedFields(rows resource.Rows, err error, fields []string) []string {
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
		case discordgo.ErrCodeUnknownOverwrite, discordgo.ErrCodeUnknownRole: // the target of an overwrite is unknown
			return rows.Select(fields, guards)
		}
		return nil
	default:
		return nil
	}
	var wires []string
	for _, f := range refused.Fields {
		name, _, _ := strings.Cut(f.Path, ".")
		name, _, _ = strings.Cut(name, "[")
		wires = append(wires, name)
	}
	if omitted := rows.ByWire(fields, wires...); len(omitted) > 0 {
		return omitted
	}
	if !rows.Guards(fields) {
		return nil
	}
	return rows.Select(fields, func(r resource.Row) bool { return !r.Guard })
}

func guards(r resource.Row) bool { return r.Guard }

// LeaveOut removes fields, by their names in the spec, from the planned edit.
func (k *Kind) LeaveOut(p *Plan, fields ...string) {
	p.Edit, p.Fields = p.Edit.Without(k.Fields.Wires(fields)...), without(p.Fields, fields...)
	if len(p.Fields) == 0 {
		p.Fields = nil
	}
}

// LeaveOutForbidden removes the overwrites, or if necessary all fields, from a forbidden edit.
func (k *Kind) LeaveOutForbidden(p *Plan, forbidden func(resource.Edit) *conditions.Issue) {
	if !p.Report(forbidden(p.Edit)) {
		return
	}
	k.LeaveOut(p, k.Fields.Select(p.Fields, guards)...)
	if forbidden(p.Edit) != nil {
		k.LeaveOut(p, p.Fields...)
	}
}

// Withhold removes the deletion from the plan if Discord would refuse the deletion, and adds the
// issue.
func (p Plan) Withhold(forbidden func() *conditions.Issue) Plan {
	if p.Delete != nil && p.Delete.By != nil && p.Report(forbidden()) {
		p.Delete = nil
	}
	return p
}
