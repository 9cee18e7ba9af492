// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"
)

func TestOwned(t *testing.T) {
	t.Parallel()
	fields := func(manager, text string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(text)}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"ours": "1", "theirs": "2"},
			ManagedFields: []metav1.ManagedFieldsEntry{
				fields("us", `{"f:metadata":{"f:labels":{"f:ours":{}}},"f:spec":{"f:nodeSelector":{},"f:containers":{"k:{\"name\":\"a\"}":`+
					`{".":{},"f:name":{},"f:image":{},"f:command":{}}}}}`),
				fields("them", `{"f:metadata":{"f:labels":{"f:theirs":{}}},"f:spec":{"f:hostname":{},"f:containers":{"k:{\"name\":\"a\"}":`+
					`{"f:workingDir":{}},"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}}`),
			},
		},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"x": "y"}, Hostname: "h",
			Containers: []corev1.Container{{Name: "b"}, {Name: "a", Image: "i", Command: []string{"x", "y"}, WorkingDir: "/"}},
		},
	}
	want := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"ours": "1"}},
		"spec": map[string]any{
			"nodeSelector": map[string]any{"x": "y"},
			"containers":   []any{map[string]any{"name": "a", "image": "i", "command": []any{"x", "y"}}},
		},
	}
	if diff := cmp.Diff(want, Owned("us", pod)); diff != "" {
		t.Error(diff)
	}
	if got := Owned("nobody", pod); len(got) > 0 {
		t.Errorf("nobody owns %v", got)
	}
}
