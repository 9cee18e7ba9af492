// SPDX-License-Identifier: Apache-2.0

package role

import (
	"k8s.io/utils/ptr"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

const forWhat = "which this role requires"

// NewPlan plans the create or the edit of the role. applyMembers handles the role's members.
func NewPlan(role *v1alpha1.DiscordRole, s State) lifecycle.Plan {
	p, ceiling := lifecycle.Plan{}, s.ceiling(role)
	exceeded := p.Report(ceiling.Exceeded(role.Spec.Permissions))
	if s.Binding.Absent {
		in, d := create(role, ceiling)
		p.Changes, p.Position, p.Bounds = d.Changes, s.Position, s.bounds()
		if retains := grant.RetainRefused(s.Guild.Server, role.Namespace, role.Spec.DeletionPolicy); !exceeded &&
			!p.Report(retains) && !p.Report(refusedCreate(s, &in.RoleCreate)) {
			p.Create, p.Fields = in, d.Fields
		}
		return p
	}
	if exceeded {
		return planEdit(p, unchanged(s.live()), ceiling, s)
	}
	p.Position = s.Position
	return planEdit(p, role.Spec, ceiling, s)
}

// PlanBounds plans only the changes that bring a tenant's role within the server's limits.
func PlanBounds(role *v1alpha1.DiscordRole, s State) (p lifecycle.Plan) {
	ceiling := s.ceiling(role)
	if !ceiling.Bounded() || s.Binding.Live == nil {
		return p
	}
	return planEdit(p, unchanged(s.live()), ceiling, s)
}

// unchanged keeps the live values, so that an edit only removes permissions above the ceiling.
func unchanged(live *discordclient.Role) v1alpha1.DiscordRoleSpec {
	return v1alpha1.DiscordRoleSpec{Name: live.Name}
}

// mayGive reports whether a role is within the server's limits, so that users may get the role.
func mayGive(role *v1alpha1.DiscordRole, s State, live *discordclient.Role) bool {
	ceiling := s.ceiling(role)
	return ceiling.Exceeded(role.Spec.Permissions) == nil && ceiling.Within(live.Permissions) == live.Permissions &&
		(s.LowPlaces == nil || s.LowPlaces.Holds(s.Guild.Snapshot, live.ID))
}

func (s *State) ceiling(role *v1alpha1.DiscordRole) grant.Ceiling {
	return grant.CeilingOf(s.Guild.Server, role.Namespace)
}

func planEdit(p lifecycle.Plan, spec v1alpha1.DiscordRoleSpec, ceiling grant.Ceiling, s State) lifecycle.Plan {
	edit, d := fields.Differ(desired{spec, ceiling, *s.live()}, s.live(), s.Binding.Stored)
	p.Changes, p.Bounds = d.Changes, s.bounds()
	if p.Report(tooHigh(s.Guild, s.live())) {
		p.Position, p.Bounds = nil, nil
		return p
	}
	p.Report(d.Issue())
	if s.Guild.Lacks(permissions.ManageRoles, forWhat) != nil {
		p.Position = nil // Discord would refuse the move; the server reports the missing permission
	}
	granted, _ := edit.Permissions.Get()
	granted &^= s.live().Permissions
	if len(d.Fields) > 0 && !p.Report(s.Guild.Lacks(permissions.ManageRoles|granted, forWhat)) {
		p.Edit, p.Fields = resource.RoleEdit{RoleEdit: edit}, d.Fields
	}
	return p
}

// PlanDeletion plans the deletion of the role.
func PlanDeletion(role *v1alpha1.DiscordRole, s State, known []conditions.Issue) lifecycle.Plan {
	if s.Binding.Live != nil && len(known) == 0 {
		if high := tooHigh(s.Guild, s.live()); high != nil {
			known = append(known, *high)
		}
	}
	return Kind.PlanDeletion(Kind.Identity(role).Retained(), s.Binding, known)
}

func tooHigh(guild *bot.Guild, live *discordclient.Role) *conditions.Issue {
	if guild.Snapshot.BelowBot(live.ID) {
		return nil
	}
	highest, _ := guild.Snapshot.BotRole()
	own := "a role of the bot"
	switch highest.ID {
	case guild.ID: // the bot has only @everyone, which cannot be moved
		own = "a role that you give to the bot"
	case live.ID:
		own = "another role of the bot (give the bot one if it has none)"
	}
	return conditions.Degraded(v1alpha1.ReasonRoleTooHigh, "The bot cannot manage the role %[1]q, because the bot's "+
		"highest role, %[2]q, is not above %[1]q. In the server's settings on Discord, under Roles, drag %[3]s above %[1]q.",
		live.Name, highest.Name, own)
}

func create(
	role *v1alpha1.DiscordRole, ceiling grant.Ceiling,
) (*resource.RoleCreate, resource.Differences) {
	edit, d := fields.Differ(desired{spec: role.Spec, ceiling: ceiling}, &discordclient.Role{}, nil)
	in := &resource.RoleCreate{RoleCreate: discordclient.RoleCreate{
		Name: role.Spec.Name, Hoist: ptr.Deref(role.Spec.Hoist, false), Mentionable: ptr.Deref(role.Spec.Mentionable, false),
	}}
	if colors, ok := edit.Colors.Get(); ok {
		in.Colors = &colors
	}
	if role.Spec.Permissions != nil || ceiling.Bounded() { // without permissions, Discord copies those of @everyone
		in.Permissions = new(overwrites.Bits(role.Spec.Permissions))
	}
	return in, d
}

func refusedCreate(s State, in *discordclient.RoleCreate) *conditions.Issue {
	if len(s.Guild.Snapshot.Guild.Roles) >= bot.MaxRoles {
		return issues.Full("The server has %d roles, the most that Discord allows. Delete some.", bot.MaxRoles)
	}
	return s.Guild.Lacks(permissions.ManageRoles|ptr.Deref(in.Permissions, 0), forWhat)
}

type desired struct {
	spec    v1alpha1.DiscordRoleSpec
	ceiling grant.Ceiling
	live    discordclient.Role
}

func row[T any](
	name, wire string, want func(desired) *T,
) resource.Field[desired, discordclient.Role, discordclient.RoleEdit] {
	return resource.NewField[desired, discordclient.Role, discordclient.RoleEdit](name, wire, want)
}

func yesNo(
	name string, at func(*desired) **bool,
) resource.Field[desired, discordclient.Role, discordclient.RoleEdit] {
	return resource.NewMember[desired, discordclient.Role, discordclient.RoleEdit](name, "", at, resource.Same[bool]())
}

var fields = resource.Table[desired, discordclient.Role, discordclient.RoleEdit]{
	row("name", "", func(d desired) *string { return &d.spec.Name }).Filled(fillName),
	row("color", "colors", desired.colors).Filled(fillColors),
	yesNo("hoist", func(d *desired) **bool { return &d.spec.Hoist }),
	yesNo("mentionable", func(d *desired) **bool { return &d.spec.Mentionable }),
	row("permissions", "", desired.permissions).Filled(fillPermissions),
}

// permissions returns the live permissions within the ceiling. If spec.permissions is set, it
// replaces all of them that have a documented name.
func (d desired) permissions() *permissions.Bits {
	want := d.ceiling.Within(d.live.Permissions)
	if d.spec.Permissions != nil {
		want = overwrites.Bits(d.spec.Permissions) | want&^permissions.All
	}
	return &want
}

func (d desired) colors() *discordclient.RoleColors {
	spec, live := d.spec, d.live.Colors
	if spec.Color == nil && spec.SecondaryColor == nil && spec.TertiaryColor == nil {
		return nil
	}
	if primary := discordclient.ParseColor(ptr.Deref(spec.Color, "")); primary != nil {
		live.Primary = *primary
	}
	if spec.SecondaryColor != nil {
		live.Secondary = discordclient.ParseColor(*spec.SecondaryColor)
	}
	if spec.TertiaryColor != nil {
		live.Tertiary = discordclient.ParseColor(*spec.TertiaryColor)
	}
	return &live
}
