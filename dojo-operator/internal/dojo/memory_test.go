// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/test/testcluster/largest"
)

// hostile returns about size*3/4 bytes of metadata, with our labels and forged owner references.
func hostile(size int) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: "team-a", UID: "6f1c6a0e-5f0c-4f0b-8d9e-3f1f0c5a7b21", ResourceVersion: "123456789",
		Labels: map[string]string{
			ownership.NameLabel: ownership.Application, ownership.InstanceLabel: "tokyo",
			"app.kubernetes.io/managed-by": ownership.FieldOwner,
		},
		Annotations: map[string]string{"a": strings.Repeat("b", size/4)},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: corev1api.GroupVersion.String(), Kind: "Dojo", Name: "tokyo",
			UID: "6f1c6a0e-5f0c-4f0b-8d9e-3f1f0c5a7b22", Controller: new(true),
		}},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Update"}},
	}
	for i := range size / 2 / 128 {
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "Pod", Name: "p", UID: types.UID(fmt.Sprintf("%040d", i))})
	}
	return m
}

func deployment(size int, m metav1.ObjectMeta) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: m}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "dojo"}}
	c := &d.Spec.Template.Spec.Containers[0]
	for i := range size / 4 / 64 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("A%d", i), Value: strings.Repeat("v", 48)})
	}
	return d
}

// See docs/platform/multi-tenancy.md for these limits.
//
//nolint:paralleltest // measures the heap of the process
func TestMemoryOfForgedObjects(t *testing.T) {
	const mebibyte, n = 1 << 20, 50
	secret := apply.Metadata("v1", "Secret")
	secret.ObjectMeta = hostile(mebibyte)
	granting := apply.Metadata("v1", "Secret")
	granting.ObjectMeta = hostile(mebibyte)
	granting.Annotations[corev1api.AllowedNamespacesAnnotation] = strings.Repeat("a,", 32<<10)
	large := deployment(mebibyte, hostile(mebibyte))
	asUs := deployment(mebibyte, written(hostile(mebibyte)))
	ours, many := written(hostile(0)), written(hostile(0))
	ours.Annotations["a"] = strings.Repeat("b", apply.MaxKept-4<<10)
	largest := deployment(0, ours)
	// Per byte of JSON, an empty list item takes the most memory.
	empty := &appsv1.Deployment{ObjectMeta: many}
	for range apply.MaxKept / 2 / unsafe.Sizeof(corev1.Container{}) {
		empty.Spec.Template.Spec.Containers = append(empty.Spec.Template.Spec.Containers, corev1.Container{})
	}
	cases := []struct {
		name   string
		object client.Object
		most   uint64 // bytes in the heap
	}{
		{"Secret or ConfigMap of 1 MiB", secret, 2 << 10},
		{"Secret of 1 MiB, shared with a list of 64 KiB", granting, 66 << 10},
		{"Deployment of 1 MiB", large, 4 << 10},
		{"Deployment of 1 MiB, written with our field manager", asUs, 4 << 10},
		{"Deployment that the cache keeps, written with our field manager", largest, apply.MaxKept + 8<<10},
		{"Deployment that the cache keeps, with many empty list items", empty, apply.MaxKept * 5 / 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			per := heapOf(t, c.object, n)
			t.Logf("%s: %d bytes of %d in the cache", c.name, per, size(c.object))
			if per > c.most {
				t.Errorf("%d bytes, more than %d", per, c.most)
			}
		})
	}
}

func size(o client.Object) int { return len(encoded(o)) }

func encoded(o client.Object) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return text
}

type message interface {
	client.Object
	Marshal() ([]byte, error)
	Unmarshal(text []byte) error
}

func heapOf(t *testing.T, o client.Object, n uint64) uint64 {
	t.Helper()
	text, err := o.(message).Marshal()
	must(t, err)
	return largest.Held(n, func(i uint64) any {
		var one message = &appsv1.Deployment{}
		if _, ok := o.(*metav1.PartialObjectMetadata); ok {
			one = &metav1.PartialObjectMetadata{}
		}
		must(t, one.Unmarshal(text))
		one.SetName(fmt.Sprintf("object-%d", i))
		return stripped(t, one)
	})
}

func stripped(t *testing.T, o any) any {
	t.Helper()
	kept, err := strip(o)
	must(t, err)
	return kept
}

// A Dojo takes at most 4 bytes of cache per byte of its JSON, and an allowance. If a namespace has
// as many Dojos as its quota permits, and each has the largest size, these Dojos together take at
// most half of the memory limit.
//
//nolint:paralleltest // measures the heap of the process
func TestMemoryOfLargestDojos(t *testing.T) {
	const limit = 256 << 20
	crd, err := largest.Definition("../../../deploy/dojo-operator/crds/core.jutsu.com_dojos.yaml")
	must(t, err)
	count, err := largest.Quota("../../../deploy/samples/install/namespaces/team/quota.yaml", crd)
	must(t, err)
	var most uint64
	for _, o := range largest.Of(crd) {
		held := largest.Held(3, func(uint64) any {
			dojo := &corev1api.Dojo{}
			must(t, json.Unmarshal(o.JSON, dojo))
			return stripped(t, dojo)
		})
		most = max(most, held)
		if held > uint64(4*len(o.JSON)+largest.Allowance) {
			t.Errorf("%s: %d bytes of JSON take %d", o.Name, len(o.JSON), held)
		}
	}
	t.Logf("the largest takes %d KiB, and %d of them %d MiB", most>>10, count, most*uint64(count)>>20)
	if most*uint64(count) > limit/2 {
		t.Errorf("%d Dojos of a namespace take %d MiB", count, most*uint64(count)>>20)
	}
}
