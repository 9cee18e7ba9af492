// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/apply/expectations"
)

// removing keeps the resourceVersion, as the API server does if a patch removes the last finalizer.
type removing struct {
	client.Client
	err error
}

func (r removing) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return r.err
}

func TestRemoveFinalizer(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	refused := errors.New("connection refused")
	for name, c := range map[string]struct {
		finalizers  []string
		err, failed error
		again       bool // whether the cached object is reconciled again
	}{
		"removes the last finalizer": {},
		"the object is gone":         {err: apierrors.NewNotFound(schema.GroupResource{}, "tokyo")},
		"another finalizer remains":  {finalizers: []string{"example.com/other"}, again: true},
		"the API server fails":       {err: refused, failed: refused, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakePassiveClock(now)
			r := &Recorder{Kind: "DiscordChannel", Client: removing{err: c.err}, Expectations: expectations.NewSet(clock), Clock: clock}
			cached := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{
				Name: "tokyo", UID: "1", ResourceVersion: "7", DeletionTimestamp: &metav1.Time{Time: now},
				Finalizers: append([]string{v1alpha1.CleanupFinalizer}, c.finalizers...),
			}}
			if err := r.RemoveFinalizer(t.Context(), cached.DeepCopy()); !errors.Is(err, c.failed) {
				t.Fatalf("got the error %v, want %v", err, c.failed)
			}
			if got := r.Satisfied(cached); got != c.again {
				t.Errorf("the object that the cache still has is reconciled: %t, want %t", got, c.again)
			}
			next := cached.DeepCopy()
			next.UID, next.ResourceVersion = "2", "9"
			if !r.Satisfied(next) {
				t.Error("the next object of the name is not reconciled")
			}
		})
	}
}
