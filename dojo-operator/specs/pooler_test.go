// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func pooled(pg *corev1api.PostgresCluster) { pg.Pooler = &corev1api.Pooler{Instances: new(int32(2))} }

var _ = Describe("The Pooler of a Dojo's own Cluster", func() {
	const bouncer = "tokyo-db-pooler-rw"
	var ns string
	var thePooler *unstructured.Unstructured
	BeforeEach(func(ctx context.Context) {
		ns = newNamespace(ctx)
		thePooler = ofKind("Pooler", ns, bouncer)
	})
	created := func(ctx context.Context, change ...func(*corev1api.Dojo)) *corev1api.Dojo {
		GinkgoHelper()
		dojo := newDojo(ns, "tokyo", change...)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		return dojo
	}
	setPooler := func(ctx context.Context, dojo *corev1api.Dojo, pooler *corev1api.Pooler) {
		GinkgoHelper()
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Pooler = pooler })
	}
	host := func(ctx context.Context) string {
		GinkgoHelper()
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tokyo-credentials"}}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
		return string(secret.Data["DB_ENDPOINT"])
	}
	gone := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(thePooler), thePooler)
		}).Should(MatchError(ContainSubstring("not found")))
	}
	instances := func(n int64) types.GomegaMatcher { return haveField("spec.instances", n) }

	It("is created before the Deployment of the Dojo, and follows the spec", func(ctx context.Context) {
		dojo := created(ctx, replicas(2), withCluster(pooled))
		Expect(host(ctx)).To(Equal(bouncer))
		Expect(dojo.Status.Database).To(HaveValue(And(HaveField("Host", "tokyo-db-rw"), HaveField("Pooler",
			HaveValue(Equal(corev1api.PoolerStatus{Host: bouncer, InUse: true, Instances: "2/2"}))))))
		secret := passwordSecretOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
		Expect(string(secret.Data["host"])).To(Equal("tokyo-db-rw"), "SQL runs in the primary")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(thePooler), thePooler)).To(Succeed())
		Expect(metav1.IsControlledBy(thePooler, dojo)).To(BeTrue(), "the Pooler should be deleted with the Dojo")
		Expect(thePooler).To(And(haveField("spec.pgbouncer.poolMode", "session"), haveField("spec.type", "rw"),
			haveField("spec.pgbouncer.parameters", HaveKeyWithValue("server_reset_query", HaveSuffix("RESET ROLE")))))
		writes := operator.WritesAtRest(ns)
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).Should(BeEmpty())
		order := slices.DeleteFunc(slices.Clone(writes), func(write string) bool {
			return write != "create poolers/"+bouncer && write != "create deployments/tokyo"
		})
		Expect(order).To(Equal([]string{"create poolers/" + bouncer, "create deployments/tokyo"}))

		By("changing the Pooler in the spec")
		setPooler(ctx, dojo, &corev1api.Pooler{
			Instances: new(int32(3)), Mode: corev1api.PoolModeTransaction,
			Parameters: map[string]corev1api.PoolerParameterValue{"default_pool_size": "50"},
		})
		Eventually(ctx, refetch(thePooler)).Should(And(instances(3), haveField("spec.pgbouncer.poolMode", "transaction"),
			haveField("spec.pgbouncer.parameters", And(HaveKeyWithValue("default_pool_size", "50"),
				HaveKeyWithValue("server_login_retry", "1")))))
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Database.Pooler.Instances).To(Equal("3/3"))

		By("changing and deleting the Pooler as another client")
		before := thePooler.DeepCopy()
		Expect(unstructured.SetNestedField(thePooler.Object, int64(1), "spec", "instances")).To(Succeed())
		Expect(k8s.Patch(ctx, thePooler, client.MergeFrom(before))).To(Succeed())
		Eventually(ctx, refetch(thePooler)).Should(instances(3))
		uid := thePooler.GetUID()
		Expect(k8s.Delete(ctx, thePooler)).To(Succeed())
		Eventually(ctx, refetch(thePooler)).Should(HaveField("GetUID()", Not(Equal(uid))))
		eventuallyReady(ctx, dojo)
		Expect(host(ctx)).To(Equal(bouncer))
	})

	It("can be added and removed, and no pod uses the Pooler "+
		"before it is ready or after it is deleted", func(ctx context.Context) {
		dojo := created(ctx, replicas(2), withCluster())
		Expect(host(ctx)).To(Equal("tokyo-db-rw"))
		revision := func(ctx context.Context) string {
			GinkgoHelper()
			deployment, err := refetch(deploymentOf(dojo))(ctx)
			Expect(err).NotTo(HaveOccurred())
			return deployment.Spec.Template.Annotations["core.jutsu.com/credentials-revision"]
		}
		former := revision(ctx)
		cloudNativePG.Pause(ns, "tokyo-db") // so that no pod of the Pooler starts
		setPooler(ctx, dojo, &corev1api.Pooler{})
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForPooler))
		Expect(refetch(dojo)(ctx)).To(HaveCondition("Available", "True", ""))
		Consistently(ctx, host).Should(Equal("tokyo-db-rw"), "the Pooler does not answer yet")
		cloudNativePG.Resume(ns, "tokyo-db")
		eventuallyReady(ctx, dojo)
		Expect(host(ctx)).To(Equal(bouncer))
		Expect(revision(ctx)).NotTo(Equal(former), "the pods should roll")

		By("removing the Pooler from the spec while no new pod can start")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.Cluster.Pooler = nil
			dojo.Spec.Resources = &corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100000")},
			}
		})
		Eventually(ctx, refetch(dojo)).Should(And(HaveCondition("DatabaseReady", "False", corev1api.ReasonRemovingPooler),
			haveMessage("DatabaseReady", ContainSubstring("stays while pods may use it: the rollout is not complete."))))
		Expect(host(ctx)).To(Equal("tokyo-db-rw"))
		Consistently(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(thePooler), thePooler)
		}).Should(Succeed())
		Expect(refetch(dojo)(ctx)).To(HaveField("Status.Database.Pooler", HaveValue(HaveField("InUse", false))))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Resources = nil })
		gone(ctx)
		eventuallyReady(ctx, dojo)
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Pooler", BeNil()))
		Expect(eventsOf(dojo)(ctx)).NotTo(ContainElement(Or(
			HavePrefix("Normal DriftCorrected"), HavePrefix("Normal CredentialsRotated"))))
	})

	It("stays in use during two password rotations, "+
		"and Postgres accepts the credentials of every running pod", func(ctx context.Context) {
		dojo := created(ctx, replicas(2), withCluster(pooled))
		refusals := refusedPods(ctx, dojo)
		for _, turn := range []string{"1", "2"} {
			former := credentialsOf(ctx, dojo)
			request(ctx, dojo, turn)
			Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Login", Not(Equal(former.user))))
			eventuallyReady(ctx, dojo)
			Expect(host(ctx)).To(Equal(bouncer))
			Expect(accepted(dojo, former)).To(BeFalse())
		}
		Expect(refusals()).To(BeEmpty())
	})

	It("stays unchanged if CloudNativePG refuses a parameter, and the Dojo stays Available", func(ctx context.Context) {
		dojo := created(ctx, withCluster(pooled))
		setPooler(ctx, dojo, &corev1api.Pooler{
			Instances: new(int32(3)), Parameters: map[string]corev1api.PoolerParameterValue{"listen_port": "6432"},
		})
		eventuallyDegraded(ctx, dojo, corev1api.ReasonPoolerRefused)
		Expect(message(dojo, "DatabaseReady")).To(And(ContainSubstring(`"listen_port": Invalid or reserved parameter`),
			HaveSuffix("Correct the field of spec.postgres.cluster.pooler that the error names.")))
		Expect(dojo).To(HaveCondition("Available", "True", ""))
		Expect(refetch(thePooler)(ctx)).To(instances(2), "the other field should not change either")
		setPooler(ctx, dojo, &corev1api.Pooler{Instances: new(int32(3))})
		eventuallyReady(ctx, dojo)
	})

	It("makes the Dojo Degraded while the Pooler has no pods "+
		"or another client's Service has its name", func(ctx context.Context) {
		foreign := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: bouncer},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		Expect(k8s.Create(ctx, foreign)).To(Succeed())
		dojo := created(ctx, withCluster())
		setPooler(ctx, dojo, &corev1api.Pooler{})
		eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		Expect(message(dojo, "DatabaseReady")).To(HavePrefix("The Service " + ns + "/" + bouncer + " exists"))
		cloudNativePG.Pause(ns, "tokyo-db")
		Expect(k8s.Delete(ctx, foreign)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonPoolerNotReady)
		Expect(message(dojo, "DatabaseReady")).To(HaveSuffix("See `kubectl describe poolers.postgresql.cnpg.io " + bouncer + " -n " + ns + "` and its pods."))
		Expect(dojo).To(HaveCondition("Available", "True", ""), "its pods still use the primary")
		cloudNativePG.Resume(ns, "tokyo-db")
		eventuallyReady(ctx, dojo)
	})

	It("has no pods while the Dojo is suspended, "+
		"and starts before the Dojo's pods when the Dojo is resumed", func(ctx context.Context) {
		dojo := created(ctx, replicas(2), withCluster(pooled))
		suspend := func(suspended bool) {
			edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Suspend = suspended })
		}
		suspend(true)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Ready", "True", corev1api.ReasonSuspended))
		Expect(refetch(thePooler)(ctx)).To(instances(0))
		slept := len(operator.WritesAtRest(ns))
		suspend(false)
		eventuallyReady(ctx, dojo)
		Expect(host(ctx)).To(Equal(bouncer))
		order := slices.Compact(slices.DeleteFunc(operator.WritesAtRest(ns)[slept:], func(write string) bool {
			return !strings.HasSuffix(write, " deployments/tokyo") && !strings.HasSuffix(write, " poolers/"+bouncer)
		}))
		Expect(order).To(Equal([]string{"patch poolers/" + bouncer, "patch deployments/tokyo"}))
	})

	DescribeTable("is deleted with the Dojo", func(ctx context.Context, policy corev1api.ReclaimPolicy, cluster bool) {
		dojo := created(ctx, withCluster(pooled), withPolicy(policy))
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		gone(ctx)
		theCluster := ofKind("Cluster", ns, "tokyo-db")
		left := func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(theCluster), theCluster)
		}
		if cluster {
			Consistently(ctx, left).Should(Succeed())
		} else {
			Eventually(ctx, left).Should(MatchError(ContainSubstring("not found")))
		}
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKey{Namespace: ns, Name: bouncer}, &appsv1.Deployment{})
		}).Should(MatchError(ContainSubstring("not found")))
	},
		Entry("and with the Cluster, by reclaimPolicy Delete", corev1api.ReclaimDelete, false),
		Entry("but without the Cluster, by reclaimPolicy Retain", corev1api.ReclaimRetain, true),
	)
})
