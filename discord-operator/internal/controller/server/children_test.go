// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/index"
)

type objects struct {
	client.Client
	groups   []v1alpha1.DiscordGroup
	channels []v1alpha1.DiscordChannel
	roles    []v1alpha1.DiscordRole
}

func (o objects) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	selector := (&client.ListOptions{}).ApplyOptions(options).FieldSelector
	_, byGroup := selector.RequiresExactMatch(index.ChannelByGroup)
	_, inServer := selector.RequiresExactMatch(index.ChannelInServer)
	switch list := list.(type) {
	case *v1alpha1.DiscordGroupList:
		list.Items = o.groups
	case *v1alpha1.DiscordChannelList:
		list.Items = slices.DeleteFunc(slices.Clone(o.channels), func(c v1alpha1.DiscordChannel) bool {
			if inServer {
				return c.Status.ServerRef == nil
			}
			elsewhere := c.Spec.GroupRef != nil && c.Spec.GroupRef.Name != "child"
			return elsewhere || (c.Spec.GroupRef != nil) != byGroup
		})
	case *v1alpha1.DiscordRoleList:
		list.Items = o.roles
	}
	return nil
}

// child returns the metadata of an object. If it has finalizers, it is being deleted.
func child(finalizers ...string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "child", Finalizers: finalizers}
	if len(finalizers) > 0 {
		meta.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return meta
}

func TestDependents(t *testing.T) {
	t.Parallel()
	const ours, another = v1alpha1.CleanupFinalizer, "example.com/another"
	group := func(finalizers ...string) []v1alpha1.DiscordGroup {
		return []v1alpha1.DiscordGroup{{ObjectMeta: child(finalizers...)}}
	}
	channel := func(ref *v1alpha1.GroupReference, finalizers ...string) []v1alpha1.DiscordChannel {
		return []v1alpha1.DiscordChannel{
			{ObjectMeta: child(finalizers...), Spec: v1alpha1.DiscordChannelSpec{GroupRef: ref}},
		}
	}
	role := func(finalizers ...string) []v1alpha1.DiscordRole {
		return []v1alpha1.DiscordRole{{ObjectMeta: child(finalizers...)}}
	}
	in := &v1alpha1.GroupReference{Name: "child"}
	moved := func(id, guild string, finalizers ...string) []v1alpha1.DiscordChannel {
		all := channel(&v1alpha1.GroupReference{Name: "of another server"}, finalizers...)
		all[0].Status = v1alpha1.DiscordChannelStatus{
			ChannelID: id, ServerID: guild, ServerRef: &v1alpha1.ServerReference{Name: "s"},
		}
		return all
	}
	for name, c := range map[string]struct {
		objects objects
		waits   bool
		claimed bool // by another DiscordServer
	}{
		"no objects":                       {},
		"a group":                          {objects{groups: group()}, true, false},
		"a group that is being deleted":    {objects{groups: group(ours, another)}, true, false},
		"a group whose deletion has ended": {objects{groups: group(another)}, false, false},
		"a channel of a group whose deletion has ended": {objects{groups: group(another), channels: channel(in)}, true, false},
		"a channel":                                {objects{channels: channel(nil)}, true, false},
		"a channel that is being deleted":          {objects{channels: channel(nil, ours)}, true, false},
		"a channel whose deletion has ended":       {objects{channels: channel(nil, another)}, false, false},
		"ended deletions of a group and a channel": {objects{groups: group(another), channels: channel(in, another)}, false, false},
		"a channel moved to a group of another server, still in this server on Discord": {objects{channels: moved("1", "7")}, true, false},
		"a channel moved to a group of another DiscordServer of the same guild":         {objects{channels: moved("1", "7")}, false, true},
		"a channel moved to a group of another server, already there on Discord":        {objects{channels: moved("1", "8")}, false, false},
		"a channel moved to a group of another server, not on Discord":                  {objects{channels: moved("", "7")}, false, false},
		"a channel moved to a group of another server, the deletion has ended":          {objects{channels: moved("1", "7", another)}, false, false},
		"a role":                          {objects{roles: role()}, true, false},
		"a role that is being deleted":    {objects{roles: role(ours)}, true, false},
		"a role whose deletion has ended": {objects{roles: role(another)}, false, false},
	} {
		r := &Reconciler{Client: c.objects, Grants: grant.NewReader(c.objects, nil, false)}
		server := &v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}
		server.Status.ServerID = "7"
		if err := r.dependents(t.Context(), server, c.claimed); (err != nil) != c.waits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChildChanged(t *testing.T) {
	t.Parallel()
	const ours, another = v1alpha1.CleanupFinalizer, "example.com/another"
	role := func(id string, generation int64, finalizers ...string) *v1alpha1.DiscordRole {
		o := &v1alpha1.DiscordRole{ObjectMeta: child(finalizers...), Status: v1alpha1.DiscordRoleStatus{RoleID: id}}
		o.Generation = generation
		return o
	}
	for name, c := range map[string]struct {
		before, after *v1alpha1.DiscordRole
		want          bool
	}{
		"unchanged":              {role("1", 1), role("1", 1), false},
		"a new spec":             {role("1", 1), role("1", 2), true},
		"a new id":               {role("1", 1), role("2", 1), true},
		"the deletion has ended": {role("1", 2, ours, another), role("1", 2, another), true},
		"the deletion had ended before the update": {role("1", 2, another), role("1", 2, another), false},
	} {
		if got := childChanged.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
