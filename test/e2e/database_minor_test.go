// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/e2e/internal/images"
)

// The specs use Postgres 15 of Debian 12 as released, and with Debian's security updates, which
// usually contain a newer minor version.
var _ = Describe("A minor version of Postgres", Label("database"), Ordered, Serial, func() {
	var w *world
	var former, newer string
	BeforeAll(func(ctx SpecContext) {
		former = pushMinor(ctx, images.PostgresArchive)
		newer = pushMinor(ctx, images.SecurePostgresArchive)
		if former == newer {
			Skip("Debian has one minor version of Postgres 15 today: " + newer)
		}
		w = newWorld(ctx, "minor")
		offer(ctx, former)
		DeferCleanup(func(ctx SpecContext) { offer(ctx, images.PostgresVersion) })
		// A running operator may see the new catalog up to a minute late.
		for _, command := range []string{"restart", "status"} {
			Expect(w.kubectl(ctx, "rollout", command, "deployment/dojo-operator", "--namespace=dojo-system")).
				Error().NotTo(HaveOccurred())
		}
		w.apply(ctx, hakone(""))
		w.awaitReady(ctx, "hakone")
		Expect(w.addWeapon(ctx, "hakone", "1", "Katana")).To(Succeed())
	}, NodeTimeout(25*time.Minute))

	It("is announced in the status, and installed without data loss in the window of the spec", func(ctx SpecContext) {
		offer(ctx, newer)
		w.apply(ctx, hakone(window(3*time.Hour)))
		Eventually(ctx, w.dojo).WithArguments("hakone").WithTimeout(5*time.Minute).
			Should(HaveField("Status.Database", HaveValue(And(HaveField("NewerVersion", newer),
				HaveField("NewerVersionAt.Time", BeTemporally(">", time.Now()))))), "the status should announce the newer version")
		Expect(w.psql(ctx, "hakone", "hakone-db-rw", "SHOW server_version")).To(HavePrefix(former))

		w.visit(ctx, "hakone")
		w.visitPage(ctx, "hakone", "hakone-retries", "weapon?retry", "50ms", "30s")
		began := time.Now()
		w.apply(ctx, hakone(window(-time.Hour)))
		Eventually(ctx, w.dojo).WithArguments("hakone").WithTimeout(8 * time.Minute).
			Should(HaveField("Status.Database", HaveValue(And(HaveField("Version", newer),
				HaveField("NewerVersion", ""), HaveField("Instances", "3/3")))))
		Eventually(ctx, w.psql).WithArguments("hakone", "hakone-db-rw", "SHOW server_version").
			WithTimeout(8 * time.Minute).Should(HavePrefix(newer))
		w.awaitReady(ctx, "hakone")
		for application, name := range map[string]string{
			"an application that retries nothing": "hakone", "an application that retries": "hakone-retries",
		} {
			visits, err := w.visits(ctx, name)
			Expect(err).NotTo(HaveOccurred())
			measured("Postgres %s to %s, three instances, in a window, %s: %s, %d of %d requests failed, the longest "+
				"time without an answer was %d ms", former, newer, application, time.Since(began), visits.Failures,
				visits.Failures+visits.Answers, visits.LongestMS)
		}
		Expect(w.visits(ctx, "hakone-retries")).To(HaveField("Failures", 0), "the field Last has the last failure")
		Expect(w.weapons(ctx, "hakone")).To(HaveLen(1))
	}, SpecTimeout(20*time.Minute))
})

func hakone(policy string) string {
	return `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: hakone}
spec:
  accountId: Atsuya Kusakabe
  title: Simple Domain
  replicas: 2
  postgres:
    cluster: {version: "15", instances: 3, storage: {size: 1Gi}` + policy + `}
    reclaimPolicy: Delete
`
}

func window(from time.Duration) string {
	return fmt.Sprintf(", versionPolicy: {minor: Automatic, window: {start: %q, duration: 2h}}",
		time.Now().UTC().Add(from).Format("15:04"))
}

func pushMinor(ctx context.Context, made func(context.Context, io.Writer) (string, error)) string {
	GinkgoHelper()
	archive, err := made(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	version, err := images.MinorOf(archive)
	Expect(err).NotTo(HaveOccurred())
	_, err = images.Image{Name: "ghcr.io/cloudnative-pg/postgresql:" + version, Archive: archive, User: "26"}.
		Push(installed.Registry)
	Expect(err).NotTo(HaveOccurred())
	return version
}

// offer sets the tag of the Postgres 15 image in the operator's image catalog.
func offer(ctx context.Context, tag string) {
	GinkgoHelper()
	var entries []string
	for _, image := range []string{tag, "16", "17"} {
		entries = append(entries, fmt.Sprintf("{major: %s, image: 'ghcr.io/cloudnative-pg/postgresql:%s'}", image[:2], image))
	}
	text := "{kind: ClusterImageCatalog, spec: {images: [" + strings.Join(entries, ", ") + "]}}"
	catalog := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "dojo-system", Name: "dojo-operator-catalog"}}
	patch := fmt.Appendf(nil, `{"data":{"catalog.yaml":%q}}`, text)
	Expect(k8s.Patch(ctx, catalog, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}
