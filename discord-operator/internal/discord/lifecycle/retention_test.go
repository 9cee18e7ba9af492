// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// A resource that the operator created does not count as adopted if spec.adopt names it later.
func TestNoRetention(t *testing.T) {
	t.Parallel()
	refused := conditions.Degraded(v1alpha1.ReasonNotAllowed, "No.")
	kind := aChannel
	for name, c := range map[string]struct {
		status v1alpha1.DiscordChannelStatus
		adopt  string
		want   bool
	}{
		"created":                                {v1alpha1.DiscordChannelStatus{ChannelID: "7"}, "", true},
		"created, and later named in spec.adopt": {v1alpha1.DiscordChannelStatus{ChannelID: "7"}, "7", true},
		"adopted":                                {v1alpha1.DiscordChannelStatus{ChannelID: "7", Adopted: true}, "7", false},
		"bound without proof of its create":      {v1alpha1.DiscordChannelStatus{ChannelID: "7", Matched: true}, "", false},
		"bound without proof of its create, and later named in spec.adopt": {v1alpha1.DiscordChannelStatus{ChannelID: "7", Matched: true}, "7", true},
		"no resource": {v1alpha1.DiscordChannelStatus{}, "", false},
	} {
		o := &v1alpha1.DiscordChannel{Status: c.status}
		if c.adopt != "" {
			o.Spec.Adopt = &v1alpha1.Adoption{ID: c.adopt}
		}
		r := resourcesOf(kind, clocktesting.NewFakePassiveClock(time.Now()), nil)
		if got := r.NoRetention(o, refused); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := r.NoRetention(o, nil); got != nil {
			t.Errorf("%s, allowed: %v", name, got)
		}
	}
}

func TestNoRetentionBeforeTheStatusHasTheID(t *testing.T) {
	t.Parallel()
	refused := conditions.Degraded(v1alpha1.ReasonNotAllowed, "No.")
	for name, c := range map[string]struct {
		record func(*Records)
		want   bool
	}{
		"created": {func(r *Records) { r.Bound("uid", "7") }, true},
		"adopted": {func(r *Records) { r.Adopted("uid", "7") }, false},
	} {
		o := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
		o.Spec.Adopt = &v1alpha1.Adoption{ID: "7"}
		r := resourcesOf(aChannel, clocktesting.NewFakePassiveClock(time.Now()), nil)
		c.record(r.Records)
		if got := r.NoRetention(o, refused); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestIsAdopted(t *testing.T) {
	t.Parallel()
	of := func(id string) Results { return Results{Live: &discordclient.Channel{ID: id}} }
	made := of("7")
	made.Created = true
	for name, c := range map[string]struct {
		binding Binding
		results Results
		want    bool
	}{
		"adopted now":    {Binding{Adopted: true}, of("7"), true},
		"adopted before": {Binding{Identity: Identity{Adopted: true, StatusID: "7"}}, of("7"), true},
		"created":        {Binding{}, made, false},
		"created in place of the adopted resource":   {Binding{Identity: Identity{Adopted: true, StatusID: "6"}}, made, false},
		"recovered in place of the adopted resource": {Binding{Identity: Identity{Adopted: true, StatusID: "6"}}, of("7"), false},
	} {
		if got := c.binding.IsAdopted(c.results); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

type channels struct {
	client.Reader
	items []v1alpha1.DiscordChannel
}

func (c channels) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.DiscordChannelList).Items = c.items
	return nil
}

// A tenant cannot leave a created channel on Discord by a second object that adopts the channel.
func TestAdoptionFromAnotherObject(t *testing.T) {
	t.Parallel()
	type change = func(*v1alpha1.DiscordChannel)
	released := func(c *v1alpha1.DiscordChannel) {
		c.Spec.ManagementPolicy, c.Status.Observed = v1alpha1.ManagementPolicyObserve, true
	}
	ofServer := func(c *v1alpha1.DiscordChannel) { c.Namespace = "platform" }
	elsewhere := func(c *v1alpha1.DiscordChannel) { c.Namespace = "elsewhere" }
	adopted := func(c *v1alpha1.DiscordChannel) { c.Status.Adopted = true }
	guessed := func(c *v1alpha1.DiscordChannel) { c.Status.Matched = true }
	observes := func(l *Lookup) {
		l.Object.(*v1alpha1.DiscordChannel).Spec.ManagementPolicy = v1alpha1.ManagementPolicyObserve
	}
	ended := func(c *v1alpha1.DiscordChannel) {
		c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"example.com/another"}
	}
	deleted := func(c *v1alpha1.DiscordChannel) { ended(c); c.Finalizers = []string{v1alpha1.CleanupFinalizer} }
	onlySpec := func(c *v1alpha1.DiscordChannel) {
		c.Spec.Adopt, c.Status.ChannelID = &v1alpha1.Adoption{ID: c.Status.ChannelID}, ""
	}
	for name, c := range map[string]struct {
		object []func(*Lookup)
		other  []change // nil for no other object
		want   bool     // whether the object reports the channel as adopted
	}{
		"a channel of no object":                                                    {object: []func(*Lookup){foreign}, want: true},
		"created for an object that released it":                                    {object: []func(*Lookup){foreign}, other: []change{released}},
		"created for an object of another namespace":                                {object: []func(*Lookup){foreign}, other: []change{released, elsewhere}},
		"created for an object that is being deleted":                               {object: []func(*Lookup){foreign}, other: []change{released, deleted}},
		"created for an object that still manages it":                               {object: []func(*Lookup){foreign, observes}, other: []change{}},
		"adopted by an object that released it":                                     {object: []func(*Lookup){foreign}, other: []change{released, adopted}, want: true},
		"bound without proof of its create":                                         {object: []func(*Lookup){foreign}, other: []change{released, guessed}, want: true},
		"created for an object whose deletion has ended":                            {object: []func(*Lookup){foreign}, other: []change{released, ended}, want: true},
		"only named in another object's spec":                                       {object: []func(*Lookup){foreign}, other: []change{released, onlySpec}, want: true},
		"created for an object in the server's namespace":                           {object: []func(*Lookup){foreign}, other: []change{released, ofServer}, want: true},
		"created for another namespace's object, adopted in the server's namespace": {other: []change{released, elsewhere}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			id := r.make(t, "alerts", "").ID
			l := r.lookup(append(c.object, adopts(id))...)
			items := []v1alpha1.DiscordChannel{*l.Object.(*v1alpha1.DiscordChannel)}
			if c.other != nil {
				other := v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "first", UID: "first"}}
				other.Status.ChannelID = id
				for _, apply := range c.other {
					apply(&other)
				}
				items = append(items, other)
			}
			r.resources.Cache = channels{items: items}
			b, err := r.resources.Bind(t.Context(), r.client, l)
			if err != nil || b.Live == nil {
				t.Fatalf("%v, %v", b.Live, err)
			}
			if got := b.IsAdopted(Results{Live: b.Live}); got != c.want {
				t.Errorf("adopted: %t", got)
			}
		})
	}
}

func TestForceDoesNotBypassRetention(t *testing.T) {
	t.Parallel()
	limited := *conditions.Progressing(v1alpha1.ReasonRateLimited, "Later.").After(time.Hour)
	refused := conditions.Degraded(v1alpha1.ReasonNotAllowed, "No.")
	for name, known := range map[string]conditions.Issue{
		"a failure": *issues.DeletionFailed("Gone."), "a rate limit": limited, "a refusal": *refused,
	} {
		r := resourcesOf(aChannel, clocktesting.NewFakePassiveClock(time.Now()), nil)
		o := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{
			DeletionTimestamp: &metav1.Time{Time: time.Now().Add(-time.Hour)},
			Finalizers:        []string{v1alpha1.CleanupFinalizer},
			Annotations:       map[string]string{v1alpha1.ForceDeleteAnnotation: "true"},
		}}
		plan := r.Kind.PlanDeletion(false, Binding{Lookup: Lookup{NoRetention: refused}}, []conditions.Issue{known})
		if results := Delete(t.Context(), nil, r.Status, o, plan); results.Deleted || len(results.Issues) != 1 ||
			results.Issues[0].Reason != known.Reason {
			t.Errorf("%s: %+v", name, results)
		}
	}
}
