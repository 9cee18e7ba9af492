// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/testcluster"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(2 * time.Minute)
	crds, err := testcluster.CloudNativePGCRDs(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	cluster, err := testcluster.Start(t.Context(), testcluster.Options{CRDs: []string{crds}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = cluster.Stop() })
	webhooks, err := StartWebhooks(t.Context(), cluster.Config(), os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = webhooks.Stop() })
	c, err := client.New(cluster.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	storage := map[string]any{"size": "1Gi"}

	pg := object("Cluster", "pg", map[string]any{"instances": int64(3), "storage": storage})
	none := object("Cluster", "none", map[string]any{"instances": int64(1), "storage": map[string]any{"size": "none"}})
	// Before the API server knows the webhooks, it accepts objects unchanged.
	g.Eventually(func(g Gomega) {
		tried := pg.DeepCopy()
		g.Expect(c.Create(t.Context(), tried, client.DryRunAll)).To(Succeed())
		g.Expect(tried.Object["spec"]).To(HaveKey("imageName"))
		g.Expect(c.Create(t.Context(), none.DeepCopy(), client.DryRunAll)).To(HaveOccurred())
	}).Should(Succeed())
	g.Expect(c.Create(t.Context(), pg)).To(Succeed())
	image, _, _ := unstructured.NestedString(pg.Object, "spec", "imageName")
	g.Expect(image).To(HavePrefix("ghcr.io/cloudnative-pg/postgresql:18"), "its default is written into the spec")
	g.Expect(c.Create(t.Context(), none)).To(MatchError(ContainSubstring("spec.storage.size: Invalid value")))
	g.Expect(unstructured.SetNestedMap(pg.Object, map[string]any{"size": "500Mi"}, "spec", "storage")).To(Succeed())
	g.Expect(c.Update(t.Context(), pg)).To(MatchError(ContainSubstring("can't shrink existing storage")))
	pooler := object("Pooler", "bouncer", map[string]any{
		"cluster": map[string]any{"name": "pg"}, "pgbouncer": map[string]any{"parameters": map[string]any{"listen_port": "1"}},
	})
	g.Expect(c.Create(t.Context(), pooler)).To(MatchError(ContainSubstring("Invalid or reserved parameter")))
	schedule := object("ScheduledBackup", "pg", map[string]any{
		"cluster": map[string]any{"name": "pg"}, "schedule": "0 0 99 * * *", "method": "plugin",
		"pluginConfiguration": map[string]any{"name": "x"},
	})
	g.Expect(c.Create(t.Context(), schedule)).To(MatchError(ContainSubstring("99")))
}
