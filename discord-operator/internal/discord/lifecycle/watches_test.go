// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

func TestRoleBound(t *testing.T) {
	t.Parallel()
	role := func(id string, conditions int) *v1alpha1.DiscordRole {
		return &v1alpha1.DiscordRole{Status: v1alpha1.DiscordRoleStatus{
			RoleID: id, Conditions: make([]metav1.Condition, conditions)}}
	}
	deleted := func(o *v1alpha1.DiscordRole) *v1alpha1.DiscordRole {
		o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		return o
	}
	for name, c := range map[string]struct {
		before, after *v1alpha1.DiscordRole
		want          bool
	}{
		"not created, is being deleted":          {role("", 0), deleted(role("", 0)), true},
		"not created, was being deleted already": {deleted(role("", 0)), deleted(role("", 0)), false},
		"created, is being deleted":              {role("1", 4), deleted(role("1", 4)), false},
		"created on Discord":                     {role("", 0), role("1", 4), true},
		"created again":                          {role("1", 4), role("2", 4), true},
		"not created, with its first status":     {role("", 0), role("", 4), true},
		"still not created":                      {role("", 4), role("", 4), false},
		"no relevant change":                     {role("1", 4), role("1", 4), false},
	} {
		if got := RoleBound.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if RoleBound.Create(event.CreateEvent{Object: role("1", 4)}) {
		t.Error("a watch reports an object that exists at the start")
	}
	if !RoleBound.Delete(event.DeleteEvent{Object: role("1", 4)}) {
		t.Error("the deletion of a role is not reported")
	}
}

func TestOnDelete(t *testing.T) {
	t.Parallel()
	var forgotten []types.UID
	forget := func(uid types.UID) { forgotten = append(forgotten, uid) }
	also := func(uid types.UID) { forget(uid + ", twice") }
	o := &v1alpha1.DiscordRole{ObjectMeta: metav1.ObjectMeta{UID: "gone"}}
	h := OnDelete(forget, also)
	h.Create(t.Context(), event.CreateEvent{Object: o}, nil)
	h.Update(t.Context(), event.UpdateEvent{ObjectOld: o, ObjectNew: o}, nil)
	h.Delete(t.Context(), event.DeleteEvent{Object: o}, nil)
	if !slices.Equal(forgotten, []types.UID{"gone", "gone, twice"}) {
		t.Errorf("forgotten: %v", forgotten)
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	r := &Resources{Kind: Kind{Identity: func(o client.Object) Identity {
		return Identity{StatusID: o.(*v1alpha1.DiscordRole).Status.RoleID}
	}}}
	role := func(id string) *v1alpha1.DiscordRole {
		return &v1alpha1.DiscordRole{Status: v1alpha1.DiscordRoleStatus{RoleID: id}}
	}
	for name, c := range map[string]struct {
		before, after string
		want          bool
	}{
		"created on Discord": {"", "1", true},
		"created again":      {"1", "2", true},
		"gone":               {"1", "", false},
		"unchanged":          {"1", "1", false},
	} {
		if got := r.Bound().Update(event.UpdateEvent{ObjectOld: role(c.before), ObjectNew: role(c.after)}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if r.Bound().Create(event.CreateEvent{Object: role("1")}) || r.Bound().Delete(event.DeleteEvent{Object: role("1")}) {
		t.Error("the controller's own watch reconciles created and deleted objects")
	}
}

func TestReleased(t *testing.T) {
	t.Parallel()
	const ours, another = v1alpha1.CleanupFinalizer, "example.com/another"
	r := &Resources{Kind: aChannel}
	channel := func(id string, observed bool, finalizers ...string) *v1alpha1.DiscordChannel {
		c := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers}}
		c.Status.ChannelID, c.Status.Observed = id, observed
		if len(finalizers) > 0 {
			c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		return c
	}
	for name, c := range map[string]struct {
		before, after *v1alpha1.DiscordChannel
		want          bool
	}{
		"unchanged":                {channel("1", false), channel("1", false), false},
		"created on Discord":       {channel("", false), channel("1", false), false},
		"bound to another channel": {channel("1", false), channel("2", false), true},
		"now only observed":        {channel("1", false), channel("1", true), true},
		"managed again":            {channel("1", true), channel("1", false), false},
		"is being deleted":         {channel("1", false), channel("1", false, ours, another), false},
		"the deletion has ended":   {channel("1", false, ours, another), channel("1", false, another), true},
		"the deletion of an object without an id has ended":        {channel("", false, ours, another), channel("", false, another), true},
		"the deletion had ended before the update":                 {channel("1", false, another, another), channel("1", false, another), false},
		"deleted without our finalizer, so the deletion has ended": {channel("1", false), channel("1", false, another), true},
	} {
		if got := r.Released().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
