// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/apply"
)

// The cache strips Secrets that the operator has not written, even if a DiscordChannel owns them.
func TestStrip(t *testing.T) {
	t.Parallel()
	secret := func(manager string, owner *metav1.OwnerReference) *metav1.PartialObjectMetadata {
		s := apply.Metadata("v1", "Secret")
		s.ObjectMeta = metav1.ObjectMeta{
			Namespace: "school", Name: "hook", UID: "1", ResourceVersion: "7", Labels: map[string]string{"a": "b"},
			Annotations: map[string]string{"c": "d"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: manager}},
		}
		if owner != nil {
			s.OwnerReferences = []metav1.OwnerReference{*owner}
		}
		return s
	}
	channel := &metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "DiscordChannel", Name: "alerts",
		Controller: new(true)}
	other := &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "alerts", Controller: new(true)}
	stripped := func(owners ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
		s := apply.Metadata("v1", "Secret")
		s.Namespace, s.Name, s.UID, s.ResourceVersion = "school", "hook", "1", "7"
		s.OwnerReferences = owners
		return s
	}
	cases := map[string]struct{ in, want any }{
		"another client's Secret without an owner":    {secret("kubectl", nil), stripped()},
		"another client's Secret of a Pod":            {secret("kubectl", other), stripped(*other)},
		"another client's Secret with a forged owner": {secret("kubectl", channel), stripped(*channel)},
		"the operator's Secret":                       {secret("discord-operator", channel), secret("discord-operator", channel)},
		"the operator's Secret without an owner":      {secret("discord-operator", nil), secret("discord-operator", nil)},
		"a tombstone":                                 {"gone", "gone"},
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

func TestBare(t *testing.T) {
	t.Parallel()
	channel := func(annotations map[string]string) *v1alpha1.DiscordChannel {
		return &v1alpha1.DiscordChannel{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "school", Name: "alerts", UID: "1", ResourceVersion: "7", Generation: 3,
				Finalizers: []string{v1alpha1.CleanupFinalizer}, Annotations: annotations,
			},
			Spec: v1alpha1.DiscordChannelSpec{Name: "alerts"},
		}
	}
	forced := map[string]string{v1alpha1.ForceDeleteAnnotation: "true"}
	for name, c := range map[string]struct{ annotations, want map[string]string }{
		"no annotations":                                {nil, nil},
		"an annotation of another program":              {map[string]string{"a": "b"}, nil},
		"the force-delete annotation":                   {map[string]string{"a": "b", v1alpha1.ForceDeleteAnnotation: "true"}, forced},
		"the force-delete annotation with the value no": {map[string]string{v1alpha1.ForceDeleteAnnotation: "no"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := channel(c.annotations)
			o.Labels, o.OwnerReferences = map[string]string{"a": "b"}, []metav1.OwnerReference{{Name: "tokyo"}}
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
			got, err := bare(o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(any(channel(c.want)), got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if gone, _ := bare("gone"); gone != "gone" {
		t.Errorf("a tombstone becomes %v", gone)
	}
}

func TestVersionOnly(t *testing.T) {
	t.Parallel()
	cm, want := apply.Metadata("v1", "ConfigMap"), apply.Metadata("v1", "ConfigMap")
	want.Namespace, want.Name, want.UID, want.ResourceVersion = "school", "icon", "1", "7"
	want.DeepCopyInto(cm)
	cm.Labels, cm.Annotations = map[string]string{"a": "b"}, map[string]string{"a": "b"}
	cm.OwnerReferences = []metav1.OwnerReference{{Name: "tokyo"}}
	cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	got, err := versionOnly(cm)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if gone, _ := versionOnly("gone"); gone != "gone" {
		t.Errorf("a tombstone becomes %v", gone)
	}
}

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
