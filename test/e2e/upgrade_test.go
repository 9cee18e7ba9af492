// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/environment"
)

var _ = Describe("The former release", func() {
	for _, o := range environment.All {
		It("of "+o.Name+" can still be built", func(ctx SpecContext) {
			Expect(formerOperator(ctx, o)).NotTo(BeNil())
		}, SpecTimeout(eventually))
	}
})

func formerOperator(ctx context.Context, o environment.Operator) *FormerOperator {
	GinkgoHelper()
	b, err := BuildFormer(ctx, o, installed.Registry, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	return b
}

// upgrade upgrades the operators one after the other from the former releases, and back again.
func (w *world) upgrade(ctx context.Context, postgres string) {
	GinkgoHelper()
	var old []*FormerOperator
	for _, o := range environment.All {
		b := formerOperator(ctx, o)
		old = append(old, b)
		step("install %s %s, of commit %s", o.Name, b.Release.Version, b.Release.Commit)
		DeferCleanup(installed.Upgrade, o, NodeTimeout(eventually)) // later specs need this checkout's version
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
	w.answersWhile(ctx, "tokyo", "rotation by the former dojo-operator", func() { w.useVersion(ctx, "tokyo") })
	for i, o := range environment.All {
		w.answersWhile(ctx, "tokyo", fmt.Sprintf("upgrade of %s from %s", o.Name, old[i]), func() {
			w.replaceVersion(ctx, "tokyo", o, installed.Images[o.Name], func() error { return installed.Upgrade(ctx, o) })
		})
	}
	for _, b := range old {
		w.answersWhile(ctx, "tokyo", fmt.Sprintf("rollback of %s to %s", b.Name, b), func() {
			w.replaceVersion(ctx, "tokyo", b.Operator, b.Image, func() error { return installed.Downgrade(ctx, b) })
		})
	}
}

// answersWhile expects that no request of the visitor pod fails during do.
func (w *world) answersWhile(ctx context.Context, dojo, what string, do func()) {
	GinkgoHelper()
	before, err := w.visits(ctx, dojo)
	Expect(err).NotTo(HaveOccurred())
	step("%s", what)
	began := time.Now()
	do()
	took := time.Since(began)
	after, err := w.visits(ctx, dojo)
	Expect(err).NotTo(HaveOccurred())
	failed := after.Failures - before.Failures
	measured("%s: %s, %d of %d requests failed, the longest time without an answer so far was %d ms", what, took, failed,
		failed+after.Answers-before.Answers, after.LongestMS)
	Expect(after).To(HaveField("Failures", 0), "the field Last has the last failure")
}

// replaceVersion expects that the new version works, and does not rewrite existing objects.
func (w *world) replaceVersion(ctx context.Context, dojo string, o environment.Operator, image string,
	install func() error) {
	GinkgoHelper()
	written := w.generations(ctx, dojo)
	Expect(install()).To(Succeed())
	Eventually(ctx, leaderImage).WithArguments(o).WithTimeout(eventually).Should(Equal(image))
	w.scale(ctx, dojo, 3) // a change that only a working operator applies
	w.awaitReplicas(ctx, dojo, "3/3")
	w.scale(ctx, dojo, 2)
	w.awaitReplicas(ctx, dojo, "2/2")
	Expect(w.generations(ctx, dojo)).To(Equal(written))
	w.useVersion(ctx, dojo)
}

// useVersion makes both operators work: one rotates a password, the other edits a channel.
func (w *world) useVersion(ctx context.Context, dojo string) {
	GinkgoHelper()
	d, err := w.dojo(ctx, dojo)
	Expect(err).NotTo(HaveOccurred())
	login := d.Status.Database.Login
	w.patch(ctx, dojo, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, corev1api.RotatePasswordAnnotation,
		time.Now().Format(time.RFC3339Nano)))
	Eventually(ctx, w.dojo).WithArguments(dojo).WithTimeout(eventually).Should(HaveField("Status.Database",
		HaveValue(And(HaveField("Login", Not(Equal(login))), HaveField("FormerLogin", BeEmpty())))))
	w.awaitReady(ctx, dojo)
	w.changeSlowMode(ctx)
}

func leaderImage(ctx context.Context, o environment.Operator) string {
	name, _, _ := strings.Cut(leader(ctx, o), "_") // the leader is the pod's name, "_" and a random text
	var pod corev1.Pod
	err := k8s.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: name}, &pod)
	if err != nil || len(pod.Spec.Containers) == 0 {
		return ""
	}
	return pod.Spec.Containers[0].Image
}

// generations returns the generation (or else the resourceVersion) of objects of a Dojo, and the
// containers' restarts. Of ReplicaSets and of PrometheusRules, whose texts may change, it returns
// only the existence. Exempt a kind here if a new version changes its objects on purpose.
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
		if kind != "Job" { // Jobs may be missing, because a rotation deletes the schema's Job
			Expect(list.Items).NotTo(BeEmpty(), kind)
		}
		for _, o := range list.Items {
			said := fmt.Sprintf("generation %d", o.Generation)
			switch {
			case kind == "ReplicaSet", kind == "PrometheusRule": // existence only; a new pod template adds a ReplicaSet
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
