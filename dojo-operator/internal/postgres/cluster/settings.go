// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
)

// Refused is what it means where CloudNativePG's webhook calls a Cluster invalid, such as for a
// parameter that it sets itself.
func Refused() apply.Refusal {
	return apply.Refusal{
		Reason: corev1api.ReasonClusterRefused,
		Advice: "The Cluster stays as it is. Correct what the error names in spec.postgres.cluster, " +
			"whose fields have almost the same names.",
	}
}

// volume is a volume of each instance.
func volume(want corev1api.PostgresStorage) map[string]any {
	storage := map[string]any{"size": want.Size.String()}
	if class := want.StorageClassName; class != "" {
		storage["storageClass"] = class
	}
	return storage
}

// addSettings adds to a Cluster's spec how Postgres is configured and where its instances run. Nothing
// of it is empty.
func addSettings(spec map[string]any, want *corev1api.PostgresCluster) {
	if want.WALStorage != nil {
		spec["walStorage"] = volume(*want.WALStorage)
	}
	postgresql := map[string]any{}
	if len(want.Parameters) > 0 {
		postgresql["parameters"] = apply.As[map[string]any](want.Parameters)
	}
	if sync := want.Synchronous; sync != nil {
		postgresql["synchronous"] = map[string]any{
			"method": "any", "number": int64(sync.Number),
			// Both so that no acknowledged commit is ever lost: writes wait while standbys are missing, and
			// none takes over that may lack a commit (docs/src/failover.md, Failover quorum).
			"dataDurability": "required", "failoverQuorum": true,
		}
	}
	if len(postgresql) > 0 {
		spec["postgresql"] = postgresql
	}
	if affinity := affinityFor(want.Affinity); len(affinity) > 0 {
		spec["affinity"] = affinity
	}
}

// affinityFor is the affinity in CloudNativePG's words. Its type leaves out what is empty.
func affinityFor(want *corev1api.PostgresAffinity) map[string]any {
	if want == nil {
		return nil
	}
	affinity := &cnpgv1.AffinityConfiguration{
		TopologyKey: want.TopologyKey, NodeSelector: want.NodeSelector, Tolerations: want.Tolerations,
	}
	switch want.PodAntiAffinity {
	case "":
	case corev1api.PodAntiAffinityDisabled:
		affinity.EnablePodAntiAffinity = new(false)
	case corev1api.PodAntiAffinityPreferred, corev1api.PodAntiAffinityRequired:
		affinity.PodAntiAffinityType = strings.ToLower(string(want.PodAntiAffinity))
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(affinity)
	if err != nil {
		panic(err) // not of a type whose fields are those of JSON
	}
	return fields
}

// Extensions are those that the database of a Dojo should have, in the words of a Database; nil for
// none.
func Extensions(d *corev1api.Dojo) (all []any) {
	if own := d.Spec.Postgres.Cluster; own != nil {
		for _, name := range own.Extensions {
			all = append(all, map[string]any{"name": string(name), "ensure": string(cnpgv1.EnsurePresent)})
		}
	}
	return all
}

// Failure is why CloudNativePG cannot bring a Database into Postgres: its own message does not say it
// of an extension.
func Failure(db *cnpgv1.Database) string {
	for _, extension := range db.Status.Extensions {
		if !extension.Applied {
			return fmt.Sprintf("the extension %s of spec.postgres.cluster.extensions: %s", extension.Name,
				strings.TrimSuffix(extension.Message, "."))
		}
	}
	return db.Status.Message
}
