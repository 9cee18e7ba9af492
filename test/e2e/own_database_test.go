// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("A Dojo of ten lines with a database and an alert channel of its own", Ordered, func() {
	var w *world

	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx, "ten-lines")
		w.joinDiscord(ctx, TenLinesGuild)
		w.apply(ctx, `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: sendai}
spec:
  accountId: Kiyotaka Ijichi
  title: Sendai Jujutsu High
  postgres:
    cluster: {storage: {size: 1Gi}}
  alerts:
    discord: {groupRef: {name: alerts}}
`)
	}, NodeTimeout(soon))

	It("becomes Ready, and keeps its data when its pods and the primary are killed", func(ctx SpecContext) {
		w.awaitReady(ctx, "sendai")
		Expect(w.condition(ctx, "sendai", "DatabaseReady")).To(HavePrefix("True "))
		Expect(w.condition(ctx, "sendai", "AlertsReady")).To(HavePrefix("True "))
		Expect(w.addWeapon(ctx, "sendai", "1", "Split Soul Katana")).To(Succeed())

		step("kill the primary and all pods of the application")
		w.kill(ctx, client.MatchingLabels{"cnpg.io/cluster": "sendai-db"})
		w.kill(ctx, client.MatchingLabels{"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "sendai"})
		Eventually(ctx, func() ([]weapon, error) { return w.weapons(ctx, "sendai") }).WithTimeout(eventually).
			Should(ConsistOf(weapon{"1", "Split Soul Katana"}))
		Eventually(ctx, func() ([]weapon, error) { // retries, because a killed pod may have given the answer above
			_ = w.addWeapon(ctx, "sendai", "2", "Dragon-Bone") // fails if an earlier try was stored without an answer
			return w.weapons(ctx, "sendai")
		}).WithTimeout(eventually).Should(ConsistOf(weapon{"1", "Split Soul Katana"}, weapon{"2", "Dragon-Bone"}))
		w.awaitReady(ctx, "sendai")
	}, SpecTimeout(10*time.Minute))

	It("is reached by kubectl dojo through the kubelet (exec, port-forward and logs)", func(ctx SpecContext) {
		w.expectPluginReaches(ctx, "sendai", 2)
	}, SpecTimeout(5*time.Minute))

	It("serves with its former pods and reports the error when its new image does not exist", func(ctx SpecContext) {
		w.patch(ctx, "sendai", `{"spec":{"image":"jutsu/no-such-image:1"}}`)
		Eventually(ctx, func() (string, error) { return w.condition(ctx, "sendai", "Degraded") }).WithTimeout(eventually).
			Should(HavePrefix("True ImagePullBackOff: "), "the status should name the error")
		Expect(w.weapons(ctx, "sendai")).To(HaveLen(2))
		w.patch(ctx, "sendai", `{"spec":{"image":null}}`)
		w.awaitReady(ctx, "sendai")
	}, SpecTimeout(10*time.Minute))

	It("stops its database when suspended, and resumes with its data", func(ctx SpecContext) {
		instances := func() ([]corev1.Pod, error) {
			var pods corev1.PodList
			err := k8s.List(ctx, &pods, client.InNamespace(w.namespace), client.MatchingLabels{"cnpg.io/cluster": "sendai-db"})
			return pods.Items, err
		}
		w.patch(ctx, "sendai", `{"spec":{"suspend":true}}`)
		began := time.Now()
		Eventually(ctx, w.condition).WithArguments("sendai", "Ready").WithTimeout(eventually).
			Should(HavePrefix("True " + corev1api.ReasonSuspended))
		Expect(w.podsOf(ctx, "sendai")).To(BeEmpty())
		Expect(instances()).To(BeEmpty())
		measured("suspended after %s", time.Since(began))
		w.patch(ctx, "sendai", `{"spec":{"suspend":null}}`)
		began = time.Now()
		Eventually(ctx, w.condition).WithArguments("sendai", "Ready").WithTimeout(eventually).
			Should(HavePrefix("True Reconciled"))
		measured("awake after %s", time.Since(began))
		Expect(w.weapons(ctx, "sendai")).To(HaveLen(2))
	}, SpecTimeout(10*time.Minute))

	It("leaves its database behind until the documented command deletes it", func(ctx SpecContext) {
		w.deleteDojo(ctx, "sendai")
		Expect(w.existing(ctx, "sendai-db")).To(ConsistOf("Cluster", "Database", "DatabaseRole"))
		w.runDocumented(ctx, "delete.md", "How do I delete what a Dojo has left?", "sendai")
		Expect(w.existing(ctx, "sendai-db")).To(BeEmpty())
		Eventually(ctx, w.volumes).WithArguments("sendai-db").WithTimeout(eventually).Should(BeEmpty())
	}, SpecTimeout(5*time.Minute))
})

var _ = Describe("Two Dojos on one shared Cluster", func() {
	const both = `
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: shared}
spec: {instances: 1, storage: {size: 1Gi}}
---
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: tokyo}
spec: {accountId: Masamichi Yaga, title: Tokyo, postgres: {clusterRef: {name: shared}, reclaimPolicy: Delete}}
---
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: kyoto}
spec: {accountId: Yoshinobu Gakuganji, title: Kyoto, postgres: {clusterRef: {name: shared}}}
`
	It("cannot read each other's database, "+
		"and each reclaimPolicy decides only about its own Dojo's database", func(ctx SpecContext) {
		w := newWorld(ctx, "shared")
		w.apply(ctx, both)
		w.awaitReady(ctx, "tokyo")
		w.awaitReady(ctx, "kyoto")
		Expect(w.addWeapon(ctx, "tokyo", "1", "Inverted Spear of Heaven")).To(Succeed())
		Expect(w.addWeapon(ctx, "kyoto", "1", "Festering Life Sword")).To(Succeed())
		Expect(w.weapons(ctx, "tokyo")).To(ConsistOf(weapon{"1", "Inverted Spear of Heaven"}))

		step("try to get into each database with the credentials of the other Dojo")
		Expect(w.queryAs(ctx, "kyoto", "kyoto")).To(Equal("1"), "Kyoto should count its own weapons")
		Expect(w.queryAs(ctx, "kyoto", "tokyo")).To(ContainSubstring("permission denied for database"))
		Expect(w.queryAs(ctx, "tokyo", "tokyo")).To(Equal("1"), "Tokyo should count its own weapons")
		Expect(w.queryAs(ctx, "tokyo", "kyoto")).To(ContainSubstring("permission denied for database"))

		step("delete both: Tokyo with its data, Kyoto without")
		tokyo, err := w.dojo(ctx, "tokyo")
		Expect(err).NotTo(HaveOccurred())
		kyoto, err := w.dojo(ctx, "kyoto")
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Delete(ctx, tokyo)).To(Succeed())
		Expect(k8s.Delete(ctx, kyoto)).To(Succeed())
		Eventually(ctx, gone).WithArguments(tokyo).WithTimeout(eventually).Should(Succeed())
		Eventually(ctx, gone).WithArguments(kyoto).Should(Succeed())
		for _, kind := range []string{"Database", "DatabaseRole"} {
			_, err := w.postgres(ctx, kind, "tokyo-db")
			Expect(client.IgnoreNotFound(err)).To(Succeed())
			Expect(err).To(HaveOccurred(), "%s tokyo-db is still there", kind)
			Expect(w.postgres(ctx, kind, "kyoto-db")).NotTo(BeNil())
		}

		step("create both again: Kyoto finds its weapons, Tokyo has none")
		w.apply(ctx, both)
		w.awaitReady(ctx, "tokyo")
		w.awaitReady(ctx, "kyoto")
		Expect(w.weapons(ctx, "kyoto")).To(ConsistOf(weapon{"1", "Festering Life Sword"}))
		Expect(w.weapons(ctx, "tokyo")).To(BeEmpty())
	}, SpecTimeout(10*time.Minute))
})

func (w *world) kill(ctx context.Context, labels client.MatchingLabels) {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(w.namespace), labels)).To(Succeed())
	Expect(pods.Items).NotTo(BeEmpty())
	for i := range pods.Items {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0)))).To(Succeed())
	}
}

func (w *world) queryAs(ctx context.Context, who, where string) (string, error) {
	cluster, err := w.postgres(ctx, "Cluster", "shared")
	if err != nil {
		return "", err
	}
	image, _, err := unstructured.NestedString(cluster.Object, "status", "image")
	if err != nil {
		return "", err
	}
	target, err := w.dojo(ctx, where)
	if err != nil {
		return "", err
	}
	name := "intruder-" + who + "-" + where
	w.apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 26, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: psql
      image: %s
      command: [psql, --tuples-only, --no-align, --command=SELECT count(*) FROM weapons]
      terminationMessagePolicy: FallbackToLogsOnError
      env:
        - {name: PGHOST, value: shared-rw}
        - {name: PGDATABASE, value: %s}
        - {name: PGUSER, valueFrom: {secretKeyRef: {name: %[4]s-db, key: username}}}
        - {name: PGPASSWORD, valueFrom: {secretKeyRef: {name: %[4]s-db, key: password}}}
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`, name, image, target.Status.Database.Name, who))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	Eventually(ctx, func() (corev1.PodPhase, error) {
		return pod.Status.Phase, k8s.Get(ctx, client.ObjectKeyFromObject(pod), pod)
	}).Should(BeElementOf(corev1.PodSucceeded, corev1.PodFailed))
	said, err := typed.CoreV1().Pods(w.namespace).GetLogs(name, &corev1.PodLogOptions{}).DoRaw(ctx)
	return strings.TrimSpace(string(said)), err
}
