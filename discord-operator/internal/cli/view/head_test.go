// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

func TestStateOfAnUnreadObject(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 2, 55, 0, 0, time.UTC)
	before := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(-d))) }
	for name, c := range map[string]struct {
		created, edited, deleted *metav1.Time
		finalizer                string
		want                     Health
	}{
		"created a second ago": {before(time.Second), nil, nil, "", Ready},
		"edited a second ago":  {before(time.Hour), before(time.Second), nil, "", Ready},
		"edited long ago":      {before(time.Hour), before(10 * time.Minute), nil, "", Unknown},
		"deleted a second ago": {before(time.Hour), before(10 * time.Minute), before(time.Second), v1alpha1.CleanupFinalizer, Deleting},
		"deleted long ago":     {before(time.Hour), nil, before(10 * time.Minute), v1alpha1.CleanupFinalizer, Unknown},
		"deleted long ago, only another client's finalizer is left": {before(time.Hour), nil, before(10 * time.Minute), "example.com/x", Deleting},
	} {
		o := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{
			Name: "alerts", Generation: 2, CreationTimestamp: *c.created, DeletionTimestamp: c.deleted,
		}}
		if c.finalizer != "" {
			o.Finalizers = []string{c.finalizer}
		}
		if c.edited != nil {
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Time: c.edited}, {Time: before(0), Subresource: "status"}}
		}
		conditions.Set(&o.Status.Conditions, 1, conditions.Usable(v1alpha1.ReasonOnDiscord, ""), nil)
		if got := StateOf(o, now); got.Health != c.want {
			t.Errorf("%s: %s (%s), want %s", name, got.Health, got.Message, c.want)
		}
	}
}
