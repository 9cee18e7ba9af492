// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/environment"
)

const (
	// guest is the namespace of a tenant with grants from the first tenant's DiscordServer.
	guest   = "chaos-guest"
	ceiling = discordtest.PermViewChannel | discordtest.PermSendMessages
)

var guestRoleNames = append(slices.Clone(roleNames), sensei)

func guestName(slot int) string { return fmt.Sprintf("guest-%d", slot) }

func allowGuest(spec *v1alpha1.DiscordServerSpec) {
	namespaces := v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector,
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: guest}}}
	spec.AllowedNamespaces = &namespaces
	spec.AllowedRoles = &v1alpha1.AllowedRoles{
		Namespaces: namespaces, Permissions: []v1alpha1.Permission{"ViewChannel", "SendMessages"}}
}

func guestSetup() []client.Object {
	name := metav1.ObjectMeta{Name: "discord-operator-namespaces"}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: guest}},
		&rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: name,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind,
				Namespace: environment.Discord.Namespace, Name: environment.Discord.Name}}},
	}
}

func guestServer() v1alpha1.ServerReference {
	return v1alpha1.ServerReference{Namespace: namespace, Name: serverName}
}

func (r *run) createGuestGroup(ctx context.Context, a action) (string, error) {
	random := a.random()
	g := &v1alpha1.DiscordGroup{ObjectMeta: metav1.ObjectMeta{Namespace: guest, Name: guestName(a.slot)}}
	g.Spec.ServerRef, g.Spec.Name = guestServer(), pick(random, groupNames)
	what := fmt.Sprintf("%q", g.Spec.Name)
	if live, err := r.anyChannel(random, true); err == nil && oneIn(random, 4) {
		g.Spec.Adopt = &v1alpha1.Adoption{ID: live.ID}
		what += ", adopts " + live.ID
	}
	return what + r.changeGuest(random, g), r.create(ctx, g)
}

func (r *run) createGuestChannel(ctx context.Context, a action) (string, error) {
	random := a.random()
	c := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: guest, Name: guestName(a.slot)}}
	c.Spec.Name = pick(random, channelNames)
	switch random.IntN(4) {
	case 0:
		server := guestServer()
		c.Spec.ServerRef = &server
	case 1:
		c.Spec.GroupRef = &v1alpha1.GroupReference{Namespace: namespace, Name: groupName(random.IntN(groupSlots))}
	default:
		c.Spec.GroupRef = &v1alpha1.GroupReference{Name: guestName(random.IntN(guestSlots))}
	}
	what := "#" + c.Spec.Name + describe(c)
	if live, err := r.anyChannel(random, false); err == nil && oneIn(random, 4) {
		c.Spec.Adopt = &v1alpha1.Adoption{ID: live.ID}
		what += ", adopts " + live.ID
	}
	return what + r.changeGuest(random, c), r.create(ctx, c)
}

func (r *run) createGuestRole(ctx context.Context, a action) (string, error) {
	random := a.random()
	role := &v1alpha1.DiscordRole{ObjectMeta: metav1.ObjectMeta{Namespace: guest, Name: guestName(a.slot)}}
	role.Spec.ServerRef, role.Spec.Name = guestServer(), pick(random, guestRoleNames)
	what := fmt.Sprintf("%q", role.Spec.Name)
	if live, err := r.anyRole(random); err == nil && oneIn(random, 4) {
		role.Spec.Adopt = &v1alpha1.Adoption{ID: live.ID}
		what += ", adopts " + live.ID
	}
	var changes []string
	for range 1 + random.IntN(4) {
		changes = append(changes, r.changeGuest(random, role))
	}
	return what + strings.Join(changes, ""), r.create(ctx, role)
}

func (r *run) changeGuest(random *rand.Rand, o client.Object) string {
	policy := pick(random, []v1alpha1.DeletionPolicy{"", v1alpha1.DeletionPolicyDelete, v1alpha1.DeletionPolicyRetain})
	management := pick(random, []v1alpha1.ManagementPolicy{
		v1alpha1.ManagementPolicyManage, v1alpha1.ManagementPolicyManage, v1alpha1.ManagementPolicyObserve})
	which := random.IntN(6)
	switch o := o.(type) {
	case *v1alpha1.DiscordGroup:
		return changeGuestPlace(random, which, policy, management,
			&o.Spec.DeletionPolicy, &o.Spec.ManagementPolicy, &o.Spec.Position, &o.Spec.PermissionOverwrites)
	case *v1alpha1.DiscordChannel:
		return changeGuestPlace(random, which, policy, management,
			&o.Spec.DeletionPolicy, &o.Spec.ManagementPolicy, &o.Spec.Position, &o.Spec.PermissionOverwrites)
	case *v1alpha1.DiscordRole:
		return r.changeGuestRole(random, which, policy, management, &o.Spec)
	}
	return ""
}

func changeGuestPlace(
	random *rand.Rand, which int, policy v1alpha1.DeletionPolicy, management v1alpha1.ManagementPolicy,
	setPolicy *v1alpha1.DeletionPolicy, setManagement *v1alpha1.ManagementPolicy, position **int32,
	overwrites *[]v1alpha1.PermissionOverwrite,
) string {
	switch which {
	case 0:
		*setPolicy = policy
		return ", policy " + string(policy)
	case 1:
		*setManagement = management
		return ", " + string(management)
	case 2:
		at := random.Int32N(4)
		*position = &at
		return fmt.Sprintf(", position %d", at)
	default:
		*overwrites = guestOverwrites(random)
		return ", overwrites"
	}
}

func guestOverwrites(random *rand.Rand) []v1alpha1.PermissionOverwrite {
	view := []v1alpha1.Permission{"ViewChannel"}
	return pick(random, [][]v1alpha1.PermissionOverwrite{
		nil, {},
		{{Role: "@everyone", Deny: view}},
		{{Role: pick(random, guestRoleNames), Allow: view}},
		{{RoleRef: &v1alpha1.RoleReference{Name: guestName(random.IntN(guestSlots))}, Allow: view}},
	})
}

var guestPermissions = [][]v1alpha1.Permission{
	nil, {}, {"ViewChannel"}, {"SendMessages", "ViewChannel"},
	{"Administrator"}, {"ManageRoles"}, {"ManageWebhooks", "ViewChannel"}, {"ManageChannels"},
}

func (r *run) changeGuestRole(
	random *rand.Rand, which int, policy v1alpha1.DeletionPolicy, management v1alpha1.ManagementPolicy,
	spec *v1alpha1.DiscordRoleSpec,
) string {
	switch which {
	case 0:
		spec.DeletionPolicy = policy
		return ", policy " + string(policy)
	case 1:
		spec.ManagementPolicy = management
		return ", " + string(management)
	case 2:
		at := random.Int32N(4)
		spec.Position = &at
		return fmt.Sprintf(", position %d", at)
	case 3:
		spec.Members = r.someUsers(random)
		return fmt.Sprintf(", %d members", len(spec.Members))
	default:
		spec.Permissions = pick(random, guestPermissions)
		return fmt.Sprintf(", permissions %v", spec.Permissions)
	}
}

func guestObjects(slot int) []client.Object {
	in := metav1.ObjectMeta{Namespace: guest, Name: guestName(slot)}
	return []client.Object{&v1alpha1.DiscordGroup{ObjectMeta: in}, &v1alpha1.DiscordChannel{ObjectMeta: in},
		&v1alpha1.DiscordRole{ObjectMeta: in}}
}

// editGuest also edits objects that are being deleted.
func (r *run) editGuest(ctx context.Context, a action) (string, error) {
	random := a.random()
	o := pick(random, guestObjects(a.slot))
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	if err := r.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return "", err
	}
	before := o.DeepCopyObject().(client.Object)
	what := r.changeGuest(random, o)
	return kindOf(o) + what, r.patch(ctx, o, before)
}

// deleteGuest deletes an object of the guest. If the object's resource would remain on Discord, the
// operator completes the deletion only after releaseGuests.
func (r *run) deleteGuest(ctx context.Context, a action) (string, error) {
	o := pick(a.random(), guestObjects(a.slot))
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	return "deleted its " + kindOf(o), r.Admin.Delete(ctx, o)
}

func (r *run) releaseGuests(ctx context.Context) error {
	patch := client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"deletionPolicy":"Delete","managementPolicy":"Manage"}}`))
	for slot := range guestSlots {
		for _, o := range guestObjects(slot) {
			if err := client.IgnoreNotFound(r.Admin.Patch(ctx, o, patch)); err != nil {
				return err
			}
		}
	}
	return nil
}

type guests struct {
	groups   []*v1alpha1.DiscordGroup
	channels []*v1alpha1.DiscordChannel
	roles    []*v1alpha1.DiscordRole
}

func (g *guests) all() []client.Object {
	return slices.Concat(objects(g.groups), objects(g.channels), objects(g.roles))
}

func (r *run) gatherGuests(ctx context.Context) (*guests, error) {
	var groups v1alpha1.DiscordGroupList
	var channels v1alpha1.DiscordChannelList
	var roles v1alpha1.DiscordRoleList
	for _, list := range []client.ObjectList{&groups, &channels, &roles} {
		if err := r.Admin.List(ctx, list, client.InNamespace(guest)); err != nil {
			return nil, err
		}
	}
	return &guests{pointers(groups.Items), pointers(channels.Items), pointers(roles.Items)}, nil
}
