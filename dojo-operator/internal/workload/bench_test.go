// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/libs/apply"
)

func BenchmarkShare(b *testing.B) {
	const n = 5000
	texts := make([][]byte, n)
	for i := range texts {
		texts[i] = storedDeployment(b, fmt.Sprintf("dojo-%04d", i))
	}
	for name, share := range map[string]func(*appsv1.Deployment){"apart": func(*appsv1.Deployment) {}, "shared": Share} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before, all := liveHeap(), make([]*appsv1.Deployment, n)
				for i, text := range texts {
					all[i] = &appsv1.Deployment{}
					if err := json.Unmarshal(text, all[i]); err != nil {
						b.Fatal(err)
					}
					share(all[i])
				}
				b.ReportMetric(float64(liveHeap()-before)/n, "B/Deployment")
				runtime.KeepAlive(all)
			}
		})
	}
	runtime.KeepAlive(texts)
}

func liveHeap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // a second time, since the first run may free only caches
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func storedDeployment(b *testing.B, name string) []byte {
	b.Helper()
	keys := []string{"DB_ENDPOINT", "DB_PORT", "DB_NAME", "DB_USER", "DB_PASS"}
	access := Credentials{SecretName: name + "-credentials", Keys: keys, Revision: "r"}
	made := deploymentFor(dojotest.Dojo(dojotest.Named(name)), access, "dojo:1", Config{}, new(int32(1)))
	live := apply.As[appsv1.Deployment](made)
	live.UID, live.ResourceVersion = "01234567-89ab-cdef-0123-456789abcdef", "123456"
	live.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentProgressing, Status: "True", Reason: "NewReplicaSetAvailable",
			Message: "ReplicaSet " + name + "-abcdefghij has successfully progressed."},
		{Type: appsv1.DeploymentAvailable, Status: "True", Reason: "MinimumReplicasAvailable",
			Message: "Deployment has minimum availability."},
	}
	text, err := json.Marshal(live)
	if err != nil {
		b.Fatal(err)
	}
	return text
}
