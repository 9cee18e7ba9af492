// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
)

type channels struct {
	client.Client
	items []v1alpha1.DiscordChannel
}

func (c channels) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.DiscordChannelList).Items = c.items
	return nil
}

func inGroup(namespace, channelID, groupID string, finalizers ...string) v1alpha1.DiscordChannel {
	c := v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c", Finalizers: finalizers}}
	if len(finalizers) > 0 {
		c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	c.Spec.GroupRef = &v1alpha1.GroupReference{Namespace: "ns", Name: "g"}
	c.Status.ChannelID, c.Status.GroupID = channelID, groupID
	return c
}

func TestDependents(t *testing.T) {
	t.Parallel()
	const ours, another = v1alpha1.CleanupFinalizer, "example.com/another"
	for name, c := range map[string]struct {
		groupID string
		channel v1alpha1.DiscordChannel
		waits   bool
	}{
		"a channel with a grant":                               {"5", inGroup("ns", "", ""), true},
		"a reference without a grant":                          {"5", inGroup("tenant", "7", ""), false},
		"a channel in the category, the grant has ended":       {"5", inGroup("tenant", "7", "5"), true},
		"a reference without a grant, the group is new":        {"", inGroup("tenant", "7", ""), false},
		"a channel that is being deleted":                      {"5", inGroup("ns", "7", "5", ours, another), true},
		"a channel whose deletion has ended":                   {"5", inGroup("ns", "7", "5", another), false},
		"another namespace's channel whose deletion has ended": {"5", inGroup("tenant", "7", "5", another), false},
		"a channel that is being deleted before it is bound":   {"5", inGroup("ns", "", "", ours), true},
	} {
		g := &v1alpha1.DiscordGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g"}}
		g.Status.GroupID = c.groupID
		cached := channels{items: []v1alpha1.DiscordChannel{c.channel}}
		r := &Reconciler{Controller: controller.Controller{Client: cached, Grants: grant.NewReader(cached, nil, false)}}
		if err := r.dependents(t.Context(), g); (err != nil) != c.waits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLeavesGroup(t *testing.T) {
	t.Parallel()
	const ours, another = v1alpha1.CleanupFinalizer, "example.com/another"
	in, deleted, ended := inGroup("ns", "7", "5"), inGroup("ns", "7", "5", ours, another), inGroup("ns", "7", "5", another)
	moved, without := inGroup("ns", "7", "5"), inGroup("ns", "7", "5")
	moved.Spec.GroupRef, without.Spec.GroupRef = &v1alpha1.GroupReference{Name: "other"}, nil
	for name, c := range map[string]struct {
		before, after v1alpha1.DiscordChannel
		want          bool
	}{
		"unchanged":               {in, in, false},
		"moved":                   {in, moved, true},
		"moved out of all groups": {in, without, true},
		"never in a group":        {without, without, false},
		"is being deleted":        {in, deleted, false},
		"the deletion has ended":  {deleted, ended, true},
		"the deletion had ended before the update": {ended, ended, false},
	} {
		if got := leavesGroup.Update(event.UpdateEvent{ObjectOld: &c.before, ObjectNew: &c.after}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
