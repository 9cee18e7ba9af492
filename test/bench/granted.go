// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

// granted is the attack of a tenant that may use the victim's DiscordServer and DiscordGroup, and
// may create roles.
func granted(ctx context.Context, s *stage, n int) background {
	all := &v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
	server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "server-0"}}
	group := &v1alpha1.DiscordGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: groupName(0, 0)}}
	check(s.patch(ctx, server, func() {
		server.Spec.AllowedNamespaces = all
		server.Spec.AllowedRoles = &v1alpha1.AllowedRoles{Namespaces: *all, Permissions: []v1alpha1.Permission{"ViewChannel"}}
	}))
	check(s.patch(ctx, group, func() { group.Spec.AllowedNamespaces = all }))
	objects := max(len(grantedObjects), n/serversOf)
	return func(ctx context.Context, flooded func(), ending <-chan struct{}) error {
		if err := paced(ctx, s, objects, grantedObject); err != nil {
			return err
		}
		flooded()
		return eachSecond(ctx, ending, func(second int) error {
			for i := range objects {
				if err := s.disturb(ctx, i, second); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// disturb edits object i. If it is a channel with the deletionPolicy Retain, disturb recreates it.
func (s *stage) disturb(ctx context.Context, i, second int) error {
	o := grantedObject(i)
	if c, isChannel := o.(*v1alpha1.DiscordChannel); isChannel && c.Spec.DeletionPolicy == v1alpha1.DeletionPolicyRetain {
		if err := client.IgnoreNotFound(s.Admin.Delete(ctx, o)); err != nil {
			return err
		}
		// The old object may still exist, because a finalizer delays its deletion.
		if err := s.Admin.Create(ctx, grantedObject(i)); !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	}
	field := "topic"
	if _, isRole := o.(*v1alpha1.DiscordRole); isRole {
		field = "name"
	}
	patch := fmt.Appendf(nil, `{"spec":{%q:"second %d"}}`, field, second)
	return s.Admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
}

func grantedObject(i int) client.Object {
	o := grantedObjects[i%len(grantedObjects)](i)
	o.SetNamespace(abuseNamespace)
	o.SetName(fmt.Sprintf("granted-%04d", i))
	return o
}

var (
	otherServer = v1alpha1.ServerReference{Namespace: namespace, Name: "server-0"}

	// These objects are refused, need many calls to Discord, or leave channels on Discord.
	grantedObjects = []func(i int) client.Object{
		func(int) client.Object { // Discord lets only administrators set these permissions.
			return grantedChannel(v1alpha1.DiscordChannelSpec{PermissionOverwrites: []v1alpha1.PermissionOverwrite{
				{Role: "@everyone", Allow: []v1alpha1.Permission{"ManageRoles"}}}})
		},
		func(int) client.Object {
			return grantedChannel(v1alpha1.DiscordChannelSpec{DeletionPolicy: v1alpha1.DeletionPolicyRetain})
		},
		func(int) client.Object { // a role that does not exist
			return grantedChannel(v1alpha1.DiscordChannelSpec{PermissionOverwrites: []v1alpha1.PermissionOverwrite{
				{Role: "none", Allow: []v1alpha1.Permission{"ViewChannel"}}}})
		},
		func(i int) client.Object { return grantedRole("Administrator", i) },
		func(i int) client.Object { return grantedRole("ViewChannel", i) },
	}
)

func grantedChannel(spec v1alpha1.DiscordChannelSpec) client.Object {
	spec.Name, spec.GroupRef = "granted", &v1alpha1.GroupReference{Namespace: namespace, Name: groupName(0, 0)}
	return &v1alpha1.DiscordChannel{Spec: spec}
}

// grantedRole has as many members as the API allows. None is a member of the guild.
func grantedRole(permission v1alpha1.Permission, i int) client.Object {
	r := &v1alpha1.DiscordRole{Spec: v1alpha1.DiscordRoleSpec{ServerRef: otherServer, Name: "granted",
		Permissions: []v1alpha1.Permission{permission}}}
	for j := range 100 {
		r.Spec.Members = append(r.Spec.Members, v1alpha1.UserID(fmt.Sprintf("9%09d", 100*i+j)))
	}
	return r
}

func (s *stage) patch(ctx context.Context, o client.Object, change func()) error {
	if err := s.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	before := o.DeepCopyObject().(client.Object)
	change()
	return s.Admin.Patch(ctx, o, client.MergeFrom(before))
}
