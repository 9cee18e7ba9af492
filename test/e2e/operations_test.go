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
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
)

// These specs disturb the whole cluster, so they run alone and last.
var _ = Describe("A Dojo in operation", Ordered, Serial, ContinueOnFailure, func() {
	var w *world

	BeforeAll(func(ctx SpecContext) {
		w = standingWorld
		w.awaitReady(ctx, "kyoto")
		w.visit(ctx, "kyoto")
		w.changeSlowMode(ctx)
	}, NodeTimeout(6*time.Minute))

	It("scales by its scale subresource and by an autoscaler", func(ctx SpecContext) {
		w.scale(ctx, "kyoto", 1)
		w.awaitReplicas(ctx, "kyoto", "1/1")
		w.apply(ctx, `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: kyoto}
spec:
  minReplicas: 3
  maxReplicas: 4
  scaleTargetRef: {apiVersion: core.jutsu.com/v1, kind: Dojo, name: kyoto}
`)
		DeferCleanup(func(ctx context.Context) error {
			return k8s.Delete(ctx, &autoscalingv1.HorizontalPodAutoscaler{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "kyoto"}})
		})
		w.awaitReplicas(ctx, "kyoto", "3/3")
		Expect(w.visits(ctx, "kyoto")).To(HaveField("Failures", 0), "the field Last has the last failure")
	}, SpecTimeout(5*time.Minute))

	It("rolls out a new image without a failed request", func(ctx SpecContext) {
		before, err := w.visits(ctx, "kyoto")
		Expect(err).NotTo(HaveOccurred())
		image := installed.Images[NextDojoApp]
		w.patch(ctx, "kyoto", fmt.Sprintf(`{"spec":{"image":%q}}`, image))
		w.awaitReady(ctx, "kyoto")
		pods, err := w.pods(ctx, "kyoto")
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(HaveEach(HaveField("Spec.Containers", HaveEach(HaveField("Image", image)))))
		Expect(w.visits(ctx, "kyoto")).To(HaveField("Failures", before.Failures), "the field Last has the last failure")
	}, SpecTimeout(5*time.Minute))

	It("delays evictions by its budget, and replaces evicted pods without a failed request", func(ctx SpecContext) {
		before := w.podNames(ctx, "kyoto")
		failures, err := w.visits(ctx, "kyoto")
		Expect(err).NotTo(HaveOccurred())
		refused := 0
		for _, pod := range before {
			Eventually(ctx, func() error {
				err := typed.PolicyV1().Evictions(w.namespace).Evict(ctx, &policyv1.Eviction{
					ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: pod.(string)},
				})
				if apierrors.IsTooManyRequests(err) {
					refused++
				}
				return client.IgnoreNotFound(err)
			}).WithTimeout(eventually).Should(Succeed())
		}
		Expect(refused).To(BeNumerically(">", 0), "the budget should refuse an eviction at least once")
		Eventually(ctx, func() ([]string, error) { return w.podsOf(ctx, "kyoto") }).WithTimeout(eventually).
			Should(And(HaveLen(len(before)), Not(ContainElement(BeElementOf(before)))), "all pods are new")
		w.awaitReady(ctx, "kyoto")
		Expect(w.visits(ctx, "kyoto")).To(HaveField("Failures", failures.Failures), "the field Last has the last failure")
	}, SpecTimeout(5*time.Minute))

	It("is still reconciled after the leaders of both operators were killed", func(ctx SpecContext) {
		had := map[environment.Operator]string{}
		for _, o := range environment.All {
			had[o] = leader(ctx, o)
			killLeader(ctx, o, had[o])
		}
		for _, o := range environment.All {
			Eventually(ctx, leader).WithArguments(o).
				Should(And(Not(BeEmpty()), Not(Equal(had[o]))), "another pod should take over from the leader of "+o.Name)
		}
		w.expectReconciled(ctx)
	}, SpecTimeout(5*time.Minute))

	It("creates nothing twice after a restart of the API server and a kill of etcd",
		func(ctx SpecContext) {
			if ownCluster == nil {
				Skip("the cluster of a user: its control plane is not touched")
			}
			before := w.inventory(ctx)
			Expect(ownCluster.Control.Restart(ctx, testcluster.APIServer)).To(Succeed())
			w.expectReconciled(ctx)
			Expect(ownCluster.Control.Kill(testcluster.Etcd)).To(Succeed())
			Expect(ownCluster.Control.Restart(ctx, testcluster.Etcd)).To(Succeed())
			w.expectReconciled(ctx)
			Expect(w.inventory(ctx)).To(Equal(before))
		}, SpecTimeout(8*time.Minute))

	It("creates nothing twice after a minute without DNS",
		func(ctx SpecContext) {
			if ownCluster == nil {
				Skip("the cluster of a user: its DNS is not touched")
			}
			before := w.inventory(ctx)
			dns := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}}
			setReplicas := func(n int) {
				GinkgoHelper()
				Expect(k8s.Patch(ctx, dns, client.RawPatch(types.MergePatchType,
					fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)))).
					To(Succeed())
			}
			setReplicas(0)
			failing := time.Now()
			Eventually(ctx, func() (visits, error) { return w.visits(ctx, "kyoto") }).
				Should(HaveField("FailedAt", BeTemporally(">", failing)))
			Consistently(ctx, func() (string, error) { return w.condition(ctx, "kyoto", "Available") }).
				WithTimeout(time.Minute).
				Should(HavePrefix("True "), "open connections survive")
			setReplicas(1)
			w.expectReconciled(ctx)
			Expect(w.inventory(ctx)).To(Equal(before))
		}, SpecTimeout(8*time.Minute))

	It("is not changed by an upgrade of one operator after the other, or by their rollback", func(ctx SpecContext) {
		w.upgrade(ctx, "kyoto-db")
	}, SpecTimeout(20*time.Minute))
})

func (w *world) createObjects(ctx context.Context) {
	GinkgoHelper()
	w.joinDiscord(ctx, StandingGuild)
	w.apply(ctx, `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: kyoto}
spec:
  accountId: Yoshinobu Gakuganji
  title: Kyoto Jujutsu High
  replicas: 2
  postgres:
    cluster: {storage: {size: 1Gi}}
  alerts:
    discord: {groupRef: {name: alerts}}
`)
}

func (w *world) scale(ctx context.Context, dojo string, replicas int32) {
	GinkgoHelper()
	d, err := w.dojo(ctx, dojo)
	Expect(err).NotTo(HaveOccurred())
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	Expect(k8s.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(scale))).To(Succeed())
}

func (w *world) awaitReplicas(ctx context.Context, dojo, readyStatus string) {
	GinkgoHelper()
	Eventually(ctx, w.dojo).WithArguments(dojo).WithTimeout(eventually).
		Should(HaveField("Status.ReadyStatus", readyStatus))
	w.awaitReady(ctx, dojo)
}

func (w *world) patch(ctx context.Context, dojo, patch string) {
	GinkgoHelper()
	d, err := w.dojo(ctx, dojo)
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

func (w *world) expectReconciled(ctx context.Context) {
	GinkgoHelper()
	w.awaitReady(ctx, "kyoto")
	Eventually(ctx, func() error {
		return w.addWeapon(ctx, "kyoto", strconv.FormatInt(time.Now().UnixNano(), 10), "Cursed Tool")
	}).
		WithTimeout(eventually).Should(Succeed())
	w.scale(ctx, "kyoto", 2)
	w.awaitReplicas(ctx, "kyoto", "2/2")
	w.scale(ctx, "kyoto", 3)
	w.awaitReplicas(ctx, "kyoto", "3/3")
	w.changeSlowMode(ctx)
}

func (w *world) changeSlowMode(ctx context.Context) {
	GinkgoHelper()
	w.slowness++
	Eventually(ctx, func() error { // retries, because the API server may have just restarted
		return w.tryApply(ctx, fmt.Sprintf(`
apiVersion: discord.jutsu.com/v1alpha1
kind: DiscordChannel
metadata: {name: news}
spec: {groupRef: {name: alerts}, name: dojo-news, slowmode: %ds}
`, w.slowness))
	}).Should(Succeed())
	Eventually(ctx, channelsOnDiscord).WithArguments(StandingGuild).WithTimeout(eventually).
		Should(ContainElement(And(HaveField("Name", "dojo-news"), HaveField("SlowmodeSeconds", w.slowness))))
}

func (w *world) inventory(ctx context.Context) map[string][]string {
	GinkgoHelper()
	channels, err := channelsOnDiscord(ctx, StandingGuild)
	Expect(err).NotTo(HaveOccurred())
	found := map[string][]string{}
	for _, c := range channels {
		found["channels on Discord"] = append(found["channels on Discord"], c.Name)
	}
	for _, kind := range []string{"Cluster", "Database", "DatabaseRole"} {
		found[kind] = w.names(ctx, "postgresql.cnpg.io/v1", kind)
	}
	for kind, version := range map[string]string{
		"Deployment": "apps/v1", "Service": "v1", "Secret": "v1", "Job": "batch/v1",
		"DiscordChannel":        "discord.jutsu.com/v1alpha1",
		"PersistentVolumeClaim": "v1", "PrometheusRule": "monitoring.coreos.com/v1",
	} {
		found[kind] = w.names(ctx, version, kind)
	}
	return found
}

func (w *world) names(ctx context.Context, version, kind string) []string {
	GinkgoHelper()
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind + "List"}}
	Expect(k8s.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	var names []string
	for _, o := range list.Items {
		names = append(names, o.Name)
	}
	return names
}

// killLeader on the test's own cluster kills the leader's processes, so that the leader cannot release its
// Lease. On another cluster, killLeader deletes the leader's pod.
func killLeader(ctx context.Context, o environment.Operator, identity string) {
	GinkgoHelper()
	name, _, _ := strings.Cut(identity, "_") // identity is the pod's name, "_" and a random text
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name}}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	if ownCluster != nil {
		Expect(ownCluster.KillPod(pod.UID)).To(Succeed())
		return
	}
	Expect(k8s.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
}

func leader(ctx context.Context, o environment.Operator) string {
	identity, _ := o.Leader(ctx, k8s) // empty while the API server is down
	return identity
}
