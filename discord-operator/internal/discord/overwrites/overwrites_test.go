// SPDX-License-Identifier: Apache-2.0

package overwrites

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

const (
	view   = permissions.ViewChannel
	send   = permissions.SendMessages
	secret = permissions.Bits(1) << 60 // a bit without a name
	needed = view | permissions.ManageChannels
)

type (
	spec = v1alpha1.PermissionOverwrite
	live = discordclient.Overwrite
	some = []v1alpha1.Permission
)

func role(id string, allow, deny permissions.Bits) live {
	return live{ID: id, Type: discordgo.PermissionOverwriteTypeRole, Allow: allow, Deny: deny}
}

func member(id string, allow, deny permissions.Bits) live {
	return live{ID: id, Type: discordgo.PermissionOverwriteTypeMember, Allow: allow, Deny: deny}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, discordtest.PermViewChannel|discordtest.PermManageChannels|discordtest.PermManageRoles)
	sensei := g.Discord.AddRole(g.ID, "Sensei", 0)
	digits := g.Discord.AddRole(g.ID, "123456789", 0)
	twins := []string{g.Discord.AddRole(g.ID, "Twin", 0), g.Discord.AddRole(g.ID, "Twin", 0)}
	snap, bot := g.Snapshot(t), g.Bot.UserID
	with := func(list ...live) *discordclient.Channel { return &discordclient.Channel{Overwrites: list} }
	type resolved struct {
		spec   []spec
		live   *discordclient.Channel
		want   []live
		reason string
	}
	cases := map[string]resolved{
		"an empty list": {spec: []spec{}, want: []live{}},
		"@everyone has the id of the guild": {spec: []spec{{Role: "@everyone", Deny: some{"SendMessages"}}},
			want: []live{role(g.ID, 0, send)}},
		"a role by its name": {spec: []spec{{Role: "Sensei", Allow: some{"SendMessages"}}},
			want: []live{role(sensei, send, 0)}},
		"a role by its id": {spec: []spec{{Role: sensei, Allow: some{"SendMessages"}}},
			want: []live{role(sensei, send, 0)}},
		"a role whose name is a number": {spec: []spec{{Role: "123456789", Allow: some{"SendMessages"}}},
			want: []live{role(digits, send, 0)}},
		"a user": {spec: []spec{{User: "99999999", Deny: some{"SendMessages"}}},
			want: []live{member("99999999", 0, send)}},
		"an overwrite without permissions": {spec: []spec{{Role: "Sensei"}}, want: []live{role(sensei, 0, 0)}},
		"a missing role":                   {spec: []spec{{Role: "sensei"}}, reason: v1alpha1.ReasonRoleNotFound},
		"a name of two roles":              {spec: []spec{{Role: "Twin"}}, reason: v1alpha1.ReasonAmbiguousRole},
		"one of two roles, by its id": {spec: []spec{{Role: twins[1], Allow: some{"SendMessages"}}},
			want: []live{role(twins[1], send, 0)}},
		"one role by name and by id": {spec: []spec{{Role: "Sensei"}, {Role: sensei}},
			reason: v1alpha1.ReasonAmbiguousRole},
		"keeps bits without a name": {spec: []spec{{Role: "Sensei", Deny: some{"SendMessages"}}},
			live: with(role(sensei, send|secret, view)), want: []live{role(sensei, secret, send)}},
		"removes overwrites outside the spec": {spec: []spec{{Role: "Sensei"}},
			live: with(role(twins[0], send, 0), member(bot, view, 0)), want: []live{role(sensei, 0, 0)}},
		"allows the bot what another overwrite denies": {spec: []spec{{Role: "@everyone", Deny: some{"ViewChannel"}}},
			want: []live{role(g.ID, 0, view), member(bot, view, 0)}},
		"allows the bot only what it needs": {spec: []spec{{Role: "@everyone", Deny: some{"ManageChannels"}}},
			want: []live{role(g.ID, 0, permissions.ManageChannels), member(bot, permissions.ManageChannels, 0)}},
		"completes the bot's overwrite": {
			spec: []spec{{Role: "@everyone", Deny: some{"ViewChannel"}},
				{User: bot, Allow: some{"SendMessages"}, Deny: some{"ViewChannel"}}},
			want: []live{role(g.ID, 0, view), member(bot, view|send, 0)},
		},
		"keeps a sufficient overwrite of the bot": {
			spec: []spec{{Role: "@everyone", Deny: some{"ViewChannel"}}, {User: bot, Allow: some{"ViewChannel"}}},
			want: []live{role(g.ID, 0, view), member(bot, view, 0)},
		},
		"denies the bot what it does not need": {spec: []spec{{User: bot, Deny: some{"SendMessages"}}},
			want: []live{member(bot, 0, send)}},
	}
	most := []spec{{Role: "@everyone", Deny: some{"ViewChannel"}}}
	for id := range maxOverwrites - 1 {
		most = append(most, spec{User: strconv.Itoa(1000 + id)})
	}
	cases["as many overwrites as Discord accepts, and one more for the bot"] = resolved{spec: most, reason: v1alpha1.ReasonLimitReached}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := resolveNamed(c.spec, c.live, snap)
			issue, _ := errors.AsType[*conditions.Issue](err)
			if issue.IsDegraded() != (c.reason != "") || issue.IsDegraded() && issue.Reason != c.reason {
				t.Fatalf("got the error %v, want one with the reason %q", err, c.reason)
			}
			if diff := cmp.Diff(sorted(c.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func resolveNamed(list []spec, on *discordclient.Channel, snap *guildcache.Snapshot) ([]live, error) {
	roles, err := Names{}.Resolve(list, snap)
	if err != nil {
		return nil, err
	}
	return Resolve(WithRoleIDs(list, nil, roles), on, snap, needed)
}

func sorted(list []live) []live {
	slices.SortFunc(list, func(a, b live) int { return discordclient.CompareIDs(a.ID, b.ID) })
	return list
}

func TestResolveAddsNothingForAnUnknownBot(t *testing.T) {
	t.Parallel()
	snap := &guildcache.Snapshot{Guild: discordclient.Guild{ID: "1",
		Roles: []discordclient.Role{{ID: "1", Permissions: permissions.All}}}}
	got, err := Resolve([]spec{{Role: "@everyone", Deny: some{"ViewChannel"}}}, nil, snap, needed)
	if diff := cmp.Diff([]live{role("1", 0, view)}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestResolveWithAPolledSnapshot(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, discordtest.PermViewChannel|discordtest.PermManageChannels|discordtest.PermManageRoles)
	sensei := g.Discord.AddRole(g.ID, "Sensei", 0)
	snap, bot := polled(g.Snapshot(t)), g.Bot.UserID
	with := func(list ...live) *discordclient.Channel { return &discordclient.Channel{Overwrites: list} }
	hidden, without := spec{Role: "@everyone", Deny: some{"ViewChannel"}}, spec{Role: "Sensei", Deny: some{"ViewChannel"}}
	cases := map[string]struct {
		spec []spec
		live *discordclient.Channel
		want []live
	}{
		"a new channel": {spec: []spec{hidden},
			want: []live{role(g.ID, 0, view), member(bot, view, 0)}},
		"a new channel that one role may not view": {spec: []spec{without},
			want: []live{role(sensei, 0, view), member(bot, view, 0)}},
		"a channel that becomes hidden": {spec: []spec{hidden}, live: with(),
			want: []live{role(g.ID, 0, view), member(bot, view, 0)}},
		"a hidden channel in sync": {spec: []spec{hidden}, live: with(role(g.ID, 0, view)),
			want: []live{role(g.ID, 0, view)}},
		"keeps the bot's overwrite": {spec: []spec{}, live: with(member(bot, view, 0)),
			want: []live{member(bot, view, 0)}},
		"completes the bot's overwrite": {spec: []spec{hidden}, live: with(member(bot, send, 0)),
			want: []live{role(g.ID, 0, view), member(bot, view|send, 0)}},
		"does not rely on a role that allows the bot": {spec: []spec{hidden},
			live: with(role(g.ID, 0, view), role(sensei, view, 0)), want: []live{role(g.ID, 0, view), member(bot, view, 0)}},
		"allows the bot only what it needs": {spec: []spec{{Role: "@everyone", Deny: some{"SendMessages"}}},
			live: with(), want: []live{role(g.ID, 0, send)}},
		"does not deny the bot what it needs": {spec: []spec{{User: bot, Deny: some{"ViewChannel"}}}, live: with(),
			want: []live{member(bot, view, 0)}},
		"ignores an overwrite for another user": {spec: []spec{{User: "99999999", Deny: some{"ViewChannel"}}}, live: with(),
			want: []live{member("99999999", 0, view)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := resolveNamed(c.spec, c.live, snap)
			if diff := cmp.Diff(sorted(c.want), got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func polled(snap *guildcache.Snapshot) *guildcache.Snapshot {
	s := *snap
	s.Mode = guildcache.ModePolled
	return &s
}

func TestSame(t *testing.T) {
	t.Parallel()
	a, b := role("1", send, 0), role("2", 0, view)
	cases := map[string]struct {
		x, y []live
		want bool
	}{
		"two empty lists":                          {nil, []live{}, true},
		"in another order":                         {[]live{a, b}, []live{b, a}, true},
		"one more overwrite":                       {[]live{a, b}, []live{a}, false},
		"allowed in one list, denied in the other": {[]live{a}, []live{role("1", 0, send)}, false},
		"a role and a user with the same id":       {[]live{a}, []live{member("1", send, 0)}, false},
		"counts an overwrite without permissions":  {[]live{a, role("3", 0, 0)}, []live{a}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if Same(c.x, c.y) != c.want || Same(c.y, c.x) != c.want {
				t.Errorf("want %v", c.want)
			}
		})
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		from, to []live
		want     permissions.Bits
	}{
		"no overwrites":                  {},
		"all bits of new overwrites":     {nil, []live{role("1", send, view)}, send | view},
		"all bits of removed overwrites": {[]live{role("1", send, view)}, nil, send | view},
		"no bit of unchanged overwrites": {[]live{role("1", send, view)}, []live{role("1", send, view)}, 0},
		"removed bits":                   {[]live{role("1", send|view, 0)}, []live{role("1", view, 0)}, send},
		"bits from allowed to denied":    {[]live{role("1", send, 0)}, []live{role("1", 0, send)}, send},
		"a removed and a new overwrite":  {[]live{role("1", send, 0)}, []live{role("2", view, 0)}, send | view},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Changed(c.from, c.to); got != c.want {
				t.Errorf("got %v, want %v", got.Names(), c.want.Names())
			}
		})
	}
}

// The bot keeps its access, and a second resolution returns the same overwrites.
func TestResolveIsIdempotent(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, discordtest.PermViewChannel|discordtest.PermManageChannels|discordtest.PermManageRoles)
	for _, name := range []string{"A", "B", "C"} {
		g.Discord.AddRole(g.ID, name, 0)
	}
	snap := g.Snapshot(t)
	rapid.Check(t, func(t *rapid.T) {
		desired := draw(t, g.Bot.UserID)
		once, err := resolveNamed(desired, nil, snap)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := resolveNamed(desired, &discordclient.Channel{Overwrites: once}, snap)
		if err != nil || !Same(once, twice) || Changed(once, twice) != 0 {
			t.Fatalf("%v, %s", err, cmp.Diff(once, twice))
		}
		if here, _ := snap.BotPermissionsIn(&discordclient.Channel{Overwrites: once}); here.Missing(needed) != 0 {
			t.Fatalf("the bot lacks %v", here.Missing(needed).Names())
		}
	})
}

// With a polled snapshot, the bot keeps the permissions that it needs, whatever its roles are.
func TestNoChangeLocksTheBotOut(t *testing.T) {
	t.Parallel()
	g := guildtest.New(t, discordtest.PermViewChannel|discordtest.PermManageChannels|discordtest.PermManageRoles)
	var all []string
	for _, name := range []string{"A", "B", "C"} {
		all = append(all, g.Discord.AddRole(g.ID, name, 0))
	}
	exact := g.Snapshot(t)
	snap, self := polled(exact), g.Bot.UserID
	base, _ := snap.BotPermissions()
	rapid.Check(t, func(t *rapid.T) {
		before, err := resolveNamed(draw(t, self), nil, exact)
		if err != nil {
			t.Fatal(err)
		}
		desired := draw(t, self)
		once, err := resolveNamed(desired, &discordclient.Channel{Overwrites: before}, snap)
		if err != nil {
			t.Fatal(err)
		}
		roles := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, 3, rapid.ID[string]).Draw(t, "roles")
		in := func(list []live) permissions.Bits {
			var wire []permissions.Overwrite
			for _, o := range list {
				wire = append(wire, permissions.Overwrite{ID: o.ID, Allow: o.Allow, Deny: o.Deny})
			}
			return permissions.In(base, g.ID, self, roles, wire) & needed
		}
		if denied := in(before) &^ in(once); denied != 0 {
			t.Fatalf("the bot loses %v by the overwrites %v, which were %v before", denied.Names(), once, before)
		}
		twice, err := resolveNamed(desired, &discordclient.Channel{Overwrites: once}, snap)
		if err != nil || !Same(once, twice) {
			t.Fatalf("%v, %s", err, cmp.Diff(once, twice))
		}
	})
}

func draw(t *rapid.T, bot string) []spec {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(permissions.Documented()), 0, 8, rapid.ID[string])
	var desired []spec
	for _, who := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B", "C", "@everyone", "bot", "88888888"}),
		0, 6, rapid.ID[string]).Draw(t, "who") {
		o := spec{Role: who}
		switch who {
		case "bot":
			o = spec{User: bot}
		case "88888888":
			o = spec{User: who}
		}
		for i, name := range names.Draw(t, "names") {
			if i%2 == 0 {
				o.Allow = append(o.Allow, v1alpha1.Permission(name))
			} else {
				o.Deny = append(o.Deny, v1alpha1.Permission(name))
			}
		}
		desired = append(desired, o)
	}
	return desired
}
