// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/dojo-operator/internal/ownership"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	fine, failing := pod("a"), pod("a", crashed(3))
	again, other := pod("a", crashed(4)), pod("a", waiting("ErrImagePull", ""))
	ready := pod("a", corev1.ContainerStatus{Name: "dojo", Ready: true})
	updated := func(before, after *corev1.Pod) bool {
		return Changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
	}
	cases := map[string]struct{ got, want bool }{
		"new and fine":           {Changed.Create(event.CreateEvent{Object: &fine}), false},
		"new with trouble":       {Changed.Create(event.CreateEvent{Object: &failing}), true},
		"becomes ready":          {updated(&fine, &ready), false},
		"gets into trouble":      {updated(&fine, &failing), true},
		"crashes once more":      {updated(&failing, &again), false},
		"gets another trouble":   {updated(&failing, &other), true},
		"recovers":               {updated(&failing, &ready), true},
		"the schema's pod fails": {updated(endedPod(ownership.Schema, "", 0), endedPod(ownership.Schema, "no", 3)), true},
		"the schema's pod, which had ended already, is updated": {updated(endedPod(ownership.Schema, "", 0), endedPod(ownership.Schema, "", 0)), false},
		"a release step's pod ends": {updated(&corev1.Pod{ObjectMeta: endedPod(ownership.Release, "", 0).ObjectMeta},
			endedPod(ownership.Release, "", 0)), true},
		"a release step's pod, which had ended already, is updated": {updated(endedPod(ownership.Release, "", 0), endedPod(ownership.Release, "", 0)), false},
		"the application's pod fails": {updated(endedPod(ownership.Application, "", 0),
			endedPod(ownership.Application, "no", 3)), false},
		"deleted without trouble":     {Changed.Delete(event.DeleteEvent{Object: &fine}), false},
		"the schema's pod is deleted": {Changed.Delete(event.DeleteEvent{Object: endedPod(ownership.Schema, "", 0)}), true},
		"deleted with trouble":        {Changed.Delete(event.DeleteEvent{Object: &failing}), true},
		"a generic event":             {Changed.Generic(event.GenericEvent{Object: &failing}), false},
	}
	for name, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: reconciled is %v", name, c.got)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	a, b := pod("a"), pod("b")
	a.Spec.NodeName, a.Spec.Hostname = "n", "h"
	Strip(&a)
	for want, all := range map[string][]corev1.Pod{
		"": nil, "1 still running, such as b": {b}, "2 still running, such as a on the node n": {b, a},
	} {
		if got := Describe(all); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if a.Spec.Hostname != "" {
		t.Error("Strip keeps the hostname")
	}
}

func endedPod(name, message string, code int32) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: ownership.Labels(tokyo(), name)}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}},
	}}
	return p
}

type indexes map[string]client.IndexerFunc

func (i indexes) IndexField(_ context.Context, o client.Object, name string, values client.IndexerFunc) error {
	i[fmt.Sprintf("%T %s", o, name)] = values
	return nil
}

type failing struct{ after int }

func (f *failing) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	if f.after--; f.after < 0 {
		return errAway
	}
	return nil
}

var errAway = errors.New("connection refused")

func TestIndexes(t *testing.T) {
	t.Parallel()
	found := indexes{}
	if err := AddIndexes(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	application := metav1.ObjectMeta{Labels: ownership.Labels(tokyo(), ownership.Application)}
	schema := metav1.ObjectMeta{Labels: ownership.Labels(tokyo(), ownership.Schema)}
	cases := map[string]struct {
		index  string
		object client.Object
		want   []string
	}{
		"pod of the application": {"*v1.Pod " + OfApplication, &corev1.Pod{ObjectMeta: application},
			[]string{"tokyo"}},
		"pod of the schema, in the application's index": {"*v1.Pod " + OfApplication, &corev1.Pod{ObjectMeta: schema}, nil},
		"pod of the schema":                             {"*v1.Pod " + OfSchema, &corev1.Pod{ObjectMeta: schema}, []string{"tokyo"}},
		"pod of the application, in the schema's index": {"*v1.Pod " + OfSchema, &corev1.Pod{ObjectMeta: application}, nil},
		"Job of the schema":                             {"*v1.Job " + JobOfSchema, &batchv1.Job{ObjectMeta: schema}, []string{"tokyo"}},
		"Job without labels":                            {"*v1.Job " + JobOfSchema, &batchv1.Job{}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, found[c.index](c.object)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for after := range len(found) {
		if err := AddIndexes(t.Context(), &failing{after}); !errors.Is(err, errAway) {
			t.Errorf("an error of the index number %d is lost", after)
		}
	}
}
