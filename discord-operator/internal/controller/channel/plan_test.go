// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

type spec = v1alpha1.DiscordChannelSpec

const all = discordtest.PermViewChannel | discordtest.PermManageChannels | discordtest.PermManageRoles | discordtest.PermManageWebhooks | discordtest.PermSendMessages

type scene struct {
	*guildtest.Guild
	a, b string // ids of the categories
	snap *guildcache.Snapshot
}

func newScene(t *testing.T, change ...func(*scene)) *scene {
	t.Helper()
	s := &scene{Guild: guildtest.New(t, all)}
	s.a = s.Discord.CreateChannelByHand(s.ID, discordtest.Channel{Type: discordtest.TypeCategory, Name: "a"})
	s.b = s.Discord.CreateChannelByHand(s.ID, discordtest.Channel{Type: discordtest.TypeCategory, Name: "b"})
	for _, c := range change {
		c(s)
	}
	s.snap = s.Snapshot(t)
	return s
}

func (s *scene) observed(live *discordclient.Channel, parentID string) State {
	guild := &bot.Guild{Server: &v1alpha1.DiscordServer{}, ID: s.ID, Snapshot: s.snap}
	return State{
		Guild: guild, Webhook: webhook.State{Guild: guild, Channel: live, Complete: true},
		Binding: lifecycle.Binding{Lookup: lifecycle.Lookup{ParentID: parentID}, Live: resource.OfChannel(live), Absent: live == nil},
	}
}

func object(s spec) *v1alpha1.DiscordChannel {
	return &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "alerts", UID: "uid"}, Spec: s}
}

func reasonOf(list []conditions.Issue) string {
	if worst := conditions.Worst(list); worst != nil {
		return worst.Reason
	}
	return ""
}

var asJSON = cmp.Transformer("JSON", func(e edit) map[string]any {
	sent := map[string]any{}
	add := func(key string, value any, given, zero bool) {
		if given {
			sent[key] = value
		} else if !zero {
			sent[key] = nil
		}
	}
	name, ok := e.Name.Get()
	add("name", name, ok && name != "", e.Name.IsZero())
	kind, ok := e.Type.Get()
	add("type", kind, ok, e.Type.IsZero())
	topic, ok := e.Topic.Get()
	add("topic", topic, ok && topic != "", e.Topic.IsZero())
	parent, ok := e.ParentID.Get()
	add("parent", parent, ok && parent != "", e.ParentID.IsZero())
	nsfw, ok := e.NSFW.Get()
	add("nsfw", nsfw, ok, e.NSFW.IsZero())
	slow, ok := e.Slowmode.Get()
	add("slowmode", slow, ok, e.Slowmode.IsZero())
	archive, ok := e.DefaultAutoArchive.Get()
	add("archive", archive, ok, e.DefaultAutoArchive.IsZero())
	list, ok := e.Overwrites.Get()
	add("overwrites", list, ok, e.Overwrites.IsZero())
	return sent
})

func TestPlanOfAnEdit(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	everyone := discordclient.Overwrite{ID: s.ID, Deny: 1 << 11}
	cases := map[string]struct {
		spec   spec
		live   discordclient.Channel
		parent string
		want   edit
		fields []string
	}{
		"nothing differs":              {spec: spec{Name: "a"}, live: discordclient.Channel{Name: "a", Topic: "x", NSFW: true, Slowmode: 5, DefaultAutoArchive: 60, Overwrites: []discordclient.Overwrite{everyone}}},
		"the spec renames the channel": {spec: spec{Name: "b"}, live: discordclient.Channel{Name: "a"}, want: edit{Name: discordclient.Set("b")}, fields: []string{"name"}},
		"renames a channel whose name on Discord has capitals": {
			spec: spec{Name: "a"}, live: discordclient.Channel{Name: "A"}, want: edit{Name: discordclient.Set("a")}, fields: []string{"name"},
		},
		"the topic is cleared":                               {spec: spec{Name: "a", Topic: ptr.To("")}, live: discordclient.Channel{Name: "a", Topic: "x"}, want: edit{Topic: discordclient.Set("")}, fields: []string{"topic"}},
		"keeps an empty topic":                               {spec: spec{Name: "a", Topic: ptr.To("")}, live: discordclient.Channel{Name: "a"}},
		"leaves its category":                                {spec: spec{Name: "a"}, live: discordclient.Channel{Name: "a", ParentID: s.a}, want: edit{ParentID: discordclient.Set("")}, fields: []string{"group"}},
		"moves to another category":                          {spec: spec{Name: "a"}, live: discordclient.Channel{Name: "a", ParentID: s.a}, parent: s.b, want: edit{ParentID: discordclient.Set(s.b)}, fields: []string{"group"}},
		"sets false and 0":                                   {spec: spec{Name: "a", NSFW: ptr.To(false), Slowmode: &metav1.Duration{}}, live: discordclient.Channel{Name: "a", NSFW: true, Slowmode: 5}, want: edit{NSFW: discordclient.Set(false), Slowmode: discordclient.Set(0)}, fields: []string{"nsfw", "slowmode"}},
		"an announcement channel becomes text":               {spec: spec{Name: "a", Type: v1alpha1.ChannelTypeText}, live: discordclient.Channel{Name: "a", Type: discordgo.ChannelTypeGuildNews}, want: edit{Type: discordclient.Set(discordgo.ChannelTypeGuildText)}, fields: []string{"type"}},
		"no type in the spec, an announcement channel stays": {spec: spec{Name: "a"}, live: discordclient.Channel{Name: "a", Type: discordgo.ChannelTypeGuildNews}},
		"removes all overwrites":                             {spec: spec{Name: "a", PermissionOverwrites: []v1alpha1.PermissionOverwrite{}}, live: discordclient.Channel{Name: "a", Overwrites: []discordclient.Overwrite{everyone}}, want: edit{Overwrites: discordclient.Set([]discordclient.Overwrite{})}, fields: []string{"permissionOverwrites"}},
		"all fields differ": {
			spec: spec{Name: "b", Topic: ptr.To("x"), NSFW: ptr.To(true), Slowmode: &metav1.Duration{Duration: time.Minute}, DefaultAutoArchive: v1alpha1.AutoArchiveOneDay},
			live: discordclient.Channel{Name: "a", ParentID: s.a}, parent: s.b,
			want: edit{
				Name: discordclient.Set("b"), Topic: discordclient.Set("x"), NSFW: discordclient.Set(true), Slowmode: discordclient.Set(60),
				DefaultAutoArchive: discordclient.Set(1440), ParentID: discordclient.Set(s.b),
			},
			fields: []string{"name", "topic", "nsfw", "slowmode", "defaultAutoArchive", "group"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := NewPlan(object(c.spec), s.observed(&c.live, c.parent))
			if got.Issues != nil || got.Create != nil {
				t.Fatalf("issues %v, create %v", got.Issues, got.Create)
			}
			if diff := cmp.Diff(c.fields, got.Fields); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.want, resource.EditOfChannel(got.Edit), asJSON); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlanOfACreate(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	full := spec{
		Name: "alerts", Type: v1alpha1.ChannelTypeText, Topic: ptr.To("x"), NSFW: ptr.To(true), Slowmode: &metav1.Duration{Duration: time.Hour},
		DefaultAutoArchive: v1alpha1.AutoArchiveOneHour, Position: ptr.To[int32](4),
		PermissionOverwrites: []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: []v1alpha1.Permission{"SendMessages"}}},
	}
	cases := map[string]struct {
		spec   spec
		parent string
		want   discordclient.ChannelCreate
	}{
		"only a name": {spec{Name: "alerts"}, "", discordclient.ChannelCreate{Name: "alerts"}},
		"sends all fields in one call": {full, s.a, discordclient.ChannelCreate{
			Name: "alerts", ParentID: s.a, Position: ptr.To(4), Overwrites: []discordclient.Overwrite{{ID: s.ID, Deny: 1 << 11}},
			ChannelEdit: discordclient.ChannelEdit{
				Topic: discordclient.Set("x"), NSFW: discordclient.Set(true), Slowmode: discordclient.Set(3600),
				DefaultAutoArchive: discordclient.Set(60),
			},
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := s.observed(nil, c.parent)
			if c.spec.Position != nil {
				state.Position = &lifecycle.Position{Rank: *c.spec.Position}
			}
			got := NewPlan(object(c.spec), state)
			if got.Issues != nil || len(got.Fields) > 0 {
				t.Fatalf("issues %v, fields %v", got.Issues, got.Fields)
			}
			if diff := cmp.Diff(c.want, got.Create.(*resource.ChannelCreate).ChannelCreate, asJSON); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	many := func(n, kind int, parent func(*scene) string) func(*scene) {
		return func(s *scene) {
			for range n {
				s.Discord.CreateChannelByHand(s.ID, discordtest.Channel{Type: kind, Name: "x", ParentID: parent(s)})
			}
		}
	}
	nowhere, inA := func(*scene) string { return "" }, func(s *scene) string { return s.a }
	without := func(p discordtest.Permissions) func(*scene) {
		return func(s *scene) { s.Discord.SetPermissions(s.ID, s.Bot.UserID, all&^p) }
	}
	live := &discordclient.Channel{Name: "alerts"}
	private := []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: []v1alpha1.Permission{"SendMessages"}}}
	managing := []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: []v1alpha1.Permission{"ManageRoles"}}}
	managed := &discordclient.Channel{Name: "alerts"}
	administrator := func(s *scene) {
		s.Discord.SetPermissions(s.ID, s.Bot.UserID, discordtest.PermAdministrator)
	}
	closed := func(s *scene) {
		s.Discord.EditChannelByHand(s.a, func(c *discordtest.Channel) {
			c.Overwrites = []discordtest.Overwrite{{ID: s.ID, Deny: discordtest.PermManageChannels}}
		})
	}
	pins := []v1alpha1.PermissionOverwrite{{Role: "@everyone", Deny: []v1alpha1.Permission{"PinMessages"}}}
	cases := map[string]struct {
		guild  func(*scene)
		spec   spec
		live   *discordclient.Channel
		parent func(*scene) string
		reason string
	}{
		"499 channels leave room":                                        {many(497, discordtest.TypeText, nowhere), spec{}, nil, nowhere, ""},
		"500 channels":                                                   {many(498, discordtest.TypeText, nowhere), spec{}, nil, nowhere, v1alpha1.ReasonLimitReached},
		"49 in the category leave room":                                  {many(49, discordtest.TypeVoice, inA), spec{}, nil, inA, ""},
		"50 in the category":                                             {many(50, discordtest.TypeVoice, inA), spec{}, nil, inA, v1alpha1.ReasonLimitReached},
		"50 in the category, a moved channel":                            {many(50, discordtest.TypeText, inA), spec{}, live, inA, v1alpha1.ReasonLimitReached},
		"the server allows no announcement channel":                      {nil, spec{Type: v1alpha1.ChannelTypeAnnouncement}, nil, nowhere, v1alpha1.ReasonAnnouncementsNotAllowed},
		"the server allows no announcement channel, an existing channel": {nil, spec{Type: v1alpha1.ChannelTypeAnnouncement}, live, nowhere, v1alpha1.ReasonAnnouncementsNotAllowed},
		"a missing role":                                                 {nil, spec{PermissionOverwrites: []v1alpha1.PermissionOverwrite{{Role: "missing"}}}, live, nowhere, v1alpha1.ReasonRoleNotFound},
		"the bot may not create channels":                                {without(discordtest.PermManageChannels), spec{}, nil, nowhere, v1alpha1.ReasonMissingPermissions},
		"the bot may not edit channels":                                  {without(discordtest.PermManageChannels), spec{NSFW: ptr.To(true)}, live, nowhere, v1alpha1.ReasonMissingPermissions},
		"the bot may not edit channels, in sync":                         {without(discordtest.PermManageChannels), spec{}, live, nowhere, ""},
		"the bot may not set overwrites":                                 {without(discordtest.PermManageRoles), spec{PermissionOverwrites: private}, live, nowhere, v1alpha1.ReasonMissingPermissions},
		"the bot denies a permission that it lacks":                      {nil, spec{PermissionOverwrites: pins}, nil, nowhere, v1alpha1.ReasonMissingPermissions},
		"an overwrite of ManageRoles, a new channel":                     {nil, spec{PermissionOverwrites: managing}, nil, nowhere, v1alpha1.ReasonMissingPermissions},
		"an overwrite of ManageRoles, an existing channel":               {nil, spec{PermissionOverwrites: managing}, live, nowhere, v1alpha1.ReasonMissingPermissions},
		"an overwrite of ManageRoles, in sync":                           {nil, spec{PermissionOverwrites: managing}, managed, nowhere, ""},
		"an overwrite of ManageRoles, removed":                           {nil, spec{PermissionOverwrites: managing[:0]}, managed, nowhere, v1alpha1.ReasonMissingPermissions},
		"an overwrite of ManageRoles, the bot is an administrator":       {administrator, spec{PermissionOverwrites: managing}, nil, nowhere, ""},
		"the bot may not manage the category, a new channel":             {closed, spec{}, nil, inA, v1alpha1.ReasonMissingPermissions},
		"the bot may not manage the category, a moved channel":           {closed, spec{}, live, inA, v1alpha1.ReasonMissingPermissions},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, func(s *scene) {
				if c.guild != nil {
					c.guild(s)
				}
			})
			c.spec.Name = "alerts"
			if c.live == managed {
				c.live = &discordclient.Channel{
					Name: "alerts", Overwrites: []discordclient.Overwrite{{ID: s.ID, Deny: permissions.ManageRoles}},
				}
			}
			got := NewPlan(object(c.spec), s.observed(c.live, c.parent(s)))
			if reasonOf(got.Issues) != c.reason {
				t.Errorf("issues %v, want one with the reason %q", got.Issues, c.reason)
			}
			if c.reason != "" && (got.Create != nil || len(got.Fields) > 0) {
				t.Errorf("%v is done all the same", got)
			}
		})
	}
}

func TestPlanThenPlanAgainIsEmpty(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(s *scene) {
		s.Discord.EditGuildByHand(s.ID, func(g *discordtest.Guild) { g.Features = []string{"NEWS"} })
		s.Discord.AddRole(s.ID, "Sensei", 0)
	})
	names := rapid.SampledFrom([]string{"a", "b-c", "日本"})
	overwrites := rapid.SampledFrom([]v1alpha1.PermissionOverwrite{
		{Role: "@everyone", Deny: []v1alpha1.Permission{"ViewChannel"}}, {Role: "Sensei", Allow: []v1alpha1.Permission{"SendMessages"}}, {User: "77777777"},
	})
	rapid.Check(t, func(t *rapid.T) {
		asked := spec{
			Name: names.Draw(t, "name"), Type: rapid.SampledFrom([]v1alpha1.ChannelType{"", "Text", "Announcement"}).Draw(t, "type"),
			Topic:              rapid.Ptr(rapid.SampledFrom([]string{"", "x"}), true).Draw(t, "topic"),
			NSFW:               rapid.Ptr(rapid.Bool(), true).Draw(t, "nsfw"),
			DefaultAutoArchive: rapid.SampledFrom([]v1alpha1.AutoArchive{"", "OneHour", "OneWeek"}).Draw(t, "archive"),
		}
		if seconds := rapid.IntRange(-1, 3).Draw(t, "slowmode"); seconds >= 0 {
			asked.Slowmode = &metav1.Duration{Duration: time.Duration(seconds) * time.Second}
		}
		if rapid.Bool().Draw(t, "overwrites") {
			asked.PermissionOverwrites = rapid.SliceOfNDistinct(overwrites, 0, 3, func(o v1alpha1.PermissionOverwrite) string { return o.Role + o.User }).Draw(t, "list")
		}
		parent := rapid.SampledFrom([]string{"", s.a, s.b}).Draw(t, "parent")
		live := &discordclient.Channel{
			Name: rapid.SampledFrom([]string{"a", "A", "x"}).Draw(t, "live name"), ParentID: rapid.SampledFrom([]string{"", s.a}).Draw(t, "live parent"),
			Type:  rapid.SampledFrom([]discordgo.ChannelType{discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews}).Draw(t, "live type"),
			Topic: rapid.SampledFrom([]string{"", "y"}).Draw(t, "live topic"), NSFW: rapid.Bool().Draw(t, "live nsfw"), Slowmode: rapid.IntRange(0, 3).Draw(t, "live slowmode"),
			Overwrites: rapid.SampledFrom([][]discordclient.Overwrite{nil, {{ID: s.ID, Deny: 1 << 11}}}).Draw(t, "live overwrites"),
		}
		first := NewPlan(object(asked), s.observed(live, parent))
		if first.Issues != nil {
			t.Fatal(first.Issues)
		}
		second := NewPlan(object(asked), s.observed(applied(live, resource.EditOfChannel(first.Edit)), parent))
		if second.Issues != nil || len(second.Fields) > 0 {
			t.Fatalf("issues %v, still differs: %v", second.Issues, second.Fields)
		}
		made := NewPlan(object(asked), s.observed(nil, parent))
		after := NewPlan(object(asked), s.observed(stored(t, discordclient.Channel{}, made.Create), parent))
		if after.Issues != nil || len(after.Fields) > 0 {
			t.Fatalf("issues %v, a new channel differs: %v", after.Issues, after.Fields)
		}
	})
}

func applied(c *discordclient.Channel, e edit) *discordclient.Channel {
	after := *c
	set(&after.Name, e.Name)
	set(&after.Type, e.Type)
	set(&after.Topic, e.Topic)
	set(&after.ParentID, e.ParentID)
	set(&after.NSFW, e.NSFW)
	set(&after.Slowmode, e.Slowmode)
	set(&after.DefaultAutoArchive, e.DefaultAutoArchive)
	set(&after.Overwrites, e.Overwrites)
	slices.Reverse(after.Overwrites) // the order of overwrites has no meaning
	return &after
}

func set[T any](field *T, change discordclient.Change[T]) {
	if !change.IsZero() {
		*field, _ = change.Get()
	}
}

// If the bot may not delete a channel, the plan has an issue and no call, unless the policy is
// Retain.
func TestPlanDeletion(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(s *scene) {
		s.Discord.EditChannelByHand(s.a, func(c *discordtest.Channel) {
			c.Overwrites = []discordtest.Overwrite{{ID: s.ID, Deny: discordtest.PermManageChannels}}
		})
	})
	for id, reason := range map[string]string{s.a: v1alpha1.ReasonMissingPermissions, s.b: ""} {
		live, _ := s.snap.Channel(id)
		for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.DeletionPolicyDelete, v1alpha1.DeletionPolicyRetain} {
			got := PlanDeletion(object(spec{DeletionPolicy: policy}), s.observed(live, ""), nil)
			want := reason
			if policy == v1alpha1.DeletionPolicyRetain {
				want = ""
			}
			if reasonOf(got.Issues) != want || (got.Delete == nil) != (want != "") {
				t.Errorf("%s, %s: %+v", live.Name, policy, got)
			}
		}
	}
}

// A deletion that retains an adopted channel deletes the webhook that the operator created for this
// object, unless the policy is Retain, or another object may own the webhook.
func TestPlanDeletionOfAWebhook(t *testing.T) {
	t.Parallel()
	const id = "1401681709430341731"
	for name, c := range map[string]struct {
		spec   spec
		status v1alpha1.DiscordChannelStatus
		shared bool
		want   bool // whether the webhook is deleted
	}{
		"the operator created the webhook":              {want: true},
		"the status says that the object only observes": {status: v1alpha1.DiscordChannelStatus{Observed: true}},
		"the spec says that the object only observes":   {spec: spec{ManagementPolicy: v1alpha1.ManagementPolicyObserve}},
		"another object's status names the webhook":     {shared: true},
		"the policy is Retain":                          {spec: spec{DeletionPolicy: v1alpha1.DeletionPolicyRetain}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := object(c.spec)
			o.Spec.Adopt, o.Status = &v1alpha1.Adoption{ID: "1401681709430341730"}, c.status
			o.Status.ChannelID, o.Status.Webhook = o.Spec.Adopt.ID, &v1alpha1.WebhookStatus{ID: id}
			got := PlanDeletion(o, State{WebhookShared: c.shared}, nil).Delete
			if got == nil || got.How != lifecycle.Retained || (got.ID == id && got.By == webhook.Deleter{}) != c.want {
				t.Errorf("%+v, want a deletion of the webhook: %v", got, c.want)
			}
		})
	}
}

// Discord refuses to delete the rules and updates channels of a community server, so a plan to
// delete such a channel has an issue.
func TestPlanDeletionInACommunity(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for name, c := range map[string]struct {
		channel  string
		policy   v1alpha1.DeletionPolicy
		disabled bool
		going    bool // whether the server is being deleted
		observed bool // whether the operator only observes the server
		by       string
		want     string // part of the issue's message; empty if the plan deletes the channel
	}{
		"the rules channel":                              {channel: "rules", by: "ns", want: "#rules is the rules channel of a community server"},
		"the rules channel, advice to name another":      {channel: "rules", by: "ns", want: "Name another DiscordChannel in spec.rulesChannelRef of DiscordServer main,"},
		"the updates channel":                            {channel: "updates", by: "ns", want: "spec.publicUpdatesChannelRef of DiscordServer main,"},
		"the rules channel, object in another namespace": {channel: "rules", by: "team", want: "DiscordServer ns/main,"},
		"the rules channel, server being deleted":        {channel: "rules", by: "ns", going: true, want: "Choose another channel for this purpose, or disable Community in the server's settings"},
		"the rules channel, server only observed":        {channel: "rules", by: "ns", observed: true, want: "Choose another channel for this purpose, or disable Community in the server's settings"},
		"another channel":                                {channel: "chat", by: "ns"},
		"the rules channel, Community disabled":          {channel: "rules", by: "ns", disabled: true},
		"the rules channel, policy Retain":               {channel: "rules", by: "ns", policy: v1alpha1.DeletionPolicyRetain},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, func(s *scene) {
				for _, name := range []string{"rules", "updates", "chat"} {
					ids[name] = s.Discord.CreateChannelByHand(s.ID, discordtest.Channel{Name: name})
				}
				s.Discord.EditGuildByHand(s.ID, func(g *discordtest.Guild) {
					g.RulesChannelID, g.PublicUpdatesChannelID = ids["rules"], ids["updates"]
					if !c.disabled {
						g.Features = []string{"COMMUNITY"}
					}
				})
			})
			live, _ := s.snap.Channel(ids[c.channel])
			state := s.observed(live, "")
			state.Guild.Server = &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "main"}}
			if state.Guild.By = c.by; c.going {
				state.Guild.Server.DeletionTimestamp = ptr.To(metav1.Now())
			}
			if c.observed {
				state.Guild.Server.Spec.ManagementPolicy = v1alpha1.ManagementPolicyObserve
			}
			got := PlanDeletion(object(spec{DeletionPolicy: c.policy}), state, nil)
			if c.want == "" {
				if len(got.Issues) > 0 || got.Delete == nil {
					t.Errorf("%+v", got)
				}
				return
			}
			if got.Delete != nil || reasonOf(got.Issues) != v1alpha1.ReasonDeletionFailed ||
				!strings.Contains(got.Issues[0].Message, c.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}
