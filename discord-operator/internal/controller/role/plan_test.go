// SPDX-License-Identifier: Apache-2.0

package role

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

type spec = v1alpha1.DiscordRoleSpec

const all = discordtest.PermViewChannel | discordtest.PermManageRoles

func observed(t *testing.T, g *guildtest.Guild, live *discordclient.Role) State {
	t.Helper()
	return State{
		Guild:   &bot.Guild{Server: &v1alpha1.DiscordServer{}, ID: g.ID, Snapshot: g.Snapshot(t)},
		Binding: lifecycle.Binding{Live: resourceOf(live), Absent: live == nil},
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, all)
	id := g.Discord.CreateRoleByHand(g.ID, discordtest.Role{Name: "On call"})
	green, blue, bits := 0x00FF00, 0x0000FF, permissions.ViewChannel
	gradient := discordclient.RoleColors{Primary: blue, Secondary: &green}
	cases := map[string]struct {
		spec   spec
		live   *discordclient.Role
		create *discordclient.RoleCreate
		edit   discordclient.RoleEdit
		fields []string
	}{
		"only a name": {spec: spec{}, create: &discordclient.RoleCreate{Name: "On call"}, fields: []string{"name"}},
		"sends all fields in one call": {
			spec:   spec{Color: new("#0000ff"), SecondaryColor: new("#00FF00"), Hoist: new(true), Mentionable: new(true), Permissions: []v1alpha1.Permission{"ViewChannel"}},
			create: &discordclient.RoleCreate{Name: "On call", Colors: &gradient, Hoist: true, Mentionable: true, Permissions: &bits},
			fields: []string{"name", "color", "hoist", "mentionable", "permissions"},
		},
		"no permissions at all": {spec: spec{Permissions: []v1alpha1.Permission{}}, create: &discordclient.RoleCreate{Name: "On call", Permissions: new(permissions.Bits)}, fields: []string{"name"}},
		"nothing differs":       {spec: spec{Color: new("#0000FF"), Hoist: new(false)}, live: &discordclient.Role{Colors: discordclient.RoleColors{Primary: blue}}},
		"keeps fields outside the spec": {
			live: &discordclient.Role{Colors: gradient, Hoist: true, Mentionable: true, Permissions: bits}},
		"a new primary color keeps the secondary color": {spec: spec{Color: new("#00FF00")}, live: &discordclient.Role{Colors: gradient},
			edit: discordclient.RoleEdit{Colors: discordclient.Set(discordclient.RoleColors{Primary: green, Secondary: &green})}, fields: []string{"color"}},
		"removes the secondary color": {spec: spec{SecondaryColor: new("")}, live: &discordclient.Role{Colors: gradient},
			edit: discordclient.RoleEdit{Colors: discordclient.Set(discordclient.RoleColors{Primary: blue})}, fields: []string{"color"}},
		"keeps an unnamed permission": {spec: spec{Permissions: []v1alpha1.Permission{"ViewChannel"}}, live: &discordclient.Role{Permissions: 1 << 47},
			edit: discordclient.RoleEdit{Permissions: discordclient.Set(bits | 1<<47)}, fields: []string{"permissions"}},
		"several fields differ": {spec: spec{Hoist: new(true), Mentionable: new(true)}, live: &discordclient.Role{Name: "Other"},
			edit:   discordclient.RoleEdit{Name: discordclient.Set("On call"), Hoist: discordclient.Set(true), Mentionable: discordclient.Set(true)},
			fields: []string{"name", "hoist", "mentionable"}},
	}
	state := observed(t, g, nil)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine := state
			if c.spec.Name = "On call"; c.live != nil {
				if c.live.ID = id; c.live.Name == "" {
					c.live.Name = "On call"
				}
			}
			mine.Binding = lifecycle.Binding{Live: resourceOf(c.live), Absent: c.live == nil}
			got := NewPlan(&v1alpha1.DiscordRole{Spec: c.spec}, mine)
			if got.Issues != nil {
				t.Fatal(got.Issues)
			}
			if diff := cmp.Diff(c.create, createOf(got)) + cmp.Diff(c.fields, got.Fields); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(asJSON(t, c.edit), asJSON(t, editOf(got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	may := func(p discordtest.Permissions) func(*guildtest.Guild) {
		return func(g *guildtest.Guild) { g.Discord.SetPermissions(g.ID, g.Bot.UserID, p) }
	}
	roles := func(n int) func(*guildtest.Guild) {
		return func(g *guildtest.Guild) {
			for range n {
				g.Discord.CreateRoleByHand(g.ID, discordtest.Role{Name: "x"})
			}
		}
	}
	bans := spec{Permissions: []v1alpha1.Permission{"BanMembers"}}
	cases := map[string]struct {
		guild  func(*guildtest.Guild)
		spec   spec
		live   *discordtest.Role
		reason string
	}{
		"247 roles leave room":                              {roles(247), spec{}, nil, ""}, // plus @everyone and the bot's role
		"248 roles":                                         {roles(248), spec{}, nil, v1alpha1.ReasonLimitReached},
		"248 roles, an existing role":                       {roles(247), spec{Hoist: new(true)}, &discordtest.Role{}, ""},
		"the bot may not create roles":                      {may(discordtest.PermViewChannel), spec{}, nil, v1alpha1.ReasonMissingPermissions},
		"the bot may not edit roles":                        {may(discordtest.PermViewChannel), spec{Hoist: new(true)}, &discordtest.Role{}, v1alpha1.ReasonMissingPermissions},
		"the bot may not edit roles, in sync":               {may(discordtest.PermViewChannel), spec{}, &discordtest.Role{}, ""},
		"a new role grants a permission that the bot lacks": {may(all), bans, nil, v1alpha1.ReasonMissingPermissions},
		"an edit grants a permission that the bot lacks":    {may(all), bans, &discordtest.Role{}, v1alpha1.ReasonMissingPermissions},
		"an edit keeps a permission that the bot lacks":     {may(all), bans, &discordtest.Role{Permissions: 1 << 2}, ""},
		"an edit removes a permission that the bot lacks":   {may(all), spec{Permissions: []v1alpha1.Permission{}}, &discordtest.Role{Permissions: 1 << 2}, ""},
		"the role is above the bot's":                       {may(all), spec{}, &discordtest.Role{Position: 50}, v1alpha1.ReasonRoleTooHigh},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guildtest.New(t, all)
			c.guild(g)
			var id string
			if c.live != nil {
				c.live.Name = "On call"
				id = g.Discord.CreateRoleByHand(g.ID, *c.live)
			}
			state := observed(t, g, nil)
			if live, ok := state.Guild.Snapshot.Role(id); ok {
				state.Binding = lifecycle.Binding{Live: &live}
			}
			c.spec.Name, state.Position = "On call", &lifecycle.Position{}
			got := NewPlan(&v1alpha1.DiscordRole{Spec: c.spec}, state)
			reason := ""
			if worst := conditions.Worst(got.Issues); worst.IsDegraded() {
				reason = worst.Reason
			}
			if reason != c.reason {
				t.Errorf("issues %v, want one with the reason %q", got.Issues, c.reason)
			}
			if c.reason != "" && (createOf(got) != nil || len(got.Fields) > 0) {
				t.Errorf("%+v is done all the same", got)
			}
			mayMove := state.Guild.Lacks(permissions.ManageRoles, "") == nil && c.reason != v1alpha1.ReasonRoleTooHigh
			if c.live != nil && got.Position != nil && !mayMove {
				t.Error("the role would be moved all the same")
			}
		})
	}
}

func TestTheAdviceForARoleThatIsTooHigh(t *testing.T) {
	t.Parallel()
	onlyEveryone := guildtest.New(t, all)
	onlyEveryone.Discord.DeleteRoleByHand(onlyEveryone.ID, onlyEveryone.Discord.Guild(onlyEveryone.ID).Members[onlyEveryone.Bot.UserID].Own)
	g := guildtest.New(t, all)
	own := g.Discord.Guild(g.ID).Members[g.Bot.UserID].Own
	for name, c := range map[string]struct {
		guild *guildtest.Guild
		live  *discordclient.Role
		drag  string
	}{
		"the bot has a lower role":      {g, &discordclient.Role{ID: g.Discord.CreateRoleByHand(g.ID, discordtest.Role{Name: "On call", Position: 50})}, "a role of the bot"},
		"the role is the bot's highest": {g, &discordclient.Role{ID: own}, "another role of the bot (give the bot one if it has none)"},
		"the bot has only @everyone": {
			onlyEveryone, &discordclient.Role{ID: onlyEveryone.Discord.CreateRoleByHand(onlyEveryone.ID, discordtest.Role{Name: "On call"})},
			"a role that you give to the bot",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.live.Name = "On call"
			issue := tooHigh(observed(t, c.guild, nil).Guild, c.live)
			if issue == nil || !strings.Contains(issue.Message, "drag "+c.drag+" above \"On call\"") {
				t.Errorf("%v, want the advice to drag %s", issue, c.drag)
			}
		})
	}
}

func TestPlanThenPlanAgainIsEmpty(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, all|discordtest.PermAdministrator)
	id := g.Discord.CreateRoleByHand(g.ID, discordtest.Role{Name: "On call"})
	state := observed(t, g, nil)
	rapid.Check(t, func(t *rapid.T) {
		colors := func(name string, of ...string) *string {
			return rapid.SampledFrom(append([]*string{nil}, func() (list []*string) {
				for _, text := range of {
					list = append(list, &text)
				}
				return list
			}()...)).Draw(t, name)
		}
		asked := spec{
			Name:  rapid.SampledFrom([]string{"a", "On call"}).Draw(t, "name"),
			Color: colors("color", "#000000", "#0000FF"), SecondaryColor: colors("secondary", "", "#00FF00"),
			Hoist:       rapid.Ptr(rapid.Bool(), true).Draw(t, "hoist"),
			Permissions: rapid.SampledFrom([][]v1alpha1.Permission{nil, {}, {"BanMembers"}, {"ViewChannel", "BanMembers"}}).Draw(t, "permissions"),
		}
		live := discordclient.Role{
			ID: id, Name: "On call", Hoist: rapid.Bool().Draw(t, "live hoist"),
			Permissions: permissions.Bits(rapid.Uint64Range(0, 1<<52).Draw(t, "live permissions")),
			Colors:      discordclient.RoleColors{Primary: rapid.IntRange(0, 0xFFFFFF).Draw(t, "live color")},
		}
		now := state
		now.Binding = lifecycle.Binding{Live: &live}
		first := NewPlan(&v1alpha1.DiscordRole{Spec: asked}, now)
		if first.Issues != nil {
			t.Fatal(first.Issues)
		}
		set(editOf(first).Name, &live.Name)
		set(editOf(first).Hoist, &live.Hoist)
		set(editOf(first).Colors, &live.Colors)
		set(editOf(first).Permissions, &live.Permissions)
		if second := NewPlan(&v1alpha1.DiscordRole{Spec: asked}, now); second.Issues != nil || len(second.Fields) > 0 {
			t.Fatalf("issues %v, still differs: %v", second.Issues, second.Fields)
		}
	})
}

func set[T any](change discordclient.Change[T], to *T) {
	if value, ok := change.Get(); ok {
		*to = value
	}
}

// If the bot may not delete a role, the plan has an issue with the remedy.
func TestPlanDeletion(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, all)
	low := g.Discord.CreateRoleByHand(g.ID, discordtest.Role{Name: "low"})
	high := g.Discord.AddRole(g.ID, "high", 0)
	state := observed(t, g, nil)
	for id, deletes := range map[string]bool{low: true, high: false} {
		live, _ := state.Guild.Snapshot.Role(id)
		state.Binding = lifecycle.Binding{Lookup: lifecycle.Lookup{GuildID: g.ID}, Live: &live}
		plan := PlanDeletion(&v1alpha1.DiscordRole{}, state, nil)
		if deletes && (plan.Delete == nil || plan.Delete.ID != id || plan.Delete.GuildID != g.ID) {
			t.Errorf("%+v", plan)
		}
		if !deletes && (plan.Delete != nil || !strings.Contains(plan.Issues[0].Message, `above "high"`)) {
			t.Errorf("%+v", plan)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func guests(ceiling ...v1alpha1.Permission) *v1alpha1.DiscordServer {
	return &v1alpha1.DiscordServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "company"},
		Spec:       v1alpha1.DiscordServerSpec{AllowedRoles: &v1alpha1.AllowedRoles{Permissions: ceiling}},
	}
}

// A role of another namespace has only permissions that the server allows.
func TestPlanOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, all|discordtest.PermAdministrator)
	id := g.Discord.CreateRoleByHand(g.ID, discordtest.Role{Name: "On call"})
	const view, send, ban, admin = permissions.ViewChannel, permissions.SendMessages, permissions.Bits(1 << 2), permissions.Administrator
	list := func(names ...v1alpha1.Permission) []v1alpha1.Permission { return names }
	state := observed(t, g, nil)
	for name, c := range map[string]struct {
		ceiling, asked []v1alpha1.Permission
		live           *permissions.Bits
		refused        bool
		create, edit   *permissions.Bits
		gives          bool
	}{
		"a new role without permissions":                             {list("ViewChannel"), nil, nil, false, new(permissions.Bits), nil, false},
		"a new role, an empty ceiling":                               {nil, nil, nil, false, new(permissions.Bits), nil, false},
		"a new role within the ceiling":                              {list("ViewChannel"), list("ViewChannel"), nil, false, new(view), nil, false},
		"a new role above the ceiling":                               {list("ViewChannel"), list("SendMessages"), nil, true, nil, nil, false},
		"a new role, the ceiling Administrator lacks BanMembers":     {list("Administrator"), list("BanMembers"), nil, true, nil, nil, false},
		"a new role, the ceiling Administrator allows Administrator": {list("Administrator"), list("Administrator"), nil, false, new(admin), nil, false},
		"live permissions within the ceiling":                        {list("ViewChannel"), nil, new(view), false, nil, nil, true},
		"live permissions above the ceiling":                         {list("ViewChannel"), nil, new(view | ban), false, nil, new(view), false},
		"an unnamed permission on Discord, none in the spec":         {list("ViewChannel"), nil, new(view | 1<<47), false, nil, new(view), false},
		"an unnamed permission on Discord, permissions in the spec":  {list("ViewChannel"), list("ViewChannel"), new(view | 1<<47), false, nil, new(view), false},
		"a user added Administrator":                                 {list("ViewChannel"), list("ViewChannel"), new(admin), false, nil, new(view), false},
		"spec and Discord are above the ceiling":                     {list("ViewChannel"), list("ViewChannel", "SendMessages"), new(view | send), true, nil, new(view), false},
		"only the spec is above the ceiling":                         {list("ViewChannel"), list("ViewChannel", "SendMessages"), new(view), true, nil, nil, false},
		"spec and Discord are above an empty ceiling":                {nil, list("ViewChannel"), new(view), true, nil, new(permissions.Bits), false},
	} {
		mine := state
		guild := *state.Guild
		guild.Server, mine.Guild = guests(c.ceiling...), &guild
		role := &v1alpha1.DiscordRole{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a"},
			Spec: spec{Name: "Renamed", Permissions: c.asked}}
		live := &discordclient.Role{ID: id, Name: "On call"}
		if mine.Binding.Absent = c.live == nil; c.live != nil {
			live.Permissions, mine.Binding.Live = *c.live, live
		}
		got := NewPlan(role, mine)
		refused := len(got.Issues) > 0
		if refused != c.refused || refused && got.Issues[0].Reason != v1alpha1.ReasonNotAllowed {
			t.Errorf("%s: issues %v", name, got.Issues)
		}
		if (createOf(got) != nil) != (c.create != nil) || c.create != nil && *createOf(got).Permissions != *c.create {
			t.Errorf("%s: creates %+v", name, createOf(got))
		}
		edit, edits := editOf(got).Permissions.Get()
		if edits != (c.edit != nil) || edits && edit != *c.edit {
			t.Errorf("%s: edits to %v, %t", name, edit, edits)
		}
		if renamed := !editOf(got).Name.IsZero(); renamed != (c.live != nil && !c.refused) {
			t.Errorf("%s: renamed %t", name, renamed)
		}
		bounds := PlanBounds(role, mine)
		if edit, edits := editOf(bounds).Permissions.Get(); c.live != nil && edits &&
			edit&^grant.CeilingOf(guild.Server, "team-a").Within(edit) != 0 || !editOf(bounds).Name.IsZero() {
			t.Errorf("%s: the bounds edit the role to %v, %+v", name, edit, bounds)
		}
		if c.live != nil && mayGive(role, mine, live) != c.gives {
			t.Errorf("%s: the members may get the role: %t", name, !c.gives)
		}
	}
}

func resourceOf(role *discordclient.Role) resource.Resource {
	if role == nil {
		return nil
	}
	return role
}

func createOf(p lifecycle.Plan) *discordclient.RoleCreate {
	if create, ok := p.Create.(*resource.RoleCreate); ok {
		return &create.RoleCreate
	}
	return nil
}

func editOf(p lifecycle.Plan) discordclient.RoleEdit {
	edit, _ := p.Edit.(resource.RoleEdit)
	return edit.RoleEdit
}
