// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/testcluster/largest"
)

// An object uses at most four bytes of cache per byte of JSON, plus an allowance. A namespace at
// its quota uses at most half of the memory limit.
//
//nolint:paralleltest // measures the heap of the process
func TestMemoryOfLargestObjects(t *testing.T) {
	const limit = 256 << 20
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var together uint64
	for _, kind := range []string{"discordservers", "discordgroups", "discordchannels", "discordroles"} {
		crd, err := largest.Definition("../../../deploy/discord-operator/crds/discord.jutsu.com_" + kind + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		count, err := largest.Quota("../../../deploy/samples/install/namespaces/team/quota.yaml", crd)
		if err != nil {
			t.Fatal(err)
		}
		var most uint64
		for _, o := range largest.Of(crd) {
			held := largest.Held(3, func(uint64) any { return decoded(t, scheme, crd.Spec.Names.Kind, o.JSON) })
			most = max(most, held)
			if held > uint64(4*len(o.JSON)+largest.Allowance) {
				t.Errorf("%s, %s: %d bytes of JSON take %d", kind, o.Name, len(o.JSON), held)
			}
		}
		t.Logf("the largest of %s takes %d KiB; a namespace has %d", kind, most>>10, count)
		together += most * uint64(count)
	}
	t.Logf("those of a namespace take %d MiB together", together>>20)
	if together > limit/2 {
		t.Errorf("the objects of a namespace take %d MiB", together>>20)
	}
}

func decoded(t *testing.T, scheme *runtime.Scheme, kind string, text []byte) any {
	t.Helper()
	o, err := scheme.New(v1alpha1.GroupVersion.WithKind(kind))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, o); err != nil {
		t.Fatal(err)
	}
	kept, err := bare(o)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}
