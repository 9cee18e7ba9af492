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
      walStorage: {size: 2Gi, storageClassName: fast}
      parameters: {max_connections: "200", auto_explain.log_min_duration: 1s, log_line_prefix: ""}
      resources: {requests: {memory: 1Gi}}
      affinity:
        podAntiAffinity: Required
        topologyKey: topology.kubernetes.io/zone
        nodeSelector: {disk: ssd}
        tolerations: [{key: database, operator: Exists}]
      extensions: [pg_trgm, uuid-ossp]
      pooler: {instances: 2, mode: Transaction, parameters: {default_pool_size: "50", log_stats: ""}}
      backup:
        schedule: "0 2 * * MON-FRI"
        method: Plugin
        plugin: {name: barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: store, serverName: own-db-2}}
        finalBackup: true
      bootstrap:
        recovery:
          objectStore:
            plugin: {name: barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: store}}
            serverName: own-db
          targetTime: "2026-11-21T10:00:00.123456+01:00"
          database: dojo_school_own
  deletionProtection: false
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
  exposure: {hosts: [dojo.example.org], ingress: {className: nginx}, tls: {secretName: dojo-tls}}
  monitoring: {enabled: true, labels: {release: prometheus}}
  alerts: {discord: {groupRef: {name: alerts, namespace: platform}}}
`
)

// at returns a change of the field at a dotted path in the spec. If value is nil, the change
// removes the field.
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

var _ = Describe("The API of a Dojo with spec.postgres", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	parsed := func(text string, change func(map[string]any)) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(text), o)).To(Succeed())
		change(o.Object)
		o.SetNamespace(ns)
		return o
	}

	It("accepts many fields at once, and sets the defaults", func(ctx context.Context) {
		Expect(k8s.Create(ctx, parsed(sharedDojo, all()))).To(Succeed())
		alone := all(at("postgres.cluster.instances", nil), at("postgres.cluster.synchronous", nil))
		Expect(k8s.Create(ctx, parsed(ownDojo, alone))).To(Succeed())
		var shared, own corev1api.Dojo
		Expect(k8s.Get(ctx, nameOf(ns, "shared"), &shared)).To(Succeed())
		Expect(shared.Spec.Postgres.ReclaimPolicy).To(Equal(corev1api.ReclaimRetain))
		Expect(k8s.Get(ctx, nameOf(ns, "own"), &own)).To(Succeed())
		Expect(own.Spec.Postgres.Cluster.Instances).
			To(BeNil(), "with a default, a preset in size could not set the instances")
		edited := parsed(ownDojo, all(alone, named("bare"), at("postgres.cluster.pooler", map[string]any{})))
		Expect(k8s.Create(ctx, edited)).To(Succeed())
		Expect(field(edited, "spec.postgres.cluster.pooler")).To(
			Equal(map[string]any{"instances": int64(1), "mode": "Session"}))
		Expect(own.Spec.Postgres.Cluster.Backup.Plugin.WALArchiver).To(HaveValue(BeTrue()))
	})

	DescribeTable("refuses an invalid spec, and says why",
		func(ctx context.Context, text string, change func(o map[string]any), want string) {
			Expect(k8s.Create(ctx, parsed(text, change))).To(MatchError(ContainSubstring(want)))
		},
		Entry("both credentialsRef and postgres", sharedDojo, at("credentialsRef", map[string]any{"name": "a"}),
			"credentialsRef and postgres exclude each other"),
		Entry("database Mongo with postgres", sharedDojo,
			at("database", "Mongo"), "with postgres, database must be Postgres: for Mongo, use credentialsRef"),
		Entry("neither clusterRef nor cluster", sharedDojo, at("postgres.clusterRef", nil), "name exactly one: clusterRef"),
		Entry("both clusterRef and cluster", ownDojo, at("postgres.clusterRef", map[string]any{"name": "a"}),
			"name exactly one: clusterRef"),
		Entry("a clusterRef without a name", sharedDojo, at("postgres.clusterRef", map[string]any{}),
			"spec.postgres.clusterRef.name: Required value"),
		Entry("a clusterRef with an invalid name", sharedDojo, at("postgres.clusterRef.name", "Shared PG"),
			"must be the name of a Cluster"),
		Entry("a clusterRef with too long a name", sharedDojo, at("postgres.clusterRef.name", strings.Repeat("a", 51)),
			"spec.postgres.clusterRef.name: Too long: may not be more than 50 bytes"),
		Entry("a clusterRef with a namespace", sharedDojo, at("postgres.clusterRef.namespace", "default"),
			`unknown field "spec.postgres.clusterRef.namespace"`),
		Entry("an unknown reclaimPolicy", sharedDojo, at("postgres.reclaimPolicy", "Recycle"),
			`supported values: "Retain", "Delete"`),
		Entry("an item of initSQL without a source", sharedDojo, at("postgres.initSQL", []any{map[string]any{}}),
			"name exactly one: configMapKeyRef or secretKeyRef"),
		Entry("an item of initSQL with an invalid key", sharedDojo,
			at("postgres.initSQL", []any{map[string]any{"configMapKeyRef": map[string]any{"name": "a", "key": "a/b"}}}),
			"must be a key"),
		Entry("an item of initSQL with an invalid object name", sharedDojo,
			at("postgres.initSQL", []any{map[string]any{"secretKeyRef": map[string]any{"name": "A b", "key": "a"}}}),
			"must be the name of an object"),
		Entry("more than 16 items of initSQL", sharedDojo, at("postgres.initSQL", many(17, "configMapKeyRef")),
			"spec.postgres.initSQL: Too many: 17: must have at most 16 items"),
		Entry("0 instances", ownDojo, at("postgres.cluster.instances", int64(0)), "should be greater than or equal to 1"),
		Entry("more than 9 instances", ownDojo, at("postgres.cluster.instances", int64(10)),
			"should be less than or equal to 9"),
		Entry("as many synchronous standbys as instances", ownDojo, at("postgres.cluster.synchronous.number", int64(3)),
			"synchronous.number must be less than instances"),
		Entry("synchronous standbys with the default of one instance", ownDojo, at("postgres.cluster.instances", nil),
			"synchronous.number must be less than instances"),
		Entry("the field synchronous with the number 0", ownDojo, at("postgres.cluster.synchronous.number", int64(0)),
			"should be greater than or equal to 1"),
		Entry("the field synchronous without a number", ownDojo, at("postgres.cluster.synchronous", map[string]any{}),
			"spec.postgres.cluster.synchronous.number: Required value"),
		Entry("an unsupported version of Postgres", ownDojo, at("postgres.cluster.version", "9"),
			"must be a major version of Postgres, 14 or newer"),
		Entry("a minor version of Postgres", ownDojo, at("postgres.cluster.version", "16.1"), "may not be more than 2 bytes"),
		Entry("both version and imageName", ownDojo, at("postgres.cluster.imageName", "a:16"),
			"version and imageName exclude each other"),
		Entry("neither storage nor size", ownDojo, at("postgres.cluster.storage", nil),
			"storage or size is required: set storage.size to the size of each instance's volume, or size to a preset"),
		Entry("storage of size 0", ownDojo, at("postgres.cluster.storage.size", "0"), "size must be greater than 0"),
		Entry("storage of an invalid size", ownDojo, at("postgres.cluster.storage.size", "large"),
			"spec.postgres.cluster.storage.size"),
		Entry("a backup schedule with six fields", ownDojo, at("postgres.cluster.backup.schedule", "0 0 2 * * *"),
			"must have the five fields of cron"),
		Entry("an empty storage class", ownDojo, at("postgres.cluster.storage.storageClassName", ""),
			"storageClassName in body should be at least 1 chars long"),
		Entry("an invalid name of a Postgres parameter", ownDojo,
			at("postgres.cluster.parameters", map[string]any{"a b": "1"}),
			"must be names of parameters of Postgres in lower case"),
		Entry("a Postgres parameter with an upper-case letter", ownDojo,
			at("postgres.cluster.parameters", map[string]any{"Port": "1"}),
			"must be names of parameters of Postgres in lower case"),
		Entry("a Postgres parameter with too long a name", ownDojo,
			at("postgres.cluster.parameters", map[string]any{strings.Repeat("a", 64): "1"}),
			"must be names of parameters of Postgres in lower case"),
		Entry("a Postgres parameter with too long a value", ownDojo,
			at("postgres.cluster.parameters", map[string]any{"search_path": strings.Repeat("a", 257)}),
			"Too long: may not be more than 256 bytes"),
		Entry("a WAL volume of size 0", ownDojo, at("postgres.cluster.walStorage.size", "0"),
			"size must be greater than 0"),
		Entry("an invalid extension name", ownDojo, at("postgres.cluster.extensions", []any{"x; drop table weapons"}),
			"must be the name of an extension of Postgres"),
		Entry("the same extension twice", ownDojo, at("postgres.cluster.extensions", []any{"pg_trgm", "pg_trgm"}),
			"Duplicate value"),
		Entry("an unknown value of podAntiAffinity", ownDojo, at("postgres.cluster.affinity.podAntiAffinity", "Always"),
			`supported values: "Preferred", "Required", "Disabled"`),
		Entry("a topologyKey with podAntiAffinity Disabled", ownDojo,
			at("postgres.cluster.affinity.podAntiAffinity", "Disabled"),
			"topologyKey needs podAntiAffinity Preferred or Required"),
		Entry("an empty topologyKey", ownDojo, at("postgres.cluster.affinity.topologyKey", ""),
			"topologyKey in body should be at least 1 chars long"),
		Entry("a Pooler with 0 instances", ownDojo, at("postgres.cluster.pooler.instances", int64(0)),
			"should be greater than or equal to 1"),
		Entry("a Pooler with too many instances", ownDojo, at("postgres.cluster.pooler.instances", int64(33)),
			"should be less than or equal to 32"),
		Entry("the Pooler mode Statement, which breaks transactions", ownDojo,
			at("postgres.cluster.pooler.mode", "Statement"),
			`supported values: "Session", "Transaction"`),
		Entry("an invalid PgBouncer parameter name", ownDojo,
			at("postgres.cluster.pooler.parameters", map[string]any{"a = b": "1"}), "must be names of parameters of PgBouncer"),
		Entry("a PgBouncer parameter with a line break", ownDojo,
			at("postgres.cluster.pooler.parameters", map[string]any{"verbose": "0\nauth_type = any"}),
			`spec.postgres.cluster.pooler.parameters[verbose]: Invalid value: "0\nauth_type = any": must be one line`),
		Entry("a PgBouncer parameter that disables passwords", ownDojo, at("postgres.cluster.pooler.parameters", map[string]any{"auth_type": "any"}),
			"auth_type, server_reset_query and server_reset_query_always are not allowed, because CloudNativePG sets"),
		Entry("a PgBouncer parameter that replaces the operator's server_reset_query", ownDojo,
			at("postgres.cluster.pooler.parameters", map[string]any{"server_reset_query": "DISCARD ALL"}),
			"auth_type, server_reset_query and server_reset_query_always are not allowed, because CloudNativePG sets"),
		Entry("a backup schedule of more than 128 bytes", ownDojo,
			at("postgres.cluster.backup.schedule", "0 2 * * "+strings.Repeat("1", 121)),
			"schedule: Too long: may not be more than 128 bytes"),
		Entry("the backup schedule @daily", ownDojo, at("postgres.cluster.backup.schedule", "@daily"),
			"must have the five fields of cron"),
		Entry("a backup without a method", ownDojo, at("postgres.cluster.backup.method", nil),
			"spec.postgres.cluster.backup.method: Required value"),
		Entry("CloudNativePG's deprecated backup method BarmanObjectStore", ownDojo,
			at("postgres.cluster.backup.method", "BarmanObjectStore"),
			`supported values: "Plugin", "VolumeSnapshot"`),
		Entry("the backup method Plugin without the field plugin", ownDojo, at("postgres.cluster.backup.plugin", nil),
			"plugin is required with the method Plugin"),
		Entry("the backup method VolumeSnapshot with the field plugin", ownDojo,
			at("postgres.cluster.backup.method", "VolumeSnapshot"),
			"plugin is required with the method Plugin, and not allowed with another method"),
		Entry("the backup method Plugin with the field volumeSnapshot", ownDojo,
			at("postgres.cluster.backup.volumeSnapshot", map[string]any{}),
			"volumeSnapshot is allowed with the method VolumeSnapshot only"),
		Entry("a bootstrap with neither recovery nor import", ownDojo, at("postgres.cluster.bootstrap", map[string]any{}),
			"name exactly one: recovery (a backup of a Cluster of CloudNativePG) or import (a database elsewhere)"),
		Entry("a bootstrap with both recovery and import", ownDojo,
			at("postgres.cluster.bootstrap.import", map[string]any{"sourceSecretRef": map[string]any{"name": "a"}}),
			"name exactly one: recovery (a backup of a Cluster of CloudNativePG) or import (a database elsewhere)"),
		Entry("a restore without a source", ownDojo, at("postgres.cluster.bootstrap.recovery.objectStore", nil),
			"name exactly one: backup (a Backup of this namespace), volumeSnapshot or objectStore"),
		Entry("a restore from both a Backup and an object store", ownDojo,
			at("postgres.cluster.bootstrap.recovery.backup", map[string]any{"name": "a"}),
			"name exactly one: backup (a Backup of this namespace), volumeSnapshot or objectStore"),
		Entry("a targetTime for a restore from a volume snapshot", ownDojo,
			at("postgres.cluster.bootstrap.recovery", map[string]any{
				"volumeSnapshot": map[string]any{"storage": "a"}, "targetTime": "2026-11-21T10:00:00Z",
			}), "targetTime needs the write-ahead log, which a volume snapshot does not have"),
		Entry("a targetTime without a time zone", ownDojo,
			at("postgres.cluster.bootstrap.recovery.targetTime", "2026-11-21T10:00:00"), "must be a time in RFC 3339, with a time zone"),
		Entry("a targetTime in an invalid month", ownDojo,
			at("postgres.cluster.bootstrap.recovery.targetTime", "2026-13-21T10:00:00Z"), "must be a time in RFC 3339, with a time zone"),
		Entry("a restore of the database app, which CloudNativePG creates", ownDojo,
			at("postgres.cluster.bootstrap.recovery.database", "app"),
			"must be the name of an application's database"),
		Entry("a restore of a database whose name begins with pg_", ownDojo,
			at("postgres.cluster.bootstrap.recovery.database", "pg_x"),
			"must be the name of an application's database"),
		Entry("a restore of a database with an invalid name", ownDojo,
			at("postgres.cluster.bootstrap.recovery.database", "a b"),
			"must be the name of a database of Postgres"),
		Entry("an objectStore without serverName", ownDojo,
			at("postgres.cluster.bootstrap.recovery.objectStore.serverName", nil),
			"bootstrap.recovery.objectStore.serverName: Required value"),
		Entry("an objectStore with a second serverName among the plugin's parameters", ownDojo,
			at("postgres.cluster.bootstrap.recovery.objectStore.plugin.parameters.serverName", "b"),
			"set serverName in objectStore.serverName"),
		Entry("a restore without a serverName for new backups", ownDojo,
			at("postgres.cluster.backup.plugin.parameters.serverName", nil),
			"backup.plugin.parameters needs a serverName of its own"),
		Entry("a restore with the source's serverName for new backups", ownDojo,
			at("postgres.cluster.backup.plugin.parameters.serverName", "own-db"),
			"backup.plugin.parameters.serverName must differ from bootstrap.recovery.objectStore.serverName"),
		Entry("no walStorage for a restore from a WAL snapshot", ownDojo, all(at("postgres.cluster.walStorage", nil),
			at("postgres.cluster.bootstrap.recovery",
				map[string]any{"volumeSnapshot": map[string]any{"storage": "a", "walStorage": "b"}})),
			"bootstrap.recovery.volumeSnapshot.walStorage needs walStorage"),
		Entry("an import without a source", ownDojo,
			at("postgres.cluster.bootstrap", map[string]any{"import": map[string]any{}}), "sourceSecretRef: Required value"),
		Entry("a Dojo whose name is too long for the name of its Cluster", ownDojo, named(strings.Repeat("a", 48)),
			"with postgres.cluster, metadata.name has at most 47 characters"),
		Entry("an environment variable that the operator sets", ownDojo,
			at("env", []any{map[string]any{"name": "DB_PASS", "value": "x"}}),
			"are set by the operator"),
		Entry("the environment variable that the operator sets to the host of the standbys", ownDojo,
			at("env", []any{map[string]any{"name": "DB_READONLY_ENDPOINT", "value": "x"}}), "are set by the operator"),
		Entry("the same environment variable twice", ownDojo,
			at("env", []any{map[string]any{"name": "A"}, map[string]any{"name": "A"}}), "Duplicate value"),
		Entry("an empty image", ownDojo, at("image", ""), "spec.image in body should be at least 1 chars long"),
		Entry("an empty IngressClass", ownDojo, at("exposure.ingress.className", ""),
			"spec.exposure.ingress.className in body should be at least 1 chars long"),
		Entry("an empty name of the certificate's Secret", ownDojo, at("exposure.tls.secretName", ""),
			"spec.exposure.tls.secretName in body should be at least 1 chars long"),
		Entry("more than 16 labels of monitoring", ownDojo, at("monitoring.labels", labelled(17)),
			"spec.monitoring.labels: Too many: 17: must have at most 16 items"),
		Entry("spec.monitoring without its required field enabled", ownDojo, at("monitoring.enabled", nil),
			"spec.monitoring.enabled: Required value"),
		Entry("alerts with monitoring.enabled false", ownDojo, at("monitoring.enabled", false),
			"alerts enables monitoring, so monitoring.enabled cannot be false: set it to true"),
		Entry("spec.alerts without its required field discord", ownDojo, at("alerts.discord", nil),
			"spec.alerts.discord: Required value"),
		Entry("alerts with neither channelRef nor groupRef", ownDojo,
			at("alerts.discord.groupRef", nil), "name exactly one: the channelRef"),
		Entry("alerts with both channelRef and groupRef", ownDojo,
			at("alerts.discord.channelRef", map[string]any{"name": "a"}),
			"name exactly one: the channelRef"),
		Entry("a mention of a role and a user at once", ownDojo, at("alerts.discord.mentions", []any{map[string]any{
			"roleId": "1401681709430341704", "userId": "80351110224678912"}}), "name exactly one: roleId or userId"),
		Entry("a mention of a role by name", ownDojo,
			at("alerts.discord.mentions", []any{map[string]any{"roleId": "everyone"}}),
			"must be the id of a role on Discord: 17 to 20 digits"),
		Entry("a mention for an unknown severity", ownDojo, at("alerts.discord.mentions", []any{map[string]any{
			"userId": "80351110224678912", "severities": []any{"fatal"}}}), `Unsupported value: "fatal"`),
		Entry("a groupRef.name that no object can have", ownDojo, at("alerts.discord.groupRef.name", "#alerts"),
			"must be the name of an object"),
		Entry("a groupRef.namespace that no namespace can have", ownDojo, at("alerts.discord.groupRef.namespace", "Team A"),
			`spec.alerts.discord.groupRef.namespace: Invalid value: "Team A": must be the name of a namespace`),
		Entry("a namespace in channelRef, although the channel is always in the Dojo's namespace", ownDojo,
			all(at("alerts.discord.groupRef", nil),
				at("alerts.discord.channelRef", map[string]any{"name": "a", "namespace": "default"})),
			`unknown field "spec.alerts.discord.channelRef.namespace"`),
		Entry("a label of monitoring that the operator sets", ownDojo,
			at("monitoring.labels", map[string]any{"app.kubernetes.io/name": "x"}),
			"are the operator's own"),
	)

	DescribeTable("refuses an invalid update, and says why",
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
		Entry("postgres instead of credentialsRef", firstUsersDojo,
			all(at("credentialsRef", nil), at("postgres", map[string]any{"clusterRef": map[string]any{"name": "a"}})),
			"as docs/do/migrate-database.md says"),
		Entry("credentialsRef instead of postgres", sharedDojo,
			all(at("postgres", nil), at("credentialsRef", map[string]any{"name": "a"})),
			"as docs/do/migrate-database.md says"),
		Entry("another Cluster in clusterRef", sharedDojo, at("postgres.clusterRef.name", "other"),
			"cannot be changed: the data would stay behind"),
		Entry("cluster instead of clusterRef", sharedDojo,
			all(at("postgres.clusterRef", nil),
				at("postgres.cluster", map[string]any{"storage": map[string]any{"size": "1Gi"}})),
			"clusterRef and cluster cannot be exchanged"),
		Entry("the removal of the Postgres version", ownDojo,
			at("postgres.cluster.version", nil), "cannot both be removed"),
		Entry("a decrease of instances to the number of synchronous standbys", ownDojo,
			at("postgres.cluster.instances", int64(2)),
			"synchronous.number must be less than instances"),
		Entry("the removal of the IngressClass", ownDojo,
			at("exposure.ingress.className", nil), "className of the Ingress cannot be removed"),
		Entry("a smaller data volume", ownDojo, at("postgres.cluster.storage.size", "5Gi"), "size cannot shrink"),
		Entry("the removal of the WAL volume", ownDojo, at("postgres.cluster.walStorage", nil),
			"walStorage cannot be removed"),
		Entry("a smaller WAL volume", ownDojo, at("postgres.cluster.walStorage.size", "1Gi"), "size cannot shrink"),
		Entry("a change of the bootstrap", ownDojo, at("postgres.cluster.bootstrap.recovery.targetTime", nil),
			"spec.postgres.cluster.bootstrap: Invalid value: cannot be changed: bootstrap applies only when the Cluster "+
				"is created"),
		Entry("the removal of the bootstrap", ownDojo,
			at("postgres.cluster.bootstrap", nil), "bootstrap cannot be added or removed"),
		Entry("another storage class", ownDojo, at("postgres.cluster.storage.storageClassName", "slow"),
			"storageClassName cannot be changed"),
	)

	It("accepts a newer Postgres, a larger volume, another reclaimPolicy, "+
		"and edits of other mutable fields", func(ctx context.Context) {
		o := parsed(ownDojo, all())
		Expect(k8s.Create(ctx, o)).To(Succeed())
		Eventually(ctx, func(ctx context.Context) error {
			if err := k8s.Get(ctx, nameOf(ns, "own"), o); err != nil {
				return err
			}
			all(at("postgres.cluster.version", "17"), at("postgres.cluster.storage.size", "11Gi"),
				at("postgres.reclaimPolicy", "Delete"),
				at("postgres.cluster.instances", int64(5)), at("postgres.cluster.backup", nil), at("exposure", nil),
				at("postgres.cluster.walStorage.size", "3Gi"), at("postgres.cluster.parameters", nil),
				at("postgres.cluster.affinity", nil), at("postgres.cluster.pooler", nil),
				at("postgres.cluster.extensions", []any{"hstore"}),
				at("alerts.discord.groupRef", nil), at("alerts.discord.channelRef", map[string]any{"name": "all"}))(o.Object)
			return k8s.Update(ctx, o)
		}).Should(Succeed())
		Eventually(ctx, func(ctx context.Context) error {
			if err := k8s.Get(ctx, nameOf(ns, "own"), o); err != nil {
				return err
			}
			// With Delete, the Dojo would stay until an operator removes its finalizer.
			at("postgres.reclaimPolicy", "Retain")(o.Object)
			return k8s.Update(ctx, o)
		}).Should(Succeed())
	})
})
