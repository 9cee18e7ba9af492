// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/apply"
)

// The cache strips Secrets that are not a channel's, and keeps of a channel's own what reveals
// drift.
func TestStrip(t *testing.T) {
	t.Parallel()
	secret := func(owner *metav1.OwnerReference) *metav1.PartialObjectMetadata {
		s := apply.Metadata("v1", "Secret")
		s.ObjectMeta = metav1.ObjectMeta{
			Namespace: "school", Name: "hook", UID: "1", ResourceVersion: "7", Labels: map[string]string{"a": "b"},
			Annotations: map[string]string{"c": "d"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		}
		if owner != nil {
			s.OwnerReferences = []metav1.OwnerReference{*owner}
		}
		return s
	}
	channel := &metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "DiscordChannel", Name: "alerts",
		Controller: new(true)}
	other := &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "alerts", Controller: new(true)}
	stripped := func(owner *metav1.OwnerReference) *metav1.PartialObjectMetadata {
		s := apply.Metadata("v1", "Secret")
		s.Namespace, s.Name, s.UID, s.ResourceVersion = "school", "hook", "1", "7"
		s.OwnerReferences = secret(owner).OwnerReferences
		return s
	}
	cases := map[string]struct{ in, want any }{
		"without an owner":  {secret(nil), stripped(nil)},
		"of another owner":  {secret(other), stripped(other)},
		"of a channel":      {secret(channel), secret(channel)},
		"a tombstone stays": {"gone", "gone"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := strip(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Of a Namespace the cache keeps its labels.
func TestLabelsOnly(t *testing.T) {
	t.Parallel()
	namespace, want := apply.Metadata("v1", "Namespace"), apply.Metadata("v1", "Namespace")
	want.Name, want.UID, want.ResourceVersion, want.Labels = "school", "1", "7", map[string]string{"discord": "yes"}
	want.DeepCopyInto(namespace)
	namespace.Annotations = map[string]string{"a": "b"}
	namespace.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	got, err := labelsOnly(namespace)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if gone, _ := labelsOnly("gone"); gone != "gone" {
		t.Errorf("a tombstone becomes %v", gone)
	}
}
