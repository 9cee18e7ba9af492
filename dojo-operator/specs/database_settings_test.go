// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("The settings of a Dojo's own Cluster", func() {
	var ns string
	var dojo *corev1api.Dojo
	var theCluster, theDatabase *unstructured.Unstructured
	BeforeEach(func(ctx context.Context) {
		ns = newNamespace(ctx)
		theCluster, theDatabase = ofKind("Cluster", ns, "tokyo-db"), ofKind("Database", ns, "tokyo-db")
		dojo = newDojo(ns, "tokyo", withCluster(func(pg *corev1api.PostgresCluster) {
			pg.Parameters = map[string]corev1api.ParameterValue{"max_connections": "200", "pg_stat_statements.max": "500"}
			pg.WALStorage = &corev1api.PostgresStorage{Size: resource.MustParse("2Gi"), StorageClassName: "fast"}
			pg.Affinity = &corev1api.PostgresAffinity{
				PodAntiAffinity: corev1api.PodAntiAffinityRequired, TopologyKey: corev1.LabelTopologyZone,
				NodeSelector: map[string]string{"disk": "ssd"},
				Tolerations: []corev1.Toleration{{Key: "database", Operator: corev1.TolerationOpExists,
					Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(30))}},
			}
			pg.Extensions = []corev1api.ExtensionName{"pg_trgm"}
		}))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
	})
	change := func(ctx context.Context, change func(*corev1api.PostgresCluster)) {
		GinkgoHelper()
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { change(dojo.Spec.Postgres.Cluster) })
	}
	extensions := func(names ...string) any {
		var all []any
		for _, name := range names {
			all = append(all, map[string]any{"name": name, "ensure": "present"})
		}
		return all
	}

	It("reach CloudNativePG when they are set, changed or removed, "+
		"and cost no write otherwise", func(ctx context.Context) {
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(theCluster), theCluster)).To(Succeed())
		Expect(theCluster).To(And(
			haveField("spec.postgresql.parameters", And(HaveKeyWithValue("max_connections", "200"),
				HaveKeyWithValue("pg_stat_statements.max", "500"))),
			haveField("spec.walStorage.size", "2Gi"), haveField("spec.walStorage.storageClass", "fast"),
			haveField("spec.affinity.podAntiAffinityType", "required"),
			haveField("spec.affinity.topologyKey", "topology.kubernetes.io/zone"),
			haveField("spec.affinity.nodeSelector", map[string]any{"disk": "ssd"}),
			haveField("spec.affinity.tolerations", []any{map[string]any{
				"key": "database", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(30),
			}})))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(theDatabase), theDatabase)).To(Succeed())
		Expect(theDatabase).To(haveField("spec.extensions", extensions("pg_trgm")))

		change(ctx, func(pg *corev1api.PostgresCluster) {
			pg.Parameters = map[string]corev1api.ParameterValue{"max_connections": "300"}
			pg.WALStorage.Size = resource.MustParse("3Gi")
			pg.Affinity = &corev1api.PostgresAffinity{PodAntiAffinity: corev1api.PodAntiAffinityDisabled}
			pg.Extensions = []corev1api.ExtensionName{"pg_trgm", "hstore"}
		})
		Eventually(ctx, refetch(theCluster)).Should(And(
			haveField("spec.postgresql.parameters", And(HaveKeyWithValue("max_connections", "300"),
				Not(HaveKey("pg_stat_statements.max")))),
			haveField("spec.walStorage.size", "3Gi"), haveField("spec.affinity.enablePodAntiAffinity", false),
			haveField("spec.affinity.nodeSelector", nil), haveField("spec.affinity.tolerations", nil)))
		Eventually(ctx, refetch(theDatabase)).Should(haveField("spec.extensions", extensions("pg_trgm", "hstore")))
		eventuallyReady(ctx, dojo)

		By("removing all but the volume")
		change(ctx, func(pg *corev1api.PostgresCluster) { pg.Parameters, pg.Affinity, pg.Extensions = nil, nil, nil })
		Eventually(ctx, refetch(theCluster)).Should(And(
			haveField("spec.postgresql.parameters", Not(HaveKeyWithValue("max_connections", "300"))),
			haveField("spec.affinity.enablePodAntiAffinity", Not(Equal(false)))))
		Eventually(ctx, refetch(theDatabase)).Should(haveField("spec.extensions", nil))
		eventuallyReady(ctx, dojo)
		writes := operator.WritesAtRest(ns)
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).Should(BeEmpty())
	})

	It("make the Dojo Degraded, but leave it Available, "+
		"if CloudNativePG reserves one of the parameters", func(ctx context.Context) {
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(theCluster), theCluster)).To(Succeed())
		change(ctx, func(pg *corev1api.PostgresCluster) {
			pg.Parameters["port"], pg.Parameters["max_connections"] = "6432", "300"
		})
		eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterRefused)
		Expect(message(dojo, "DatabaseReady")).To(And(
			ContainSubstring("spec.postgresql.parameters.port: Invalid value: \"6432\": Can't set fixed configuration parameter. "),
			HaveSuffix("with the same or a similar name in spec.postgres.cluster of the Dojo.")))
		Expect(dojo).To(And(HaveCondition("Available", "True", ""),
			HaveCondition("DatabaseReady", "False", corev1api.ReasonClusterRefused)))
		now := ofKind("Cluster", ns, "tokyo-db")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(now), now)).To(Succeed())
		Expect(now.GetGeneration()).
			To(Equal(theCluster.GetGeneration()), "the other parameter should not be changed either")
		change(ctx, func(pg *corev1api.PostgresCluster) { delete(pg.Parameters, "port") })
		Eventually(ctx, refetch(now)).Should(
			haveField("spec.postgresql.parameters", HaveKeyWithValue("max_connections", "300")))
		eventuallyReady(ctx, dojo)
	})

	It("make the Dojo Degraded with the error of Postgres if the image lacks an extension", func(ctx context.Context) {
		change(ctx, func(pg *corev1api.PostgresCluster) { pg.Extensions = append(pg.Extensions, "vector") })
		eventuallyDegraded(ctx, dojo, corev1api.ReasonDatabaseFailed)
		Expect(message(dojo, "DatabaseReady")).To(ContainSubstring("CloudNativePG reports: the extension vector of " +
			`spec.postgres.cluster.extensions: ERROR: extension "vector" is not available (SQLSTATE 0A000).`))
		Expect(dojo).To(HaveCondition("Available", "True", ""))
		change(ctx, func(pg *corev1api.PostgresCluster) { pg.Extensions = pg.Extensions[:1] })
		eventuallyReady(ctx, dojo)
	})
})
