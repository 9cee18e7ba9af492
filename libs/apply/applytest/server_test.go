// SPDX-License-Identifier: Apache-2.0

package applytest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/apply/applytest"
)

func newServer() *applytest.Server {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	return applytest.New(clientgoscheme.Scheme, testclock.NewFakePassiveClock(noon))
}

const (
	byUpdate = metav1.ManagedFieldsOperationUpdate
	byApply  = metav1.ManagedFieldsOperationApply
)

func applied(t *testing.T, s *applytest.Server, o *unstructured.Unstructured) error {
	config := client.ApplyConfigurationFromUnstructured(o)
	return s.Apply(t.Context(), config, client.FieldOwner("us"), client.ForceOwnership)
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "tokyo"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "dojo", Image: "dojo:1"}}},
			},
		},
	}
}

func fieldsOf(o client.Object, manager string, by metav1.ManagedFieldsOperationType, subresource string) string {
	for _, entry := range o.GetManagedFields() {
		if entry.Manager == manager && entry.Operation == by && entry.Subresource == subresource {
			return entry.FieldsV1.GetRawString()
		}
	}
	return ""
}

func TestCreatorOwnsDefaults(t *testing.T) {
	t.Parallel()
	s := newServer()
	d := deployment()
	if err := s.Create(t.Context(), d, client.FieldOwner("us")); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Generation != 1 || d.ResourceVersion == "" || *d.Spec.RevisionHistoryLimit != 10 {
		t.Errorf("created %+v", d)
	}
	fields := fieldsOf(d, "us", byUpdate, "")
	for _, field := range []string{
		`"f:image"`, `"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{}`,
		`"f:revisionHistoryLimit"`, `"f:replicas"`,
	} {
		if !strings.Contains(fields, field) {
			t.Errorf("%s is not owned: %s", field, fields)
		}
	}
	if strings.Contains(fields, "f:status") {
		t.Errorf("owns the status: %s", fields)
	}
	if err := s.Create(t.Context(), deployment()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("created twice: %v", err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if err := s.Create(t.Context(), service, client.FieldOwner("us")); err != nil {
		t.Fatal(err)
	}
	fields = fieldsOf(service, "us", byUpdate, "")
	if service.Spec.ClusterIP == "" || strings.Contains(fields, "clusterIP") ||
		!strings.Contains(fields, `k:{\"port\":80,\"protocol\":\"TCP\"}`) {
		t.Errorf("%s, owned are %s", service.Spec.ClusterIP, fields)
	}
}

func TestWrites(t *testing.T) {
	t.Parallel()
	s := newServer()
	d := deployment()
	if err := s.Create(t.Context(), d, client.FieldOwner("us")); err != nil {
		t.Fatal(err)
	}
	before := d.DeepCopy()
	d = applytest.Edit(t, s, "kubectl", d, func(*appsv1.Deployment) {})
	if diff := cmp.Diff(before, d); diff != "" {
		t.Errorf("an update that changes nothing: %s", diff)
	}
	d = applytest.EditStatus(t, s, "kube-controller-manager", d, func(d *appsv1.Deployment) {
		d.Status.Replicas = 1
		*d.Spec.Replicas = 9
	})
	if d.Generation != 1 || d.Status.Replicas != 1 || *d.Spec.Replicas != 1 {
		t.Errorf("a status update makes %+v", d)
	}
	d = applytest.Scale(t, s, "kube-controller-manager", d, func(d *appsv1.Deployment) { *d.Spec.Replicas = 9 })
	scaled := fieldsOf(d, "kube-controller-manager", byUpdate, "scale")
	if scaled != `{"f:spec":{"f:replicas":{}}}` {
		t.Errorf("scaled fields are %q", scaled)
	}
	if d.Generation != 2 || d.Status.Replicas != 1 || strings.Contains(fieldsOf(d, "us", byUpdate, ""), "f:replicas") {
		t.Errorf("scaling makes %+v", d)
	}
	stale := before.DeepCopy()
	stale.Labels["x"] = "y"
	if err := s.Update(t.Context(), stale); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old version: %v", err)
	}
	if err := s.Delete(t.Context(), d, client.Preconditions{UID: &d.UID}); err != nil {
		t.Error(err)
	}
	if applytest.Get(t, s, "school", "tokyo", &appsv1.Deployment{}) != nil {
		t.Error("is not deleted")
	}
	want := []string{
		"POST Deployment school/tokyo", "PUT Deployment school/tokyo", "PUT Deployment school/tokyo",
		"DELETE Deployment school/tokyo",
	}
	if diff := cmp.Diff(want, s.Writes); diff != "" {
		t.Error(diff)
	}
}

const widgets = `
spec:
  group: example.org
  names: {kind: Widget}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      size: {type: integer, default: 3},
      groups: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
        items: {type: object, properties: {
          name: {type: string},
          interval: {type: string, default: 1m},
          rules: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}}}}
`

func TestCustomResources(t *testing.T) {
	t.Parallel()
	s := newServer()
	if err := s.AddCRD([]byte(widgets)); err != nil {
		t.Fatal(err)
	}
	widget := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.org/v1", "kind": kind,
			"metadata": map[string]any{"namespace": "school", "name": "tokyo"},
			"spec": map[string]any{"groups": []any{
				map[string]any{"name": "a", "rules": []any{map[string]any{"alert": "Down"}}},
			}},
		}}
	}
	o := widget("Widget")
	if err := s.Create(t.Context(), o, client.FieldOwner("us")); err != nil {
		t.Fatal(err)
	}
	const want = `{"f:spec":{".":{},"f:groups":{".":{},"k:{\"name\":\"a\"}":` +
		`{".":{},"f:interval":{},"f:name":{},"f:rules":{}}},"f:size":{}}}`
	if diff := cmp.Diff(want, fieldsOf(o, "us", byUpdate, "")); diff != "" {
		t.Error(diff)
	}
	config := widget("Widget")
	config.SetUID(o.GetUID())
	if err := applied(t, s, config); err != nil {
		t.Fatal(err)
	}
	if fieldsOf(config, "us", byApply, "") == "" || config.GetGeneration() != 1 {
		t.Errorf("applied %v", config)
	}
	for name, refused := range map[string]func(error) bool{
		"tokyo": apierrors.IsInvalid, "kyoto": apierrors.IsConflict,
	} {
		config := widget("Widget")
		config.SetName(name)
		config.SetUID("another")
		if err := applied(t, s, config); !refused(err) {
			t.Errorf("%s, applied with the UID of another object: %v", name, err)
		}
	}
	unknown := widget("Gadget")
	if err := s.Create(t.Context(), unknown, client.FieldOwner("us")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"f:spec":{".":{},"f:groups":{}}}`, fieldsOf(unknown, "us", byUpdate, "")); diff != "" {
		t.Error(diff)
	}
}
