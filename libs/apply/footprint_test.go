// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

//nolint:paralleltest // measures the heap of the process
func TestFootprint(t *testing.T) {
	const items = 1000
	repeated := func(item string) string { return "[" + strings.Repeat(item+",", items) + item + "]" }
	pod := func() any { return &corev1.Pod{} }
	custom := func() any { return &unstructured.Unstructured{} }
	const head = `{"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":"2026-01-02T12:00:00Z"},`
	for name, c := range map[string]struct {
		empty func() any
		text  string
	}{
		"a long string":      {pod, head + `"spec":{"nodeName":"` + strings.Repeat("a", 64<<10) + `"}}`},
		"empty containers":   {pod, head + `"spec":{"containers":` + repeated(`{"name":"a"}`) + `}}`},
		"empty tolerations":  {pod, head + `"spec":{"tolerations":` + repeated(`{}`) + `}}`},
		"owners":             {pod, `{"metadata":{"ownerReferences":` + repeated(`{"name":"a","uid":"b"}`) + `}}`},
		"a list of maps":     {custom, head + `"spec":{"a":` + repeated(`{"a":"b"}`) + `}}`},
		"a list of strings":  {custom, head + `"spec":{"a":` + repeated(`"abcdefgh"`) + `}}`},
		"a list of integers": {custom, head + `"spec":{"a":` + repeated(`123456`) + `}}`},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 20
			kept := make([]any, n)
			before := heap()
			for i := range kept {
				kept[i] = c.empty()
				if err := json.Unmarshal([]byte(c.text), kept[i]); err != nil {
					t.Fatal(err)
				}
			}
			got := (heap() - before) / n
			want := footprint(kept[0])
			runtime.KeepAlive(c.text)
			if got > 2*want || want > 2*got {
				t.Errorf("takes %d bytes, not %d", got, want)
			}
		})
	}
	empty := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()}}
	if got := footprint(empty); got > 1<<10 {
		t.Errorf("an empty object takes %d bytes", got)
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
