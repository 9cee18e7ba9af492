// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Dojos of the first users with the credentials of a CloudNativePG Cluster",
	Ordered, ContinueOnFailure, longest, func() {
		var w *world

		BeforeAll(func(ctx SpecContext) {
			w = newWorld(ctx, "first-users")
			w.joinDiscord(ctx, FirstUsersGuild)
			step("apply the Cluster, a Dojo and a broken Dojo at the same time")
			w.apply(ctx, `
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: dojo}
spec:
  instances: 1
  storage: {size: 1Gi}
  bootstrap:
    initdb:
      postInitApplicationSQL:
        - SET ROLE app
        - CREATE TABLE weapons (id text PRIMARY KEY, name text NOT NULL)
        - RESET ROLE
---
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: tokyo-jujutsu-high}
spec:
  accountId: Masamichi Yaga
  title: Tokyo Jujutsu High
  replicas: 3
  database: Postgres
  credentialsRef: {name: dojo-app}
---
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: broken}
spec:
  accountId: Kento Nanami
  title: Nagoya Branch
  image: jutsu/no-such-image:1
  credentialsRef: {name: dojo-app}
  alerts:
    discord: {groupRef: {name: alerts}}
`)
		}, NodeTimeout(soon))

		It("serve requests, with a gap of less than 15 seconds while the password changes", func(ctx SpecContext) {
			w.awaitReady(ctx, "tokyo-jujutsu-high")
			Expect(w.dojo(ctx, "tokyo-jujutsu-high")).To(HaveField("Status.ReadyStatus", "3/3"))

			step("write and read weapons over the Service")
			Expect(w.addWeapon(ctx, "tokyo-jujutsu-high", "1", "Inverted Spear of Heaven")).To(Succeed())
			Expect(w.weapons(ctx, "tokyo-jujutsu-high")).To(ConsistOf(weapon{"1", "Inverted Spear of Heaven"}))

			step("change the password in the Secret that CloudNativePG follows")
			w.visit(ctx, "tokyo-jujutsu-high")
			before := w.podNames(ctx, "tokyo-jujutsu-high")
			secret := &corev1.Secret{}
			Expect(k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "dojo-app"}, secret)).To(Succeed())
			Expect(k8s.Patch(ctx, secret, client.RawPatch(types.MergePatchType,
				[]byte(`{"stringData":{"password":"cursed-speech-2026"}}`)))).To(Succeed())

			step("new pods with the new password replace the former pods")
			changed := time.Now()
			Eventually(ctx, func() ([]string, error) { return w.podsOf(ctx, "tokyo-jujutsu-high") }).WithTimeout(eventually).
				Should(And(HaveLen(3), Not(ContainElement(BeElementOf(before)))), "all pods are new")
			measured("a changed password: three new pods after %s", time.Since(changed))
			w.awaitReady(ctx, "tokyo-jujutsu-high")
			Expect(w.addWeapon(ctx, "tokyo-jujutsu-high", "2", "Playful Cloud")).To(Succeed())
			Expect(w.weapons(ctx, "tokyo-jujutsu-high")).To(HaveLen(2))
			Expect(w.visits(ctx, "tokyo-jujutsu-high")).To(HaveField("LongestMS", BeNumerically("<", 15000)))
		}, SpecTimeout(2*eventually))

		It("post an alert in their channel when they break, and a resolved message after the repair", func(ctx SpecContext) {
			Eventually(ctx, func() (string, error) { return w.condition(ctx, "broken", "Degraded") }).WithTimeout(eventually).
				Should(HavePrefix("True ImagePullBackOff: "), "the status should name the error")
			Eventually(ctx, func() (string, error) { return w.condition(ctx, "broken", "AlertsReady") }).
				Should(HavePrefix("True "))
			broken, err := w.dojo(ctx, "broken")
			Expect(err).NotTo(HaveOccurred())
			channel, title := broken.Status.Alerts.ChannelID, "DojoDegraded · "+w.namespace+"/broken"
			Eventually(ctx, titles).WithArguments(channel).WithTimeout(eventually).
				Should(ContainElement("🔥 "+title), "the rule waits for a minute, then Alertmanager posts")
			Eventually(ctx, messages).WithArguments(channel).Should(ContainElement(HaveField("Embeds", ContainElement(And(
				HaveField("Title", "🔥 "+title), HaveField("Description", And(ContainSubstring("[Silence it]("),
					HaveSuffix(" · [Runbook](https://docs.example.org/reasons.md#imagepullbackoff)"))))))))

			step("repair the broken Dojo")
			w.patch(ctx, "broken", `{"spec":{"image":null}}`)
			w.awaitReady(ctx, "broken")
			Eventually(ctx, titles).WithArguments(channel).WithTimeout(eventually).
				Should(ContainElement("✅ Resolved: " + title))
		}, SpecTimeout(2*eventually))
	})

func (w *world) podNames(ctx context.Context, dojo string) []any {
	GinkgoHelper()
	names, err := w.podsOf(ctx, dojo)
	Expect(err).NotTo(HaveOccurred())
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = name
	}
	return all
}

func (w *world) podsOf(ctx context.Context, dojo string) ([]string, error) {
	pods, err := w.pods(ctx, dojo)
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names, err
}
