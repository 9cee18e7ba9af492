// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

// The list is short, so that several objects and users choose the same name.
var roleNames = []string{"Grade 1", "Grade 2", "Special Grade"}

const fewUsers = 5

func roleName(slot int) string { return fmt.Sprintf("role-%d", slot) }

func (r *run) createRole(ctx context.Context, a action) (string, error) {
	random := a.random()
	role := &v1alpha1.DiscordRole{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: roleName(a.slot)}}
	role.Spec.ServerRef.Name = serverName
	role.Spec.Name = pick(random, roleNames)
	for range random.IntN(5) {
		r.changeRole(random, role)
	}
	return fmt.Sprintf("%q, %d members, policy %q", role.Spec.Name, len(role.Spec.Members), role.Spec.DeletionPolicy),
		r.create(ctx, role)
}

func (r *run) changeRole(random *rand.Rand, role *v1alpha1.DiscordRole) string {
	return pick(random, []func() string{
		func() string { role.Spec.Name = pick(random, roleNames); return "name " + role.Spec.Name },
		func() string {
			color := fmt.Sprintf("#%06X", random.IntN(1<<24))
			role.Spec.Color = &color
			return "color " + color
		},
		func() string { hoist := oneIn(random, 2); role.Spec.Hoist = &hoist; return "hoist" },
		func() string { may := oneIn(random, 2); role.Spec.Mentionable = &may; return "mentionable" },
		func() string {
			role.Spec.Permissions = pick(random,
				[][]v1alpha1.Permission{nil, {}, {"ViewChannel"}, {"SendMessages", "ViewChannel"}})
			return "permissions"
		},
		func() string { at := random.Int32N(4); role.Spec.Position = &at; return fmt.Sprintf("position %d", at) },
		func() string { return r.changeMembers(random, role) },
		func() string { return r.changeMembers(random, role) },
		func() string {
			role.Spec.DeletionPolicy = pick(random,
				[]v1alpha1.DeletionPolicy{"", v1alpha1.DeletionPolicyDelete, v1alpha1.DeletionPolicyRetain})
			return "policy " + string(role.Spec.DeletionPolicy)
		},
	})()
}

func (r *run) changeMembers(random *rand.Rand, role *v1alpha1.DiscordRole) string {
	role.Spec.Members = r.someUsers(random)
	return fmt.Sprintf("%d members", len(role.Spec.Members))
}

// someUsers may return so many users that Discord's rate limit delays the operator.
func (r *run) someUsers(random *rand.Rand) (some []v1alpha1.UserID) {
	most := fewUsers
	if oneIn(random, 3) {
		most = len(r.users)
	}
	for _, i := range random.Perm(len(r.users))[:random.IntN(most+1)] {
		some = append(some, v1alpha1.UserID(r.users[i]))
	}
	return some
}

func (r *run) editRole(ctx context.Context, a action) (string, error) {
	role, what := &v1alpha1.DiscordRole{}, ""
	err := r.edit(ctx, roleName(a.slot), role, func() {
		if what = "it is being deleted"; role.DeletionTimestamp == nil {
			what = r.changeRole(a.random(), role)
		}
	})
	return what, err
}

func (r *run) deleteRole(ctx context.Context, a action) (string, error) {
	return "deleted", r.delete(ctx, roleName(a.slot), &v1alpha1.DiscordRole{})
}

// The caller must lock s.mu, except during the set-up.
func (s *stage) recordUserRole(id string) {
	for _, role := range s.discord.Guild(s.guild).Roles {
		if role.ID == id {
			s.userRoles[id] = role
		}
	}
}

// anyRole omits the role sensei, because overwrites refer to it.
func (r *run) anyRole(random *rand.Rand) (discordtest.Role, error) {
	guild := r.discord.Guild(r.guild)
	all := slices.DeleteFunc(guild.Roles, func(role discordtest.Role) bool {
		return role.Managed || role.ID == r.guild || role.Name == sensei
	})
	if len(all) == 0 {
		return discordtest.Role{}, errors.New("there is none")
	}
	return pick(random, all), nil
}

func (r *run) handCreateRole(_ context.Context, a action) (string, error) {
	random := a.random()
	role := discordtest.Role{Name: pick(random, roleNames), Color: random.IntN(1 << 24)}
	r.mu.Lock()
	defer r.mu.Unlock()
	err := byHand(func() { role.ID = r.discord.CreateRoleByHand(r.guild, role) })
	r.recordUserRole(role.ID)
	return fmt.Sprintf("%q (%s)", role.Name, role.ID), err
}

func (r *run) handEditRole(_ context.Context, a action) (string, error) {
	random := a.random()
	role, err := r.anyRole(random)
	if err != nil {
		return "", err
	}
	what, top := "", r.botPosition()
	edit := pick(random, []func(*discordtest.Role){
		func(role *discordtest.Role) { role.Name, what = pick(random, roleNames), "name" },
		func(role *discordtest.Role) { role.Color, what = random.IntN(1<<24), "color" },
		func(role *discordtest.Role) { role.Hoist, what = !role.Hoist, "hoist" },
		func(role *discordtest.Role) { role.Mentionable, what = !role.Mentionable, "mentionable" },
		func(role *discordtest.Role) { role.Permissions, what = 0, "permissions" },
		func(role *discordtest.Role) { role.Position, what = 1+random.IntN(top), "position" },
	})
	changed := r.changeByHand(role.ID, func(role *discordtest.Role) {
		if edit(role); what == "position" {
			r.dragged[role.ID] = true
		}
	})
	return fmt.Sprintf("%s of %q (%s)", what, role.Name, role.ID), changed
}

func (r *run) changeByHand(id string, edit func(*discordtest.Role)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := byHand(func() { r.discord.EditRoleByHand(r.guild, id, edit) })
	if _, made := r.userRoles[id]; made && err == nil {
		r.recordUserRole(id)
	}
	return err
}

func (r *run) botPosition() int {
	guild := r.discord.Guild(r.guild)
	i := slices.IndexFunc(guild.Roles, func(role discordtest.Role) bool { return role.Managed })
	return guild.Roles[i].Position
}

// handLiftRole moves a role above the bot's role for a while: the bot then cannot edit it.
func (r *run) handLiftRole(ctx context.Context, a action) (string, error) {
	random := a.random()
	role, err := r.anyRole(random)
	if err != nil {
		return "", err
	}
	while := time.Duration(1+random.IntN(10)) * time.Second
	err = r.changeByHand(role.ID, func(role *discordtest.Role) { role.Position, r.dragged[role.ID] = 1000, true })
	r.later(ctx, while, func(context.Context) {
		_ = r.changeByHand(role.ID, func(role *discordtest.Role) { role.Position = 1 })
	})
	return fmt.Sprintf("%q (%s) for %s", role.Name, role.ID, while), err
}

func (r *run) handDeleteRole(_ context.Context, a action) (string, error) {
	role, err := r.anyRole(a.random())
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.userRoles, role.ID)
	return fmt.Sprintf("%q (%s)", role.Name, role.ID), byHand(func() { r.discord.DeleteRoleByHand(r.guild, role.ID) })
}
