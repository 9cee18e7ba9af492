// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func sized(size corev1api.SizeName, change ...func(*corev1api.PostgresCluster)) func(*corev1api.Dojo) {
	return withCluster(append([]func(*corev1api.PostgresCluster){func(pg *corev1api.PostgresCluster) {
		pg.Size, pg.Storage = size, corev1api.PostgresStorage{}
	}}, change...)...)
}

var _ = Describe("The size of a database", func() {
	var ns, folder string
	BeforeEach(func(ctx context.Context) {
		ns = newNamespace(ctx)
		folder = GinkgoT().TempDir()
	})
	define := func(name, text string) {
		GinkgoHelper()
		plans.end(context.Background())
		Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)).To(Succeed())
	}
	undefine := func(name string) {
		GinkgoHelper()
		plans.end(context.Background())
		Expect(os.Remove(filepath.Join(folder, name))).To(Succeed())
	}
	theCluster := func() *unstructured.Unstructured { return ofKind("Cluster", ns, "tokyo-db") }
	resize := func(ctx context.Context, dojo *corev1api.Dojo, size corev1api.SizeName) {
		GinkgoHelper()
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Size = size })
	}

	It("sets the fields that the spec leaves out, "+
		"and does not shrink the volume when a user lowers the size", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", sized("Medium", func(pg *corev1api.PostgresCluster) {
			pg.Parameters = map[string]corev1api.ParameterValue{"max_connections": "77"}
		}))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Eventually(ctx, refetch(theCluster())).Should(And(
			haveField("spec.instances", int64(3)), haveField("spec.storage.size", "20Gi"),
			haveField("spec.resources.requests", map[string]any{"cpu": "1", "memory": "2Gi"}),
			haveField("spec.resources.limits", map[string]any{"memory": "2Gi"}),
			haveField("spec.postgresql.parameters.shared_buffers", "512MB"),
			haveField("spec.postgresql.parameters.max_connections", "77")))
		Expect(dojo.Status.Database.Size).To(HaveValue(Equal(corev1api.SizeStatus{
			Name: "Medium", Instances: 3, CPU: "1", Memory: "2Gi", Storage: "20Gi"})))
		Expect(dojo.Spec.Postgres.Cluster.Instances).To(BeNil(), "the spec belongs to the user")

		resize(ctx, dojo, "Small")
		Eventually(ctx, refetch(theCluster())).Should(And(
			haveField("spec.instances", int64(1)), haveField("spec.storage.size", "20Gi")))
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Database.Size).To(HaveValue(And(HaveField("Name", corev1api.SizeName("Small")),
			HaveField("Storage", "20Gi"))))
	})

	It("must be defined before a Cluster is created with it or changed to it", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", sized("Huge"))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonUnknownSize)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("Use one of the sizes Large, Medium, Small"))
		Consistently(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, nameOf(ns, "tokyo-db"), theCluster())
		}).Should(WithTransform(apierrors.IsNotFound, BeTrue()))

		resize(ctx, dojo, "Large")
		eventuallyReady(ctx, dojo)
		before := theCluster()
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), before)).To(Succeed())
		resize(ctx, dojo, "Huge")
		eventuallyDegraded(ctx, dojo, corev1api.ReasonUnknownSize)
		Expect(dojo).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
		Expect(dojo.Status.Database.Size).To(HaveValue(Equal(corev1api.SizeStatus{
			Name: "Huge", Instances: 3, CPU: "4", Memory: "8Gi", Storage: "100Gi"})), "the Cluster uses these values")
		Consistently(ctx, refetch(theCluster())).Should(haveField("spec", field(before, "spec")))
	})

	It("follows a change of its definition file without a restart of the operator", func(ctx context.Context) {
		define("Tiny", "{instances: 1, storage: 1Gi, parameters: {work_mem: 1MB}}")
		define("Broken", "{instances: many}")
		operator.Restart(ctx, "--postgres-sizes="+folder)
		dojo := newDojo(ns, "tokyo", sized("Tiny"))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		define("Tiny", "{instances: 2, storage: 2Gi, parameters: {work_mem: 2MB}}")
		Eventually(ctx, refetch(theCluster())).Should(And(haveField("spec.instances", int64(2)),
			haveField("spec.storage.size", "2Gi"), haveField("spec.postgresql.parameters.work_mem", "2MB")))
		eventuallyReady(ctx, dojo)

		By("creating another Dojo with an invalid size")
		other := newDojo(ns, "kyoto", sized("Broken"))
		Expect(k8s.Create(ctx, other)).To(Succeed())
		eventuallyDegraded(ctx, other, corev1api.ReasonUnknownSize)
		Expect(message(other, "Degraded")).To(ContainSubstring("not valid"))
		eventuallyReady(ctx, dojo) // the pods may roll, because the standbys get an endpoint
	})

	It("leaves its values in the Cluster when its definition file is removed, "+
		"and the spec can then still set the instances", func(ctx context.Context) {
		define("Wide", "{instances: 3, cpu: 1, memory: 2Gi, storage: 1Gi, "+
			"parameters: {shared_buffers: 512MB, work_mem: 8MB}}")
		define("Other", "{instances: 1, storage: 1Gi}")
		operator.Restart(ctx, "--postgres-sizes="+folder)
		dojo := newDojo(ns, "tokyo", sized("Wide", func(pg *corev1api.PostgresCluster) {
			pg.Storage.Size = resource.MustParse("100Gi")
			pg.Parameters = map[string]corev1api.ParameterValue{"work_mem": "9MB"}
		}))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		before, database := theCluster(), dojo.Status.Database.DeepCopy()
		access := secretOf(dojo)
		Expect(k8s.Get(ctx, nameOf(ns, access.Name), access)).To(Succeed())
		Expect(access.Data).To(HaveKey("DB_READONLY_ENDPOINT"))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), before)).To(Succeed())
		kept := And(haveField("spec.storage.size", "100Gi"),
			haveField("spec.resources.requests", map[string]any{"cpu": "1", "memory": "2Gi"}),
			haveField("spec.resources.limits", map[string]any{"memory": "2Gi"}),
			haveField("spec.postgresql.parameters.shared_buffers", "512MB"),
			haveField("spec.postgresql.parameters.work_mem", "9MB"))
		Expect(before).To(And(kept, haveField("spec.instances", int64(3))))

		undefine("Wide")
		eventuallyDegraded(ctx, dojo, corev1api.ReasonUnknownSize)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("Use one of the sizes Other"))
		Expect(dojo).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
		Expect(dojo.Status.Database.Size).To(Equal(database.Size))
		Expect(dojo.Status.Database.ReadOnlyHost).To(And(Equal(database.ReadOnlyHost), Not(BeEmpty())))
		Consistently(ctx, refetch(theCluster())).Should(haveField("spec", field(before, "spec")))
		Expect(refetch(secretOf(dojo))(ctx)).To(HaveField("Data", Equal(access.Data)), "pods keep the standbys' host")

		By("setting the instances in the spec")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Instances = new(int32(2)) })
		Eventually(ctx, refetch(theCluster())).Should(And(kept, haveField("spec.instances", int64(2))))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonUnknownSize)
	})

	DescribeTable("is checked by the API, "+
		"which refuses", func(ctx context.Context, change func(*corev1api.Dojo), want string) {
		Expect(k8s.Create(ctx, newDojo(ns, "tokyo", change))).To(MatchError(ContainSubstring(want)))
	},
		Entry("a spec with neither size nor storage", sized(""), "storage or size is required"),
		Entry("a size that is not a valid name", sized("../x"), "must be the name of a size"),
	)

	It("lets a user add storage.size to an existing Dojo, but not storage.storageClassName", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", sized("Small"))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		dojo.Spec.Postgres.Cluster.Storage = corev1api.PostgresStorage{
			Size: resource.MustParse("9Gi"), StorageClassName: "fast",
		}
		refused := func(ctx context.Context) error {
			storage := dojo.Spec.Postgres.Cluster.Storage
			if err := k8s.Get(ctx, nameOf(ns, "tokyo"), dojo); err != nil {
				return err
			}
			dojo.Spec.Postgres.Cluster.Storage = storage
			return k8s.Update(ctx, dojo)
		}
		Eventually(ctx, refused).Should(MatchError(ContainSubstring("storageClassName cannot be changed")))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { // the volume grows
			dojo.Spec.Postgres.Cluster.Storage = corev1api.PostgresStorage{Size: resource.MustParse("9Gi")}
		})
		Eventually(ctx, refetch(theCluster())).Should(haveField("spec.storage.size", "9Gi"))
	})
})
