// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

const (
	// mostRoles is Discord's limit of 250 roles per guild, minus @everyone and the bot's role.
	mostRoles = 248

	createRole = "POST /guilds/{guild_id}/roles"
	moveRoles  = "PATCH /guilds/{guild_id}/roles"
	patchRole  = "PATCH /guilds/{guild_id}/roles/{role_id}"
	// patchChannel changes any number of fields of a channel in one call.
	patchChannel = "PATCH /channels/{channel_id}"

	roleToReady = "role created to Ready"
)

func (b *bench) roles(ctx context.Context, s *stage, at sheet) {
	d := s.discord
	s.startLeader(ctx)
	for _, o := range d.parents() {
		check(s.Admin.Create(ctx, o))
	}
	s.awaitQuiet(ctx, b.quiet)
	b.say("%s: creating %d roles", at.scenario, at.n)
	before, moment := d.RequestCounts(), time.Now()
	watch := newStopwatch(ctx, s, &v1alpha1.DiscordRole{}, at.n, roleReady)
	began := createAll(ctx, at.n, func(ctx context.Context, i int) (string, error) {
		r := role(i)
		return r.Name, s.Admin.Create(ctx, r)
	})
	at.addSpread(roleToReady, spreadOf(began, watch.await(ctx)))
	at.bound(roleToReady+firstToLast, d.least(float64(at.n)+1))
	s.awaitQuiet(ctx, b.quiet)
	check(d.rolesInOrder(at.n))
	calls := d.since(before)
	at.addAgainst(1, "calls that create", float64(calls[createRole])/float64(at.n), "per role")
	at.addAgainst(1, "calls that put all into order", float64(calls[moveRoles]), "in all")
	delete(calls, createRole)
	delete(calls, moveRoles)
	for _, route := range slices.Sorted(maps.Keys(calls)) {
		at.add("other calls: "+route, float64(calls[route]), "in all")
	}
	at.addAgainst(0, "calls that Discord answers with 429", float64(d.refused(http.StatusTooManyRequests)), "in all")
	b.roleCosts(ctx, s, at, moment)
	callCount := d.callCount()
	b.idleTraffic(ctx, s, at)
	at.addAgainst(0, "idle: calls to Discord", float64(d.callCount()-callCount), "in all")
	b.editOne(ctx, s, at)
}

func (b *bench) roleCosts(ctx context.Context, s *stage, at sheet, moment time.Time) {
	t := count(must(s.audit.since(moment)))
	at.addAgainst(1, "intents (finalizers)", float64(t.byClass[classIntent])/float64(at.n), "per role")
	at.addAgainst(1, "status writes", float64(t.byClass[classStatus])/float64(at.n), "per role")
	now := s.scrape(ctx, s.current())
	at.addAgainst(1, "reconciles", now.total(metricReconciles, "controller", "discordrole")/float64(at.n), "per role")
}

func (b *bench) editOne(ctx context.Context, s *stage, at sheet) {
	d, yes, text := s.discord, true, "changed"
	r := role(0)
	at.edited(ctx, b, s, patchRole, "an edit of a role", func() {
		check(s.Admin.Get(ctx, client.ObjectKeyFromObject(r), r))
		r.Spec.Name, r.Spec.Color, r.Spec.Hoist, r.Spec.Mentionable = text, new("#E67E22"), &yes, &yes
		r.Spec.Permissions = []v1alpha1.Permission{"ViewChannel"}
		check(s.Admin.Update(ctx, r))
	})
	c := d.channel(0)
	c.Spec.GroupRef, c.Spec.ServerRef = nil, &v1alpha1.ServerReference{Name: "server-0"}
	check(s.Admin.Create(ctx, c))
	s.awaitQuiet(ctx, b.quiet)
	at.edited(ctx, b, s, patchChannel, "an edit of a channel", func() {
		check(s.Admin.Get(ctx, client.ObjectKeyFromObject(c), c))
		c.Spec.Name, c.Spec.Topic, c.Spec.NSFW = text, &text, &yes
		c.Spec.Slowmode = &metav1.Duration{Duration: time.Minute}
		c.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{
			{Role: "@everyone", Deny: []v1alpha1.Permission{"SendMessages"}}}
		check(s.Admin.Update(ctx, c))
	})
}

func (s sheet) edited(ctx context.Context, b *bench, on *stage, route, what string, edit func()) {
	before := on.discord.RequestCounts()
	edit()
	on.awaitQuiet(ctx, b.quiet)
	calls := on.discord.since(before)
	s.addAgainst(1, what+": "+route, float64(calls[route]), "in all")
	delete(calls, route)
	others := 0
	for _, n := range calls {
		others += n
	}
	s.addAgainst(0, what+": other calls", float64(others), "in all")
}

func role(i int) *v1alpha1.DiscordRole {
	position := int32(i) //nolint:gosec // G115: a few hundred
	return &v1alpha1.DiscordRole{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("role-%04d", i)},
		Spec: v1alpha1.DiscordRoleSpec{ServerRef: v1alpha1.ServerReference{Name: "server-0"},
			Name: fmt.Sprintf("role-%04d", i), Position: &position},
	}
}

func roleReady(o client.Object) bool {
	r := o.(*v1alpha1.DiscordRole)
	return r.Status.ObservedGeneration == r.Generation &&
		meta.IsStatusConditionTrue(r.Status.Conditions, conditions.TypeReady)
}

func (d *simulated) since(before map[string]int) map[string]int {
	now := d.RequestCounts()
	for route, n := range now {
		if now[route] = n - before[route]; now[route] == 0 {
			delete(now, route)
		}
	}
	return now
}

func (d *simulated) rolesInOrder(n int) error {
	guild := d.Guild(d.guilds[0])
	ranked := guild.RankedRoles() // the lowest is @everyone, the highest the bot's
	if len(ranked) != n+2 {
		return fmt.Errorf("%d roles are on Discord, and %d should be", len(ranked)-2, n)
	}
	for i, r := range ranked[1 : n+1] {
		if r.Name != role(n-1-i).Spec.Name {
			return errors.New("the roles are not in order")
		}
	}
	return nil
}
