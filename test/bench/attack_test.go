// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/test/environment"
)

// etcd stores at most 1.5 MiB per object, including its managedFields.
func TestForgedObjectsAreAsLargeAsPossible(t *testing.T) {
	for i, kind := range forgedKinds {
		o := forge(kind(), i, environment.Dojo, &metav1.OwnerReference{Kind: "Dojo", Name: "tokyo", UID: "1"})
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(len(text)) / mib; got < 0.8 || got > 1.3 {
			t.Errorf("%T has %.1f MiB", o, got)
		}
	}
}
