// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

type roll struct {
	of   types.UID // the Cluster
	from string    // image, resources, parameters and plugins of pods that are not replaced yet
	done int64     // number of replaced pods
	// plugins are the plugins of pods that are not replaced yet.
	plugins string
}

// Postgres reads these parameters only at its start. Source:
// https://www.postgresql.org/docs/18/view-pg-settings.html
var startParameters = []string{
	"autovacuum_freeze_max_age", "huge_pages", "max_connections", "max_files_per_process", "max_locks_per_transaction",
	"max_prepared_transactions", "max_replication_slots", "max_wal_senders", "max_worker_processes", "shared_buffers",
	"superuser_reserved_connections", "track_activity_query_size", "track_commit_timestamp", "wal_buffers", "wal_level",
	"wal_log_hints",
}

func pluginsOf(o *unstructured.Unstructured) (names []string) {
	plugins, _, _ := unstructured.NestedSlice(o.Object, "spec", "plugins")
	for _, plugin := range plugins {
		name, _, _ := unstructured.NestedString(plugin.(map[string]any), "name")
		names = append(names, name)
	}
	return names
}

// playRoll replaces the next pod, and changes the status. As in CloudNativePG, the status names the
// new image as soon as the first pod is replaced.
func (s *StandIn) playRoll(o *unstructured.Unstructured, image string, status map[string]any) {
	before := s.instancesOf(o)
	after := before.rolled(o, image, status)
	if before.roll != after.roll {
		s.change(o.GetNamespace(), o.GetName(), func(i *instances) { i.roll, i.primary = after.roll, after.primary })
	}
}

// rolled replaces the next pod. With the method switchover, a standby becomes primary before the
// former primary's pod is replaced (updatePrimaryPod in internal/controller/cluster_upgrade.go).
func (i instances) rolled(o *unstructured.Unstructured, image string, status map[string]any) instances {
	resources, _, _ := unstructured.NestedMap(o.Object, "spec", "resources")
	parameters, _, _ := unstructured.NestedMap(o.Object, "spec", "postgresql", "parameters")
	maps.DeleteFunc(parameters, func(name string, _ any) bool { return !slices.Contains(startParameters, name) })
	to := fmt.Sprint(image, resources, parameters, pluginsOf(o))
	all := status["instances"].(int64)
	switch {
	case i.roll.of != o.GetUID() || i.roll.from == to || i.roll.done == all || status["readyInstances"] == int64(0):
		i.roll = roll{of: o.GetUID(), from: to, plugins: fmt.Sprint(pluginsOf(o))} // all pods have the values in to
		return i
	case status["phase"] != healthy:
		return i
	}
	i.roll.done++
	name := func(n int64) string { return fmt.Sprintf("%s-%d", o.GetName(), (i.primary+n)%all+1) }
	away := name(all - i.roll.done)
	method, _, _ := unstructured.NestedString(o.Object, "spec", "primaryUpdateMethod")
	if i.roll.done == all && all > 1 && method == "switchover" {
		i.primary++
		status["currentPrimary"], status["targetPrimary"] = name(0), name(0)
	}
	list := status["instancesStatus"].(map[string]any)
	list["healthy"] = slices.DeleteFunc(list["healthy"].([]any), func(instance any) bool { return instance == away })
	status["phase"], status["readyInstances"] = upgrading, all-1
	return i
}
