// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// roll is the replacement of a Cluster's pods, one after another, after their image or resources
// have changed.
type roll struct {
	of   types.UID // the Cluster
	from string    // image and resources of pods that are not replaced yet
	done int64     // number of replaced pods
}

// playRoll replaces the next pod of a healthy Cluster: the standbys first, then the primary. As in
// CloudNativePG, the status names the new image as soon as the first pod is replaced.
func (s *StandIn) playRoll(o *unstructured.Unstructured, image string, status map[string]any) {
	before := s.instancesOf(o)
	after := before.rolled(o, image, status)
	if before.roll != after.roll {
		s.change(o.GetNamespace(), o.GetName(), func(i *instances) { i.roll, i.primary = after.roll, after.primary })
	}
}

// rolled replaces the next pod in the status. With the method switchover, another instance becomes
// the primary before the former primary's pod is replaced (updatePrimaryPod in
// internal/controller/cluster_upgrade.go).
func (i instances) rolled(o *unstructured.Unstructured, image string, status map[string]any) instances {
	resources, _, _ := unstructured.NestedMap(o.Object, "spec", "resources")
	to := fmt.Sprint(image, resources)
	all := status["instances"].(int64)
	switch {
	case i.roll.of != o.GetUID() || i.roll.from == to || i.roll.done == all || status["readyInstances"] == int64(0):
		i.roll = roll{of: o.GetUID(), from: to} // all pods have this image and these resources
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
