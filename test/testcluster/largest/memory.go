// SPDX-License-Identifier: Apache-2.0

package largest

import (
	"fmt"
	"os"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Held returns the average heap bytes of n values. Nothing else may allocate memory meanwhile.
func Held(n uint64, value func(i uint64) any) uint64 {
	kept := make([]any, n)
	before := heap()
	for i := range n {
		kept[i] = value(i)
	}
	after := heap()
	runtime.KeepAlive(kept)
	return (max(after, before) - before) / n
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // collects what the first call finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Definition reads a CustomResourceDefinition from a file.
func Definition(file string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	return crd, read(file, crd)
}

// Quota returns the number of objects of a kind that the ResourceQuota in a file allows.
func Quota(file string, crd *apiextensionsv1.CustomResourceDefinition) (int64, error) {
	quota := &corev1.ResourceQuota{}
	if err := read(file, quota); err != nil {
		return 0, err
	}
	count, ok := quota.Spec.Hard[corev1.ResourceName("count/"+crd.Name)]
	if !ok {
		return 0, fmt.Errorf("%s does not bound %s", file, crd.Name)
	}
	return count.Value(), nil
}

func read(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(text, into)
}
