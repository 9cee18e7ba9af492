// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// sharedDojo is in an existing Cluster, ownDojo has a Cluster of its own, both with all fields.
const (
	sharedDojo = `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: shared}
spec:
  accountId: a
  title: t
  replicas: 0
  postgres:
    clusterRef: {name: shared-pg}
    initSQL:
      - configMapKeyRef: {name: sql, key: tables.sql}
      - secretKeyRef: {name: sql, key: users.sql}
`
	ownDojo = `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: own}
spec:
  accountId: a
  title: t
  replicas: 0
  postgres:
    cluster:
      instances: 3
      synchronous: {number: 2}
      version: "16"
      storage: {size: 10Gi, storageClassName: fast}
      resources: {requests: {memory: 1Gi}}
      backup:
        schedule: "0 2 * * MON-FRI"
        method: Plugin
        plugin: {name: barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: store}}
        finalBackup: true
  image: registry.example.org/dojo:2
  imagePullSecrets: [{name: pull}]
  resources: {limits: {memory: 1Gi}}
  env: [{name: LOG_LEVEL, value: debug}]
  nodeSelector: {kubernetes.io/arch: amd64}
  tolerations: [{key: spot, operator: Exists}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]
  ingress: {host: dojo.example.org, className: nginx, tlsSecretName: dojo-tls}
  monitoring: {enabled: true, labels: {release: prometheus}}
  alerts: {discord: {groupRef: {name: alerts, namespace: platform}}}
`
)

// at sets a field of the spec, given by its path with dots, or removes it where the value is nil.
func at(path string, value any) func(map[string]any) {
	return func(o map[string]any) {
		fields := append([]string{"spec"}, strings.Split(path, ".")...)
		if value == nil {
			unstructured.RemoveNestedField(o, fields...)
			return
		}
		if err := unstructured.SetNestedField(o, value, fields...); err != nil {
			panic(err)
		}
	}
}

func all(changes ...func(map[string]any)) func(map[string]any) {
	return func(o map[string]any) {
		for _, change := range changes {
			change(o)
		}
	}
}

var _ = Describe("The API of a Dojo with a database of its own", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	parsed := func(text string, change func(map[string]any)) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(text), o)).To(Succeed())
		change(o.Object)
		o.SetNamespace(ns)
		return o
	}

	It("accepts every field, and sets the defaults", func(ctx context.Context) {
		Expect(k8s.Create(ctx, parsed(sharedDojo, all()))).To(Succeed())
		alone := all(at("postgres.cluster.instances", nil), at("postgres.cluster.synchronous", nil))
		Expect(k8s.Create(ctx, parsed(ownDojo, alone))).To(Succeed())
		var shared, own corev1api.Dojo
		Expect(k8s.Get(ctx, nameOf(ns, "shared"), &shared)).To(Succeed())
		Expect(shared.Spec.Postgres.ReclaimPolicy).To(Equal(corev1api.ReclaimRetain))
		Expect(k8s.Get(ctx, nameOf(ns, "own"), &own)).To(Succeed())
		Expect(own.Spec.Postgres.Cluster.Instances).To(HaveValue(Equal(int32(1))))
		Expect(own.Spec.Postgres.Cluster.Backup.Plugin.WALArchiver).To(HaveValue(BeTrue()))
	})

	DescribeTable("refuses an invalid spec, and says what is allowed",
		func(ctx context.Context, text string, change func(o map[string]any), want string) {
			Expect(k8s.Create(ctx, parsed(text, change))).To(MatchError(ContainSubstring(want)))
		},
		Entry("credentials and a database", sharedDojo, at("credentialsRef", map[string]any{"name": "a"}),
			"credentialsRef and postgres exclude each other"),
		Entry("Mongo with postgres", sharedDojo, at("database", "Mongo"), "with postgres, database can only be Postgres"),
		Entry("neither clusterRef nor cluster", sharedDojo, at("postgres.clusterRef", nil), "name exactly one: clusterRef"),
		Entry("both clusterRef and cluster", ownDojo, at("postgres.clusterRef", map[string]any{"name": "a"}),
			"name exactly one: clusterRef"),
		Entry("no name of a Cluster", sharedDojo, at("postgres.clusterRef", map[string]any{}),
			"spec.postgres.clusterRef.name: Required value"),
		Entry("an invalid name of a Cluster", sharedDojo, at("postgres.clusterRef.name", "Shared PG"),
			"must be the name of a Cluster"),
		Entry("a Cluster with too long a name", sharedDojo, at("postgres.clusterRef.name", strings.Repeat("a", 51)),
			"spec.postgres.clusterRef.name: Too long: may not be more than 50 bytes"),
		Entry("a Cluster of another namespace", sharedDojo, at("postgres.clusterRef.namespace", "default"),
			`unknown field "spec.postgres.clusterRef.namespace"`),
		Entry("unknown reclaimPolicy", sharedDojo, at("postgres.reclaimPolicy", "Recycle"),
			`supported values: "Retain", "Delete"`),
		Entry("SQL without a source", sharedDojo, at("postgres.initSQL", []any{map[string]any{}}),
			"name exactly one: configMapKeyRef or secretKeyRef"),
		Entry("SQL under an invalid key", sharedDojo,
			at("postgres.initSQL", []any{map[string]any{"configMapKeyRef": map[string]any{"name": "a", "key": "a/b"}}}),
			"must be a key"),
		Entry("SQL in an object with an invalid name", sharedDojo,
			at("postgres.initSQL", []any{map[string]any{"secretKeyRef": map[string]any{"name": "A b", "key": "a"}}}),
			"must be the name of an object"),
		Entry("too much SQL", sharedDojo, at("postgres.initSQL", many(17, "configMapKeyRef")),
			"spec.postgres.initSQL: Too many: 17: must have at most 16 items"),
		Entry("no instances", ownDojo, at("postgres.cluster.instances", int64(0)), "should be greater than or equal to 1"),
		Entry("too many instances", ownDojo, at("postgres.cluster.instances", int64(10)),
			"should be less than or equal to 9"),
		Entry("as many synchronous standbys as instances", ownDojo, at("postgres.cluster.synchronous.number", int64(3)),
			"synchronous.number must be less than instances"),
		Entry("a synchronous standby of the only instance", ownDojo, at("postgres.cluster.instances", nil),
			"synchronous.number must be less than instances"),
		Entry("no synchronous standby", ownDojo, at("postgres.cluster.synchronous.number", int64(0)),
			"should be greater than or equal to 1"),
		Entry("synchronous without a number", ownDojo, at("postgres.cluster.synchronous", map[string]any{}),
			"spec.postgres.cluster.synchronous.number: Required value"),
		Entry("an unsupported version", ownDojo, at("postgres.cluster.version", "9"),
			"must be a major version of Postgres, 14 or newer"),
		Entry("a minor version", ownDojo, at("postgres.cluster.version", "16.1"), "may not be more than 2 bytes"),
		Entry("version and image", ownDojo, at("postgres.cluster.imageName", "a:16"),
			"version and imageName exclude each other"),
		Entry("no storage", ownDojo, at("postgres.cluster.storage", nil), "spec.postgres.cluster.storage: Required value"),
		Entry("storage of size 0", ownDojo, at("postgres.cluster.storage.size", "0"), "size must be greater than 0"),
		Entry("storage of an invalid size", ownDojo, at("postgres.cluster.storage.size", "large"),
			"spec.postgres.cluster.storage.size"),
		Entry("a schedule of six fields", ownDojo, at("postgres.cluster.backup.schedule", "0 0 2 * * *"),
			"must have the five fields of cron"),
		Entry("an empty storage class", ownDojo, at("postgres.cluster.storage.storageClassName", ""),
			"storageClassName in body should be at least 1 chars long"),
		Entry("an over-long schedule", ownDojo, at("postgres.cluster.backup.schedule", "0 2 * * "+strings.Repeat("1", 121)),
			"schedule: Too long: may not be more than 128 bytes"),
		Entry("a schedule by name", ownDojo, at("postgres.cluster.backup.schedule", "@daily"),
			"must have the five fields of cron"),
		Entry("no method", ownDojo, at("postgres.cluster.backup.method", nil),
			"spec.postgres.cluster.backup.method: Required value"),
		Entry("CloudNativePG's deprecated method", ownDojo, at("postgres.cluster.backup.method", "BarmanObjectStore"),
			`supported values: "Plugin", "VolumeSnapshot"`),
		Entry("Plugin without a plugin", ownDojo, at("postgres.cluster.backup.plugin", nil),
			"plugin is required with the method Plugin"),
		Entry("VolumeSnapshot with a plugin", ownDojo, at("postgres.cluster.backup.method", "VolumeSnapshot"),
			"plugin is required with the method Plugin, and allowed with no other"),
		Entry("Plugin with a snapshot class", ownDojo, at("postgres.cluster.backup.volumeSnapshot", map[string]any{}),
			"volumeSnapshot is allowed with the method VolumeSnapshot only"),
		Entry("a name too long for a Cluster", ownDojo, named(strings.Repeat("a", 48)),
			"with postgres.cluster it has at most 47 characters"),
		Entry("the operator's own environment", ownDojo, at("env", []any{map[string]any{"name": "DB_PASS", "value": "x"}}),
			"are set by the operator"),
		Entry("the same environment twice", ownDojo,
			at("env", []any{map[string]any{"name": "A"}, map[string]any{"name": "A"}}), "Duplicate value"),
		Entry("an empty image", ownDojo, at("image", ""), "spec.image in body should be at least 1 chars long"),
		Entry("an invalid host", ownDojo, at("ingress.host", "dojo_1.example.org"), "must be a host name"),
		Entry("no host", ownDojo, at("ingress.host", nil), "spec.ingress.host: Required value"),
		Entry("an empty IngressClass", ownDojo, at("ingress.className", ""),
			"spec.ingress.className in body should be at least 1 chars long"),
		Entry("an empty name of the certificate", ownDojo, at("ingress.tlsSecretName", ""),
			"spec.ingress.tlsSecretName in body should be at least 1 chars long"),
		Entry("too many labels", ownDojo, at("monitoring.labels", labelled(17)),
			"spec.monitoring.labels: Too many: 17: must have at most 16 items"),
		Entry("monitoring without enabled", ownDojo, at("monitoring.enabled", nil),
			"spec.monitoring.enabled: Required value"),
		Entry("alerts without monitoring", ownDojo, at("monitoring.enabled", false),
			"alerts needs what monitoring makes: leave monitoring.enabled true"),
		Entry("alerts without a receiver", ownDojo, at("alerts.discord", nil), "spec.alerts.discord: Required value"),
		Entry("neither channel nor group", ownDojo, at("alerts.discord.groupRef", nil), "name exactly one: the channelRef"),
		Entry("both channel and group", ownDojo, at("alerts.discord.channelRef", map[string]any{"name": "a"}),
			"name exactly one: the channelRef"),
		Entry("an invalid name of a group", ownDojo, at("alerts.discord.groupRef.name", "#alerts"),
			"must be the name of an object"),
		Entry("a group in no possible namespace", ownDojo, at("alerts.discord.groupRef.namespace", "Team A"),
			`spec.alerts.discord.groupRef.namespace: Invalid value: "Team A": must be the name of a namespace`),
		Entry("a channel of another namespace", ownDojo, all(at("alerts.discord.groupRef", nil),
			at("alerts.discord.channelRef", map[string]any{"name": "a", "namespace": "default"})),
			`unknown field "spec.alerts.discord.channelRef.namespace"`),
		Entry("the operator's own labels", ownDojo, at("monitoring.labels", map[string]any{"app.kubernetes.io/name": "x"}),
			"are the operator's own"),
	)

	DescribeTable("refuses changes that would lose the data, or the way to the application",
		func(ctx context.Context, text string, change func(o map[string]any), want string) {
			o := parsed(text, all())
			Expect(k8s.Create(ctx, o)).To(Succeed())
			Eventually(ctx, func(ctx context.Context) error {
				live := o.DeepCopy()
				if err := k8s.Get(ctx, nameOf(ns, o.GetName()), live); err != nil {
					return err
				}
				change(live.Object)
				return k8s.Update(ctx, live)
			}).Should(MatchError(ContainSubstring(want)))
		},
		Entry("from credentials to a database", firstUsersDojo,
			all(at("credentialsRef", nil), at("postgres", map[string]any{"clusterRef": map[string]any{"name": "a"}})),
			"as docs/operations.md says under Migration"),
		Entry("from a database to credentials", sharedDojo,
			all(at("postgres", nil), at("credentialsRef", map[string]any{"name": "a"})),
			"as docs/operations.md says under Migration"),
		Entry("to another Cluster", sharedDojo, at("postgres.clusterRef.name", "other"),
			"cannot be changed: the data would stay behind"),
		Entry("to a Cluster of its own", sharedDojo,
			all(at("postgres.clusterRef", nil),
				at("postgres.cluster", map[string]any{"storage": map[string]any{"size": "1Gi"}})),
			"clusterRef and cluster cannot be exchanged"),
		Entry("to an older Postgres", ownDojo, at("postgres.cluster.version", "15"), "version cannot go down"),
		Entry("to no version", ownDojo, at("postgres.cluster.version", nil), "cannot both be taken away"),
		Entry("to fewer instances than commits wait for", ownDojo, at("postgres.cluster.instances", int64(2)),
			"synchronous.number must be less than instances"),
		Entry("to no IngressClass", ownDojo, at("ingress.className", nil), "className cannot be taken away"),
		Entry("to a smaller volume", ownDojo, at("postgres.cluster.storage.size", "5Gi"), "size cannot shrink"),
		Entry("to another storage class", ownDojo, at("postgres.cluster.storage.storageClassName", "slow"),
			"storageClassName cannot be changed"),
	)

	It("accepts a newer Postgres, a larger volume, another policy, and other mutable fields", func(ctx context.Context) {
		o := parsed(ownDojo, all())
		Expect(k8s.Create(ctx, o)).To(Succeed())
		Eventually(ctx, func(ctx context.Context) error {
			if err := k8s.Get(ctx, nameOf(ns, "own"), o); err != nil {
				return err
			}
			all(at("postgres.cluster.version", "17"), at("postgres.cluster.storage.size", "11Gi"),
				at("postgres.reclaimPolicy", "Delete"),
				at("postgres.cluster.instances", int64(5)), at("postgres.cluster.backup", nil), at("ingress", nil),
				at("alerts.discord.groupRef", nil), at("alerts.discord.channelRef", map[string]any{"name": "all"}))(o.Object)
			return k8s.Update(ctx, o)
		}).Should(Succeed())
		Eventually(ctx, func(ctx context.Context) error {
			if err := k8s.Get(ctx, nameOf(ns, "own"), o); err != nil {
				return err
			}
			at("postgres.reclaimPolicy", "Retain")(o.Object) // with Delete, the finalizer would wait for the operator
			return k8s.Update(ctx, o)
		}).Should(Succeed())
	})
})
