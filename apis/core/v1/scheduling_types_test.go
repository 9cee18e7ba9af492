// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// The API server prunes fields that our types lack. Without this test, a field that Kubernetes
// adds to its own types would be lost silently.
func TestSchedulingTypesHaveTheFieldsOfKubernetes(t *testing.T) {
	t.Parallel()
	alike(t, "affinity", reflect.TypeFor[corev1api.Affinity](), reflect.TypeFor[corev1.Affinity]())
	alike(t, "spread", reflect.TypeFor[corev1api.TopologySpreadConstraint](), reflect.TypeFor[corev1.TopologySpreadConstraint]())
}

// alike compares the JSON fields of two types, and of the types of their fields.
func alike(t *testing.T, path string, got, want reflect.Type) {
	t.Helper()
	if got.Kind() != want.Kind() {
		t.Errorf("%s is a %s, not a %s", path, got.Kind(), want.Kind())
		return
	}
	switch got.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		alike(t, path+"[]", got.Elem(), want.Elem())
	case reflect.Struct:
		if got.NumField() != want.NumField() {
			t.Errorf("%s has %d fields, not %d", path, got.NumField(), want.NumField())
		}
		for i := range want.NumField() {
			name := jsonName(want.Field(i))
			field, ok := got.FieldByNameFunc(func(n string) bool { f, _ := got.FieldByName(n); return jsonName(f) == name })
			if !ok {
				t.Errorf("%s lacks %s", path, name)
				continue
			}
			alike(t, path+"."+name, field.Type, want.Field(i).Type)
		}
	default:
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
