// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func versioned(version string, policy *corev1api.VersionPolicy) func(*corev1api.Dojo) {
	return withCluster(func(pg *corev1api.PostgresCluster) { pg.Version, pg.VersionPolicy = version, policy })
}

// automatic returns a policy for minor upgrades in a window of two hours. The parameter from is the
// duration until the window opens.
func automatic(from time.Duration) *corev1api.VersionPolicy {
	return &corev1api.VersionPolicy{Minor: corev1api.MinorAutomatic, Window: &corev1api.Window{
		Start: time.Now().UTC().Add(from).Format("15:04"), Duration: metav1.Duration{Duration: 2 * time.Hour},
	}}
}

var _ = Describe("The minor version of Postgres", func() {
	var ns, folder string
	offer := func(tag string) {
		GinkgoHelper()
		text := "{kind: ImageCatalog, spec: {images: [{major: 17, image: 'registry.example.org/pg:" + tag + "'}]}}"
		plans.end(context.Background())
		Expect(os.WriteFile(filepath.Join(folder, "catalog.yaml"), []byte(text), 0o600)).To(Succeed())
	}
	BeforeEach(func(ctx context.Context) {
		ns = newNamespace(ctx)
		folder = GinkgoT().TempDir()
		offer("17.6")
		operator.Restart(ctx, "--postgres-catalog="+folder)
	})
	created := func(ctx context.Context, policy *corev1api.VersionPolicy) *corev1api.Dojo {
		GinkgoHelper()
		dojo := newDojo(ns, "tokyo", versioned("17", policy))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Database).To(And(HaveField("Version", "17.6"), HaveField("NewerVersion", "")))
		return dojo
	}
	cluster := func() *unstructured.Unstructured { return ofKind("Cluster", ns, "tokyo-db") }
	has := func(tag string) OmegaMatcher { return haveField("spec.imageName", "registry.example.org/pg:"+tag) }
	newer := func(dojo *corev1api.Dojo) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			err := k8s.Get(ctx, nameOf(ns, dojo.Name), dojo)
			return dojo.Status.Database.NewerVersion, err
		}
	}

	It("stays until a user allows the newer version that the status reports", func(ctx context.Context) {
		dojo := created(ctx, nil)
		offer("17.11")
		Eventually(ctx, newer(dojo)).Should(Equal("17.11"))
		Expect(dojo).To(HaveCondition("Ready", "True", ""))

		By("changing the image of the Cluster as another client")
		edit(ctx, cluster(), func(live *unstructured.Unstructured) {
			setAt(live, "/spec/imageName", "registry.example.org/pg:17.1")
		})
		Eventually(ctx, refetch(cluster())).Should(has("17.6"))

		By("allowing a version that the catalog lacks, and then the reported version")
		edit(ctx, dojo, func(d *corev1api.Dojo) {
			d.Annotations = map[string]string{corev1api.MinorUpgradeAnnotation: "17.10"}
		})
		Consistently(ctx, refetch(cluster())).Should(has("17.6"))
		edit(ctx, dojo, func(d *corev1api.Dojo) { d.Annotations[corev1api.MinorUpgradeAnnotation] = "17.11" })
		Eventually(ctx, refetch(cluster())).Should(has("17.11"))
		Eventually(ctx, newer(dojo)).Should(BeEmpty())
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Version", "17.11"))
		eventuallyReady(ctx, dojo)
	})

	It("changes only in the window, and the status reports when the window opens", func(ctx context.Context) {
		opens := time.Now().Add(3 * time.Hour).Truncate(time.Minute)
		dojo := created(ctx, automatic(3*time.Hour))
		offer("17.11")
		Eventually(ctx, newer(dojo)).Should(Equal("17.11"))
		Expect(dojo.Status.Database.NewerVersionAt.Time).To(BeTemporally("~", opens, time.Minute))
		Consistently(ctx, refetch(cluster())).Should(has("17.6"))

		edit(ctx, dojo, func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.VersionPolicy = automatic(-time.Hour) })
		Eventually(ctx, refetch(cluster())).Should(has("17.11"))
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Database).To(And(HaveField("NewerVersion", ""), HaveField("NewerVersionAt", BeNil())))
	})

	It("stays while the catalog lacks the major version of the spec", func(ctx context.Context) {
		dojo := created(ctx, nil)
		edit(ctx, dojo, versioned("19", nil))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonUnknownVersion)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("has no version 19, so the Cluster is neither created nor changed. Use one of 17,"))
		Consistently(ctx, refetch(cluster())).Should(has("17.6"))
		set := func(version string) error {
			after := dojo.DeepCopy()
			versioned(version, nil)(after)
			return k8s.Patch(ctx, after, client.MergeFrom(dojo), client.DryRunAll)
		}
		Expect(set("16")).To(MatchError(ContainSubstring("version cannot go down")))
		Expect(set("18")).To(Succeed(), "a later catalog may have version 18")
		edit(ctx, dojo, versioned("17", nil))
		eventuallyReady(ctx, dojo)
	})

	It("is found after a user lowers a major version that the catalog lacks, "+
		"if the Cluster does not exist yet", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", versioned("99", nil))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonUnknownVersion)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("Use one of 17,"))
		Consistently(ctx, func() error { return k8s.Get(ctx, nameOf(ns, "tokyo-db"), cluster()) }).
			Should(MatchError(apierrors.IsNotFound, "IsNotFound"), "a Cluster of another version could not be lowered to 17")
		edit(ctx, dojo, versioned("17", nil))
		eventuallyReady(ctx, dojo)
		Expect(refetch(cluster())(ctx)).To(has("17.6"))
	})

	It("stays if the time zone of the window does not exist", func(ctx context.Context) {
		policy := automatic(-time.Hour)
		policy.Window.TimeZone = "Europe/Atlantis"
		dojo := newDojo(ns, "tokyo", versioned("17", policy))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonUnknownTimeZone)
		Eventually(ctx, refetch(cluster())).Should(haveField("status.readyInstances", int64(1)), "an upgrade waits for this")
		offer("17.11")
		Eventually(ctx, newer(dojo)).Should(Equal("17.11"))
		Consistently(ctx, refetch(cluster())).Should(has("17.6"))
	})

	window := func(change func(*corev1api.Window)) *corev1api.VersionPolicy {
		policy := automatic(0)
		change(policy.Window)
		return policy
	}
	DescribeTable("follows only a valid spec.postgres.cluster.versionPolicy: "+
		"the API refuses", func(ctx context.Context, change func(*corev1api.Dojo), want string) {
		Expect(k8s.Create(ctx, newDojo(ns, "tokyo", change))).To(MatchError(ContainSubstring(want)))
	},
		Entry("a policy without a version", versioned("", automatic(0)), "versionPolicy needs version"),
		Entry("a window without minor: Automatic", versioned("17", &corev1api.VersionPolicy{Window: automatic(0).Window}),
			"window needs minor: Automatic"),
		Entry("an unknown value of minor", versioned("17", &corev1api.VersionPolicy{Minor: "Never"}), "Unsupported value"),
		Entry("a start that is not a time of day", versioned("17", window(func(w *corev1api.Window) { w.Start = "24:00" })),
			"must be a time from 00:00 to 23:59"),
		Entry("an unknown day", versioned("17", window(func(w *corev1api.Window) { w.Days = []corev1api.Weekday{"Funday"} })),
			"Unsupported value"),
		Entry("the same day twice",
			versioned("17", window(func(w *corev1api.Window) { w.Days = []corev1api.Weekday{"Sat", "Sat"} })),
			"Duplicate value"),
		Entry("a window of one minute", versioned("17", window(func(w *corev1api.Window) { w.Duration.Duration = time.Minute })),
			"must be at least 10m and at most 24h"),
		Entry("a path as the window's time zone", versioned("17", window(func(w *corev1api.Window) { w.TimeZone = "../../etc/passwd" })),
			"must be a name of the IANA time zone database"),
	)
})
