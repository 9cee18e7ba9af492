// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/libs/apply"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	object := func(manager, subresource string, size int) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Name: "a", Annotations: map[string]string{"b": strings.Repeat("c", size)},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}, {Manager: manager, Subresource: subresource}},
			},
			Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"},
		}
	}
	marked := object("kubectl", "", 1)
	marked.Annotations["jutsu.com/too-large"] = "true"
	oursMarked := object(us, "", 1)
	oursMarked.Annotations["jutsu.com/too-large"] = "true"
	cases := map[string]struct {
		o              *corev1.Service
		kept, tooLarge bool
	}{
		"ours":                                  {object(us, "", 1), true, false},
		"ours, and large":                       {object(us, "", apply.MaxKept-4096), true, false},
		"written under our name, and too large": {object(us, "", apply.MaxKept), false, true},
		"another's":                             {object("helm", "", 1), false, false},
		"another's, and too large":              {object("helm", "", apply.MaxKept), false, false},
		"another's, whose status we wrote":      {object(us, "status", 1), false, false},
		"another's with our mark":               {marked, false, false},
		"ours with our mark":                    {oursMarked, true, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := true
			apply.Keep(us, c.o, func() {
				kept = false
				c.o.ObjectMeta, c.o.Spec = metav1.ObjectMeta{Name: "a"}, corev1.ServiceSpec{}
			})
			if kept != c.kept || apply.TooLarge(c.o) != c.tooLarge {
				t.Errorf("kept is %v, too large %v", kept, apply.TooLarge(c.o))
			}
		})
	}
}

func TestController(t *testing.T) {
	t.Parallel()
	dojo := metav1.OwnerReference{APIVersion: "core.jutsu.com/v1", Kind: "Dojo", Name: "tokyo", UID: "1"}
	dojo.Controller = new(true)
	long := dojo
	long.Name = strings.Repeat("a", 1<<20)
	cases := map[string]struct{ owners, want []metav1.OwnerReference }{
		"none":          {nil, nil},
		"no controller": {[]metav1.OwnerReference{{Kind: "Cluster"}}, nil},
		"a controller":  {[]metav1.OwnerReference{{Kind: "Cluster"}, dojo}, []metav1.OwnerReference{dojo}},
		"a controller with an invalidly long name": {[]metav1.OwnerReference{long}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := apply.Controller(&metav1.ObjectMeta{OwnerReferences: c.owners})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeepSharesEqualOwnership(t *testing.T) {
	t.Parallel()
	const fields = `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"%s\"}":{}}}}`
	now := metav1.Now()
	object := func(uid string) *corev1.Service {
		entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
			return metav1.ManagedFieldsEntry{
				Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationUpdate, Time: &now,
				FieldsV1: metav1.NewFieldsV1(fields),
			}
		}
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Name: uid, OwnerReferences: []metav1.OwnerReference{{UID: types.UID(uid), Controller: new(true)}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				entry("kubectl", "", `{"f:spec":{}}`), entry(us, "", fmt.Sprintf(fields, uid)),
				entry("kube-controller-manager", "scale", `{"f:spec":{"f:replicas":{}}}`),
				entry("kube-controller-manager", "status", `{"f:status":{}}`),
			},
		}}
	}
	a, b := object("a"), object("b")
	want := a.DeepCopy()
	for _, o := range []*corev1.Service{a, b, a} { // a twice, because a transform must be idempotent
		apply.Keep(us, o, func() { t.Error("is stripped") })
	}
	if a.ManagedFields[1].FieldsV1 != b.ManagedFields[1].FieldsV1 {
		t.Error("equal fields are held twice")
	}
	want.ManagedFields[0].FieldsV1, want.ManagedFields[3].FieldsV1 = nil, nil
	want.ManagedFields[1].FieldsV1 = metav1.NewFieldsV1(fmt.Sprintf(fields, ""))
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	if !apply.OwnedFields(us, a).Equals(apply.OwnedFields(us, object("a"))) {
		t.Error("it does not own the same fields as before")
	}
}
