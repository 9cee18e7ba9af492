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

// maxResends limits the resends of a refused edit. Few resends are enough, because one response
// names all refused fields.
const maxResends = 3

// refusedFields returns the fields to omit from a failed edit; none if omitting fields does not
// help. guessed reports whether the error names none of the fields: the omitted fields may be
// right, and the guard wrong.
func refusedFields(rows resource.Rows, err error, fields []string) (omitted []string, guessed bool) {
	if !rows.Guarded() {
		return nil, false
	}
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok {
		if limited.After <= issues.MaxTransient {
			return nil, false
		}
		return rows.Select(fields, func(r resource.Row) bool { return r.Limited }), false
	}
	refused, ok := errors.AsType[*discordclient.Error](err)
	if !ok {
		return nil, false
	}
	switch refused.Class {
	case discordclient.ClassInvalid, discordclient.ClassLimit:
	case discordclient.ClassGone:
		switch refused.Code {
		case discordgo.ErrCodeUnknownOverwrite, discordgo.ErrCodeUnknownRole: // the target of an overwrite is unknown
			return rows.Select(fields, guards), false
		}
		return nil, false
	default:
		return nil, false
	}
	var wires []string
	for _, f := range refused.Fields {
		name, _, _ := strings.Cut(f.Path, ".")
		name, _, _ = strings.Cut(name, "[")
		wires = append(wires, name)
	}
	if omitted := rows.ByWire(fields, wires...); len(omitted) > 0 {
		return omitted, false
	}
	if !rows.Guards(fields) {
		return nil, false
	}
	return rows.Select(fields, func(r resource.Row) bool { return !r.Guard }), true
}

// withoutGuard returns the fields of an edit that may be sent although Discord refuses the guard
// alone with this error. A move to another category is not among them: it must not precede the
// overwrites for that category.
func withoutGuard(rows resource.Rows, err error, fields []string) []string {
	switch discordclient.ClassOf(err) {
	case discordclient.ClassInvalid, discordclient.ClassLimit:
		return rows.Select(fields, func(r resource.Row) bool { return !r.Guard && r.Wire != "parent_id" })
	default:
		return nil
	}
}

func guards(r resource.Row) bool { return r.Guard }

// LeaveOut removes fields from the planned edit.
func (k *Kind) LeaveOut(p *Plan, fields ...string) {
	p.Edit, p.Fields = p.Edit.Without(k.Fields.Wires(fields)...), without(p.Fields, fields...)
	if len(p.Fields) == 0 {
		p.Fields = nil
	}
}

// LeaveOutForbidden removes the guard (the overwrites) from an edit that the bot may not make. If
// the bot may not make the remaining edit either, LeaveOutForbidden removes all fields.
func (k *Kind) LeaveOutForbidden(p *Plan, forbidden func(resource.Edit) *conditions.Issue) {
	if !p.Report(forbidden(p.Edit)) {
		return
	}
	k.LeaveOut(p, k.Fields.Select(p.Fields, guards)...)
	if forbidden(p.Edit) != nil {
		k.LeaveOut(p, p.Fields...)
	}
}

// Withhold removes a deletion from the plan if Discord would refuse it, and adds the issue.
func (p Plan) Withhold(forbidden func() *conditions.Issue) Plan {
	if p.Delete != nil && p.Delete.By != nil && p.Report(forbidden()) {
		p.Delete = nil
	}
	return p
}
