// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/internal/netpol"
)

const (
	anyPort      = 8081 // nothing listens on it
	postgresPort = 5432
	statusPort   = 8000
	metricsPort  = 9187
)

// confinesTeams evaluates the policies for peers with CloudNativePG's pod labels. The labels are
// copied from pkg/specs/pods.go and jobs.go of CloudNativePG 1.30. test/e2e compares them with the
// labels of real pods.
func (n *namespaced) confinesTeams(t *testing.T) {
	g := NewWithT(t)
	var policies networkingv1.NetworkPolicyList
	g.Expect(n.admin.List(t.Context(), &policies)).To(Succeed())
	dojo := n.podOf(t, "team-a", "dojo")
	job, otherDojo := n.podOf(t, "team-a", "dojo-schema"), n.podOf(t, "team-b", "dojo")
	http := dojo.Pod.Spec.Containers[0].Ports[0].ContainerPort
	const cluster = "nagoya-jujutsu-high-db"
	instance := peer("team-a", map[string]string{"cnpg.io/cluster": cluster, "cnpg.io/podRole": "instance"})
	instance.Pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{
		{Name: "postgresql", ContainerPort: postgresPort}, {Name: "metrics", ContainerPort: metricsPort},
		{Name: "status", ContainerPort: statusPort},
	}}}
	joining := peer("team-a", map[string]string{"cnpg.io/cluster": cluster, "cnpg.io/jobRole": "join"})
	otherInstance := peer("team-b", instance.Pod.Labels)
	neighbour, otherPod := peer("team-a", nil), peer("team-b", nil)
	cnpg := peer("cnpg-system", map[string]string{"app.kubernetes.io/name": "cloudnative-pg"})
	impostor := peer("team-b", cnpg.Pod.Labels)
	ingress, prometheus := peer("ingress-nginx", nil), peer("monitoring", nil)
	prometheus.NamespaceLabels["metrics"] = "enabled"
	for _, who := range []struct {
		of    string
		to    netpol.Peer
		ports map[int32][]netpol.Peer
	}{
		{"the Dojo", dojo, map[int32][]netpol.Peer{
			http: {dojo, job, instance, joining, neighbour, ingress, prometheus}, anyPort: nil,
		}},
		{"the Dojo's Job", job, map[int32][]netpol.Peer{http: nil, anyPort: nil}},
		{"the Dojo's database", instance, map[int32][]netpol.Peer{
			postgresPort: {dojo, job, instance, joining, cnpg}, statusPort: {instance, joining, cnpg},
			metricsPort: {prometheus}, anyPort: nil,
		}},
		{"a pod that no policy selects", neighbour, map[int32][]netpol.Peer{anyPort: {dojo, job, instance, joining, neighbour,
			otherDojo, otherInstance, otherPod, cnpg, impostor, ingress, prometheus}}},
	} {
		for port, clients := range who.ports {
			for _, from := range []netpol.Peer{dojo, job, instance, joining, neighbour, otherDojo, otherInstance, otherPod,
				cnpg, impostor, ingress, prometheus} {
				g.Expect(netpol.Allows(policies.Items, from, who.to, port)).To(Equal(contains(clients, from)),
					"port %d of %s, from %s %v", port, who.of, from.Pod.Namespace, from.Pod.Labels)
			}
		}
	}
}

func contains(peers []netpol.Peer, one netpol.Peer) bool {
	for _, p := range peers {
		if p.Pod == one.Pod {
			return true
		}
	}
	return false
}

func peer(namespace string, labels map[string]string) netpol.Peer {
	return netpol.Peer{
		Pod:             &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: labels}},
		NamespaceLabels: map[string]string{corev1.LabelMetadataName: namespace},
	}
}

func (n *namespaced) podOf(t *testing.T, namespace, name string) netpol.Peer {
	t.Helper()
	g := NewWithT(t)
	var pods corev1.PodList
	g.Expect(n.admin.List(t.Context(), &pods, client.InNamespace(namespace), client.MatchingLabels{
		"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "dojo-operator",
	})).To(Succeed())
	g.Expect(pods.Items).NotTo(BeEmpty(), "%s in %s", name, namespace)
	var in corev1.Namespace
	g.Expect(n.admin.Get(t.Context(), client.ObjectKey{Name: namespace}, &in)).To(Succeed())
	return netpol.Peer{Pod: &pods.Items[0], NamespaceLabels: in.Labels}
}
