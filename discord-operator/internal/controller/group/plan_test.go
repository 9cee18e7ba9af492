// SPDX-License-Identifier: Apache-2.0

package group

import (
	"encoding/json"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

type spec = v1alpha1.DiscordGroupSpec

const all = discordtest.PermViewChannel | discordtest.PermManageChannels | discordtest.PermManageRoles

func observed(t *testing.T, g *guildtest.Guild, live *discordclient.Channel) State {
	t.Helper()
	return State{
		Guild:   &bot.Guild{Server: &v1alpha1.DiscordServer{}, ID: g.ID, Snapshot: g.Snapshot(t)},
		Binding: lifecycle.Binding{Live: resource.OfChannel(live), Absent: live == nil},
	}
}

func everyone(names ...v1alpha1.Permission) []v1alpha1.PermissionOverwrite {
	return []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: names}}
}

var asJSON = cmp.Transformer("JSON", func(e discordclient.ChannelEdit) string {
	raw, _ := json.Marshal(e)
	return string(raw)
})

func TestPlan(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, all)
	silent := []discordclient.Overwrite{{ID: g.ID, Deny: permissions.SendMessages}}
	state := observed(t, g, nil)
	cases := map[string]struct {
		spec   spec
		live   *discordclient.Channel
		create *discordclient.ChannelCreate
		fields []string
	}{
		"only a name": {spec: spec{Name: "Alerts"}, create: &discordclient.ChannelCreate{Name: "Alerts", Type: discordgo.ChannelTypeGuildCategory}},
		"sends all fields in one call": {
			spec:   spec{Name: "Alerts", Position: ptr.To[int32](3), PermissionOverwrites: everyone("SendMessages")},
			create: &discordclient.ChannelCreate{Name: "Alerts", Type: discordgo.ChannelTypeGuildCategory, Position: ptr.To(3), Overwrites: silent},
		},
		"nothing differs":             {spec: spec{Name: "Alerts"}, live: &discordclient.Channel{Name: "Alerts", Overwrites: silent}},
		"capitals and spaces differ":  {spec: spec{Name: "My alerts"}, live: &discordclient.Channel{Name: "my-alerts"}, fields: []string{"name"}},
		"overwrites differ":           {spec: spec{Name: "Alerts", PermissionOverwrites: everyone("SendMessages")}, live: &discordclient.Channel{Name: "Alerts"}, fields: []string{"permissionOverwrites"}},
		"removes all overwrites":      {spec: spec{Name: "Alerts", PermissionOverwrites: everyone()[:0]}, live: &discordclient.Channel{Name: "Alerts", Overwrites: silent}, fields: []string{"permissionOverwrites"}},
		"the same overwrites":         {spec: spec{Name: "Alerts", PermissionOverwrites: everyone("SendMessages")}, live: &discordclient.Channel{Name: "Alerts", Overwrites: silent}},
		"name and overwrites differ":  {spec: spec{Name: "Fire", PermissionOverwrites: everyone("SendMessages")}, live: &discordclient.Channel{Name: "Alerts"}, fields: []string{"name", "permissionOverwrites"}},
		"the edit lacks the position": {spec: spec{Name: "Alerts", Position: ptr.To[int32](3)}, live: &discordclient.Channel{Name: "Alerts", Position: 9}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine := state
			mine.Binding = lifecycle.Binding{Live: resource.OfChannel(c.live), Absent: c.live == nil}
			if c.spec.Position != nil {
				mine.Position = &lifecycle.Position{Rank: *c.spec.Position}
			}
			got := NewPlan(&v1alpha1.DiscordGroup{Spec: c.spec}, mine)
			if got.Issues != nil {
				t.Fatal(got.Issues)
			}
			if got.Position != mine.Position {
				t.Errorf("position %v", got.Position)
			}
			if in, ok := got.Create.(*resource.ChannelCreate); ok != (c.create != nil) {
				t.Errorf("create %v, want %v", in, c.create)
			} else if ok {
				if diff := cmp.Diff(*c.create, in.ChannelCreate, asJSON); diff != "" {
					t.Error(diff)
				}
			}
			if diff := cmp.Diff(c.fields, got.Fields); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	many := func(n, kind int) func(*guildtest.Guild) {
		return func(g *guildtest.Guild) {
			for range n {
				g.Discord.CreateChannelByHand(g.ID, discordtest.Channel{Type: kind, Name: "x"})
			}
		}
	}
	may := func(p discordtest.Permissions) func(*guildtest.Guild) {
		return func(g *guildtest.Guild) { g.Discord.SetPermissions(g.ID, g.Bot.UserID, p) }
	}
	live := &discordclient.Channel{Name: "Alerts"}
	cases := map[string]struct {
		guild  func(*guildtest.Guild)
		spec   spec
		live   *discordclient.Channel
		reason string
	}{
		"499 channels leave room":                                  {many(499, discordtest.TypeText), spec{}, nil, ""},
		"500 channels":                                             {many(500, discordtest.TypeText), spec{}, nil, v1alpha1.ReasonLimitReached},
		"500 channels, an existing category":                       {many(500, discordtest.TypeText), spec{PermissionOverwrites: everyone("SendMessages")}, live, ""},
		"49 categories leave room":                                 {many(49, discordtest.TypeCategory), spec{}, nil, ""},
		"50 categories":                                            {many(50, discordtest.TypeCategory), spec{}, nil, v1alpha1.ReasonLimitReached},
		"a missing role":                                           {may(all), spec{PermissionOverwrites: []v1alpha1.PermissionOverwrite{{Role: "missing"}}}, nil, v1alpha1.ReasonRoleNotFound},
		"the bot may not create categories":                        {may(all &^ discordtest.PermManageChannels), spec{}, nil, v1alpha1.ReasonMissingPermissions},
		"the bot may not set overwrites":                           {may(all &^ discordtest.PermManageRoles), spec{PermissionOverwrites: everyone("SendMessages")}, live, v1alpha1.ReasonMissingPermissions},
		"the bot denies a permission that it lacks":                {may(all), spec{PermissionOverwrites: everyone("PinMessages")}, live, v1alpha1.ReasonMissingPermissions},
		"the bot has no permission, in sync":                       {may(0), spec{}, live, ""},
		"an overwrite of ManageRoles, a new category":              {may(all), spec{PermissionOverwrites: everyone("ManageRoles")}, nil, v1alpha1.ReasonMissingPermissions},
		"an overwrite of ManageRoles, an existing category":        {may(all), spec{PermissionOverwrites: everyone("ManageRoles")}, live, v1alpha1.ReasonMissingPermissions},
		"an overwrite of ManageRoles, the bot is an administrator": {may(discordtest.PermAdministrator), spec{PermissionOverwrites: everyone("ManageRoles")}, live, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guildtest.New(t, all)
			c.guild(g)
			c.spec.Name = "Alerts"
			got := NewPlan(&v1alpha1.DiscordGroup{Spec: c.spec}, observed(t, g, c.live))
			reason := ""
			if worst := conditions.Worst(got.Issues); worst.IsDegraded() {
				reason = worst.Reason
			}
			if reason != c.reason || (len(got.Issues) == 0) != (c.reason == "") {
				t.Errorf("issues %v, want one with the reason %q", got.Issues, c.reason)
			}
			if c.reason != "" && (got.Create != nil || len(got.Fields) > 0) {
				t.Errorf("%+v is done all the same", got)
			}
		})
	}
}

func TestPlanThenPlanAgainIsEmpty(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, all)
	state := observed(t, g, nil)
	rapid.Check(t, func(t *rapid.T) {
		asked := &v1alpha1.DiscordGroup{Spec: spec{Name: rapid.SampledFrom([]string{"a", "A", "a b", "🔥"}).Draw(t, "name")}}
		asked.Spec.PermissionOverwrites = rapid.SampledFrom([][]v1alpha1.PermissionOverwrite{
			nil, {}, everyone("ViewChannel"), everyone("SendMessages"), {{User: "77777777", Allow: []v1alpha1.Permission{"SendMessages"}}},
		}).Draw(t, "overwrites")
		now := state
		now.Binding = lifecycle.Binding{Live: &discordclient.Channel{
			Name:       rapid.SampledFrom([]string{"a", "A", "x"}).Draw(t, "live name"),
			Overwrites: rapid.SampledFrom([][]discordclient.Overwrite{nil, {{ID: g.ID, Deny: permissions.SendMessages}}}).Draw(t, "live overwrites"),
		}}
		first := NewPlan(asked, now)
		if first.Issues != nil {
			t.Fatal(first.Issues)
		}
		edit := resource.EditOfChannel(first.Edit)
		if !edit.Name.IsZero() {
			now.live().Name, _ = edit.Name.Get()
		}
		if !edit.Overwrites.IsZero() {
			now.live().Overwrites, _ = edit.Overwrites.Get()
		}
		if second := NewPlan(asked, now); second.Issues != nil || len(second.Fields) > 0 {
			t.Fatalf("issues %v, still differs: %v", second.Issues, second.Fields)
		}
	})
}
