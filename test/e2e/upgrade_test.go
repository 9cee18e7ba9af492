// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
)

var _ = Describe("The former versions of the operators", func() {
	for _, o := range environment.All {
		It(o.Name+" can still be built", func(ctx SpecContext) {
			Expect(formerOperator(ctx, o)).NotTo(BeNil())
		}, SpecTimeout(soon))
	}
})

func formerOperator(ctx context.Context, o environment.Operator) *FormerOperator {
	GinkgoHelper()
	b, err := BuildFormer(ctx, o, installed.Registry, GinkgoT().TempDir())
	if errors.Is(err, ErrNoFormerVersion) {
		Skip(err.Error())
	}
	Expect(err).NotTo(HaveOccurred())
	return b
}

// upgrade starts with the former operators and upgrades one after the other.
func (w *world) upgrade(ctx context.Context, postgres string) {
	GinkgoHelper()
	var old []*FormerOperator
	for _, o := range environment.All {
		old = append(old, formerOperator(ctx, o))
		step("install %s of %s", o.Name, old[len(old)-1].Revision)
		DeferCleanup(installed.Upgrade, o, NodeTimeout(eventually)) // also after a failure, for later specs
	}
	Expect(installed.Downgrade(ctx, old...)).To(Succeed())
	w.apply(ctx, fmt.Sprintf(`
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: tokyo}
spec:
  accountId: Masamichi Yaga
  title: Tokyo Jujutsu High
  replicas: 2
  postgres:
    clusterRef: {name: %s}
  alerts:
    discord: {groupRef: {name: alerts}}
`, postgres))
	w.awaitReady(ctx, "tokyo")
	w.visit(ctx, "tokyo")
	written := w.generations(ctx, "tokyo")
	for _, o := range environment.All {
		step("upgrade %s", o.Name)
		Expect(installed.Upgrade(ctx, o)).To(Succeed())
		Eventually(ctx, leader).WithArguments(o).ShouldNot(BeEmpty())
		w.scale(ctx, "tokyo", 3) // a change that only a working operator applies
		w.awaitReplicas(ctx, "tokyo", "3/3")
		w.scale(ctx, "tokyo", 2)
		w.awaitReplicas(ctx, "tokyo", "2/2")
	}
	Expect(w.generations(ctx, "tokyo")).To(Equal(written))
	Expect(w.visits(ctx, "tokyo")).To(HaveField("Failures", 0), "and Last says how one failed")
}

// generations returns the children's generations and the containers' restarts. A version that changes
// existing children on purpose says so here.
func (w *world) generations(ctx context.Context, dojo string) map[string]string {
	GinkgoHelper()
	of := client.MatchingLabels{"app.kubernetes.io/instance": dojo}
	found := map[string]string{}
	for kind, version := range map[string]string{
		"Service": "v1", "Secret": "v1", "Job": "batch/v1", "ReplicaSet": "apps/v1",
		"Database": "postgresql.cnpg.io/v1", "DatabaseRole": "postgresql.cnpg.io/v1",
		"DiscordChannel": "discord.jutsu.com/v1alpha1",
		"ServiceMonitor": "monitoring.coreos.com/v1", "PrometheusRule": "monitoring.coreos.com/v1",
		"AlertmanagerConfig": "monitoring.coreos.com/v1alpha1",
	} {
		list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind + "List"}}
		Expect(k8s.List(ctx, list, client.InNamespace(w.namespace), of)).To(Succeed())
		Expect(list.Items).NotTo(BeEmpty(), kind)
		for _, o := range list.Items {
			said := fmt.Sprintf("generation %d", o.Generation)
			switch {
			case kind == "ReplicaSet": // another one means another template; its generation counts replicas
				said = "there"
			case o.Generation == 0:
				said = "version " + o.ResourceVersion
			}
			found[kind+" "+o.Name] = said
		}
	}
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(w.namespace), of)).To(Succeed())
	restarts := 0
	for i := range pods.Items {
		for _, c := range pods.Items[i].Status.ContainerStatuses {
			restarts += int(c.RestartCount)
		}
	}
	found["restarts of the application"] = strconv.Itoa(restarts)
	return found
}
