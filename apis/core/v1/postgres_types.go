// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RotatePasswordAnnotation on a Dojo with spec.postgres requests a new database
// password each time its value changes to another non-empty value. The operator
// generates a password for another login, waits until Postgres has this
// password, rolls the pods, and disables the former login once no pod uses it
// and no other Dojo names its Secret. During the rotation, Postgres accepts the
// passwords of all pods.
const RotatePasswordAnnotation = "core.jutsu.com/rotate-password" //nolint:gosec // a name, not a password

// RecreateDatabaseAnnotation on a Dojo with spec.postgres.cluster allows the
// operator to create a new Cluster in place of a lost Cluster. The new Cluster
// is empty or, with bootstrap, has the data that bootstrap names. All other
// data of the lost Cluster stays lost. The value of the annotation is in the
// message of the reason DatabaseLost: it is status.database.clusterUID or, if
// this field is not set, the UID of the Dojo. The annotation applies to this
// loss only, so you need not remove it.
const RecreateDatabaseAnnotation = "core.jutsu.com/recreate-database"

// UpgradeWithoutBackupAnnotation on a Dojo with spec.postgres.cluster allows an
// upgrade to a higher major version of Postgres without a backup. Its value is
// the new major version, such as "17". The operator then makes no backup before
// the upgrade, even if spec.postgres.cluster.backup is set. The annotation
// applies to this version only, so you need not remove it.
const UpgradeWithoutBackupAnnotation = "core.jutsu.com/upgrade-without-backup"

// DatabaseFinalizer is on a Dojo with spec.postgres.reclaimPolicy Delete until
// the data is deleted, or is marked as retained.
const DatabaseFinalizer = "core.jutsu.com/database"

// ReclaimPolicy defines what happens to the data when the Dojo is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type ReclaimPolicy string

const (
	// ReclaimRetain keeps the database, its roles, their passwords and, with
	// postgres.cluster, the Cluster. A Dojo that is created again under the same
	// name uses them.
	ReclaimRetain ReclaimPolicy = "Retain"
	// ReclaimDelete stops the application and then deletes the database, its roles
	// and, with postgres.cluster, the Cluster.
	ReclaimDelete ReclaimPolicy = "Delete"
)

// Postgres is a database for one Dojo, created through CloudNativePG
// (https://cloudnative-pg.io), version 1.30 or newer.
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != has(self.cluster)",message="name exactly one: clusterRef (a database in an existing Cluster) or cluster (a Cluster for this Dojo alone)"
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) == has(oldSelf.clusterRef)",message="clusterRef and cluster cannot be exchanged for one another: the data would stay behind. Make a new Dojo and move the data, as docs/do/migrate-database.md says"
type Postgres struct {
	// clusterRef names an existing CloudNativePG Cluster in the Dojo's namespace.
	// The operator creates a database and its roles in it, and never writes to the
	// Cluster itself. If the Cluster does not exist, the Dojo is Progressing, and
	// after --database-deadline Degraded.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed: the data would stay behind. Make a new Dojo and move the data, as docs/do/migrate-database.md says"
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`

	// cluster requests a CloudNativePG Cluster for this Dojo alone, named
	// `<dojo>-db`.
	// +optional
	Cluster *PostgresCluster `json:"cluster,omitempty"`

	// reclaimPolicy defines what happens to the data when the Dojo is deleted:
	// Retain or Delete. If the namespace is deleted, all data in it is deleted,
	// also with Retain. Defaults to Retain.
	// +optional
	// +default="Retain"
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`

	// initSQL lists sources of SQL, at most 16 with at most 4 MiB together. The
	// SQL runs in this order, as the owner of the database, after the operator's
	// own SQL, which creates the table weapons. It runs before the first pod
	// starts, and again after each change of this SQL or of the operator's own
	// SQL, so it must be idempotent (CREATE TABLE IF NOT EXISTS ...). If a
	// statement fails, the Dojo is Degraded with the reason SchemaFailed. Until
	// the SQL has succeeded, running pods keep their image. psql runs the SQL in a
	// pod that has the application's password. Commands of psql in the SQL, such
	// as \!, can read this password. So use only SQL from users who may have the
	// password. Use initSQL for the first schema, and spec.release for migrations.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	InitSQL []SQLSource `json:"initSQL,omitempty"`
}

// ClusterReference names a CloudNativePG Cluster in the Dojo's namespace.
type ClusterReference struct {
	// name of the Cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a Cluster: lower case letters, digits and '-', starting with a letter and ending with a letter or digit"
	Name string `json:"name"`
}

// PostgresCluster is a CloudNativePG Cluster for one Dojo.
// +kubebuilder:validation:XValidation:rule="has(self.size) || has(self.storage)",message="storage or size is required: set storage.size to the size of each instance's volume, or size to a preset"
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage) || (has(self.storage) ? !has(self.storage.storageClassName) : !has(oldSelf.storage.storageClassName))",message="storageClassName cannot be changed: volumes do not move between classes"
// +kubebuilder:validation:XValidation:rule="!(has(self.version) && has(self.imageName))",message="version and imageName exclude each other: the image determines the version"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.version) && !has(oldSelf.imageName) || has(self.version) || has(self.imageName)",message="version and imageName cannot both be removed: CloudNativePG's default image may have a newer version. Keep one of the two fields"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.walStorage) || has(self.walStorage)",message="walStorage cannot be removed: its volume has the write-ahead log"
// +kubebuilder:validation:XValidation:rule="!has(self.synchronous) || self.synchronous.number < (has(self.instances) ? self.instances : has(self.size) ? 9 : 1)",message="synchronous.number must be less than instances, which defaults to 1 without size: synchronous.number counts standbys only, and one of the instances is the primary"
// +kubebuilder:validation:XValidation:rule="has(self.bootstrap) == has(oldSelf.bootstrap)",message="bootstrap cannot be added or removed: it applies only when the Cluster is created. Make a new Dojo, as docs/do/restore.md says"
// +kubebuilder:validation:XValidation:rule="!has(self.versionPolicy) || has(self.version)",message="versionPolicy needs version: the operator does not replace an image that comes from imageName or from CloudNativePG's default"
// +kubebuilder:validation:XValidation:rule="!has(self.bootstrap) || !has(self.bootstrap.recovery) || !has(self.backup) || !has(self.backup.plugin) || self.backup.plugin.name != 'barman-cloud.cloudnative-pg.io' || (has(self.backup.plugin.parameters) && 'serverName' in self.backup.plugin.parameters)",message="with bootstrap.recovery, backup.plugin.parameters needs a serverName of its own, such as \"<dojo>-db-2\": the plugin does not archive to a place that has the write-ahead log of another Cluster"
// +kubebuilder:validation:XValidation:rule="!has(self.bootstrap) || !has(self.bootstrap.recovery) || !has(self.bootstrap.recovery.objectStore) || !has(self.backup) || !has(self.backup.plugin) || !has(self.backup.plugin.parameters) || !('serverName' in self.backup.plugin.parameters) || self.backup.plugin.parameters['serverName'] != self.bootstrap.recovery.objectStore.serverName",message="backup.plugin.parameters.serverName must differ from bootstrap.recovery.objectStore.serverName: the plugin does not archive to a place that has the write-ahead log of another Cluster"
// +kubebuilder:validation:XValidation:rule="!has(self.bootstrap) || !has(self.bootstrap.recovery) || !has(self.bootstrap.recovery.volumeSnapshot) || !has(self.bootstrap.recovery.volumeSnapshot.walStorage) || has(self.walStorage)",message="bootstrap.recovery.volumeSnapshot.walStorage needs walStorage: the restored write-ahead log needs a separate volume"
type PostgresCluster struct {
	// size names a preset of the platform for instances, resources, storage.size
	// and parameters, such as Small, Medium or Large. If the spec sets such a
	// field, the spec's value replaces the value of the preset; parameters are
	// merged by name. A smaller size never shrinks a volume. If the platform does
	// not define the size, the Dojo is Degraded with the reason UnknownSize. The
	// operator then creates no Cluster, and an existing Cluster keeps its
	// instances, resources, storage and parameters, except the values that the
	// spec sets. status.database.size has the values in use. Defaults to no
	// preset.
	// +optional
	Size SizeName `json:"size,omitempty"`

	// instances is the number of Postgres servers, 1 to 9: one primary, and
	// standbys that replicate it and take over. Defaults to the preset's number if
	// size is set, and otherwise to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	Instances *int32 `json:"instances,omitempty"`

	// synchronous makes every commit wait until standbys have it, so that a
	// failover loses no commit. Without synchronous, a failover may lose the last
	// commits. You can change synchronous at any time, without a restart.
	// +optional
	Synchronous *Synchronous `json:"synchronous,omitempty"`

	// version is the major version of Postgres, 2 digits such as "17"; 14 or
	// newer. A new Cluster gets the image that the operator's catalog has for this
	// version; versionPolicy defines when the image changes. If neither the
	// catalog nor the Cluster has an image of this version, the Dojo is Degraded
	// with the reason UnknownVersion, and the Cluster is not changed. A higher
	// version upgrades in place: the operator takes a backup and stops the pods,
	// CloudNativePG upgrades the data, and the pods start after a test query (see
	// status.database.upgrade). Without cluster.backup, an upgrade needs the
	// annotation core.jutsu.com/upgrade-without-backup. The operator refuses a
	// version that is lower than the version of the data. But until an upgrade has
	// changed the data, you can set the version back to
	// status.database.upgrade.from. Without version and imageName, a new Cluster
	// gets CloudNativePG's default image. Once one of the two fields is set, they
	// cannot both be removed.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^(1[4-9]|[2-9][0-9])$')",message="must be a major version of Postgres, 14 or newer, such as \"17\""
	// +kubebuilder:validation:MaxLength=2
	Version string `json:"version,omitempty"`

	// imageName is the image of Postgres, instead of version, at most 512
	// characters. CloudNativePG must support it
	// (https://cloudnative-pg.io/docs/current/container_images).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ImageName string `json:"imageName,omitempty"`

	// versionPolicy defines when the Cluster gets a newer minor version that the
	// operator's catalog has. It requires version. Defaults to minor: Manual.
	// +optional
	VersionPolicy *VersionPolicy `json:"versionPolicy,omitempty"`

	// storage is the volume of each instance. It is required unless
	// spec.postgres.cluster.size is set.
	// +optional
	Storage PostgresStorage `json:"storage,omitzero"`

	// walStorage is a separate volume of each instance for the write-ahead log, so
	// that the log cannot fill the volume of the data. You can add it to an
	// existing Cluster, whose instances then restart one after the other. You
	// cannot remove it. Defaults to none: the log is on the volume of storage.
	// +optional
	WALStorage *PostgresStorage `json:"walStorage,omitempty"`

	// parameters of Postgres by name, such as max_connections: "200"
	// (https://www.postgresql.org/docs/current/runtime-config.html). At most 64,
	// with names of at most 63 characters, in lower case. If a parameter changes,
	// CloudNativePG reloads the configuration. If the parameter requires a
	// restart, CloudNativePG restarts the instances one after the other. If you
	// remove a parameter, it returns to the value of the size, or else to its
	// default. CloudNativePG sets some parameters itself, such as port and
	// archive_command (https://cloudnative-pg.io/docs/current/postgresql_conf). If
	// you set such a parameter here, CloudNativePG refuses it: the Dojo is then
	// Degraded with the reason ClusterRefused, and the Cluster is not changed.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(name) <= 63 && name.matches('^[a-z_][a-z0-9_]*([.][a-z_][a-z0-9_]*)?$'))",message="must be names of parameters of Postgres in lower case, such as max_connections or auto_explain.log_min_duration"
	Parameters map[string]ParameterValue `json:"parameters,omitempty"`

	// resources of each instance. Defaults to the preset's resources if size is
	// set, and otherwise to no requests and no limits. Each of limits, requests
	// and claims has at most 16 entries, with names of at most 317 and quantities
	// of at most 64 characters.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.limits) || size(self.limits) <= 16 && self.limits.all(key, size(key) <= 317 && (type(self.limits[key]) == int || size(self.limits[key]) <= 64))",message="limits has at most 16 entries, with names of at most 317 and quantities of at most 64 characters"
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || size(self.requests) <= 16 && self.requests.all(key, size(key) <= 317 && (type(self.requests[key]) == int || size(self.requests[key]) <= 64))",message="requests has at most 16 entries, with names of at most 317 and quantities of at most 64 characters"
	// +kubebuilder:validation:XValidation:rule="!has(self.claims) || size(self.claims) <= 16 && self.claims.all(c, size(c.name) <= 317 && size(c.?request.orValue('')) <= 317)",message="claims has at most 16 entries, with names of at most 317 characters"
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// affinity defines the nodes of the instances and how the instances are
	// spread. Defaults to any node, preferably a different one for each instance.
	// +optional
	Affinity *PostgresAffinity `json:"affinity,omitempty"`

	// extensions of Postgres to create in the database before initSQL runs, such
	// as pg_trgm, at most 32. The image must have these extensions. Otherwise the
	// Dojo becomes Degraded with the reason DatabaseFailed; the message has the
	// error of Postgres. If you remove an extension from the list, it stays in the
	// database, because data may depend on it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Extensions []ExtensionName `json:"extensions,omitempty"`

	// pooler puts PgBouncer between the application and the primary, so that many
	// connections of pods share few connections to Postgres. The operator creates
	// CloudNativePG's Pooler <dojo>-db-pooler-rw. Once this Pooler is available,
	// the application's DB_ENDPOINT names it. The SQL of initSQL and the release
	// steps use the primary directly. You can add and remove pooler at any time;
	// the pods then roll. Without pooler, the application connects to the primary.
	// +optional
	Pooler *Pooler `json:"pooler,omitempty"`

	// backup configures scheduled backups of the whole Cluster. Defaults to none.
	// +optional
	Backup *Backup `json:"backup,omitempty"`

	// bootstrap defines the origin of a new Cluster's data: a backup, or an
	// existing database. Without bootstrap, the database of a new Cluster is
	// empty. You cannot change, add or remove bootstrap later.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed: bootstrap applies only when the Cluster is created. Make a new Dojo, as docs/do/restore.md says"
	Bootstrap *Bootstrap `json:"bootstrap,omitempty"`
}

// PoolMode defines how long a client keeps a connection of Postgres.
// +kubebuilder:validation:Enum=Session;Transaction
type PoolMode string

const (
	// PoolModeSession assigns a connection of Postgres to a client until the client disconnects.
	PoolModeSession PoolMode = "Session"
	// PoolModeTransaction assigns a connection of Postgres to a client for each transaction.
	PoolModeTransaction PoolMode = "Transaction"
)

// Pooler configures PgBouncer.
type Pooler struct {
	// instances is the number of pods of PgBouncer, 1 to 32. Each has its own
	// connections to Postgres. Defaults to 1.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	Instances *int32 `json:"instances,omitempty"`

	// mode defines how long a client keeps a connection of Postgres: Session
	// (until it disconnects) or Transaction (for each transaction). With
	// Transaction, the application cannot rely on the state of a session after the
	// end of the transaction. Such state includes SET, advisory locks, LISTEN and
	// temporary tables. A driver that prepares statements then needs PgBouncer
	// 1.21 or newer, with its parameter max_prepared_statements. Defaults to
	// Session.
	// +optional
	// +default="Session"
	Mode PoolMode `json:"mode,omitempty"`

	// parameters of PgBouncer by name, such as default_pool_size: "50"
	// (https://www.pgbouncer.org/config.html). At most 64, with names of at most
	// 63 characters. CloudNativePG accepts only some parameters
	// (https://cloudnative-pg.io/docs/current/connection_pooling). If it refuses a
	// parameter, the Dojo is Degraded with the reason PoolerRefused.
	// server_login_retry defaults to 1 (second), which shortens the wait after a
	// failover. You cannot set auth_type, server_reset_query and
	// server_reset_query_always. The operator sets server_reset_query: its SQL
	// does the same as DISCARD ALL, and then makes the second login (see
	// status.database.login) act as the owner of the database again.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(name) <= 63 && name.matches('^[a-z][a-z0-9_]*$'))",message="must be names of parameters of PgBouncer, such as default_pool_size"
	// +kubebuilder:validation:XValidation:rule="!self.exists(name, name in ['auth_type', 'server_reset_query', 'server_reset_query_always'])",message="auth_type, server_reset_query and server_reset_query_always are not allowed, because CloudNativePG sets how clients log in, and the operator sets how PgBouncer resets a connection: remove these parameters"
	Parameters map[string]PoolerParameterValue `json:"parameters,omitempty"`
}

// PoolerParameterValue is the value of a parameter of PgBouncer: one line of
// at most 256 characters.
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule="!self.contains('\\n') && !self.contains('\\r')",message="must be one line: remove the line breaks"
type PoolerParameterValue string

// ParameterValue is the value of a parameter of Postgres, as in
// postgresql.conf but without quotes, at most 256 characters.
// +kubebuilder:validation:MaxLength=256
type ParameterValue string

// ExtensionName is the name of an extension of Postgres, at most 63
// characters.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z_][a-z0-9_-]*$')",message="must be the name of an extension of Postgres, such as pg_trgm or uuid-ossp"
type ExtensionName string

// PodAntiAffinity defines whether instances of a Cluster may share a node.
// +kubebuilder:validation:Enum=Preferred;Required;Disabled
type PodAntiAffinity string

const (
	// PodAntiAffinityPreferred puts instances on different nodes if possible.
	PodAntiAffinityPreferred PodAntiAffinity = "Preferred"
	// PodAntiAffinityRequired never puts two instances on one node. An instance
	// that finds no node does not start.
	PodAntiAffinityRequired PodAntiAffinity = "Required"
	// PodAntiAffinityDisabled lets the scheduler decide.
	PodAntiAffinityDisabled PodAntiAffinity = "Disabled"
)

// PostgresAffinity defines the nodes of a Cluster's instances.
// +kubebuilder:validation:XValidation:rule="!has(self.topologyKey) || !has(self.podAntiAffinity) || self.podAntiAffinity != 'Disabled'",message="topologyKey needs podAntiAffinity Preferred or Required, because Disabled does not spread the instances: remove topologyKey or change podAntiAffinity"
type PostgresAffinity struct {
	// podAntiAffinity defines whether several instances may run on one node (or,
	// if topologyKey is set, on nodes with the same value of that label):
	// Preferred (only if necessary), Required (never) or Disabled (the scheduler
	// decides). Defaults to Preferred.
	// +optional
	PodAntiAffinity PodAntiAffinity `json:"podAntiAffinity,omitempty"`

	// topologyKey is the node label over whose values the instances are spread,
	// such as topology.kubernetes.io/zone, at most 317 characters. Defaults to
	// kubernetes.io/hostname.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey,omitempty"`

	// nodeSelector lists the labels that a node must have to run an instance, at
	// most 32, with names of at most 317 and values of at most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 317 && size(self[key]) <= 63)",message="the name of a label has at most 317 characters, and its value at most 63"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations allow instances to run on nodes with matching taints: at most
	// 32, each string of at most 317 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, size(t.?key.orValue('')) <= 317 && size(t.?operator.orValue('')) <= 317 && size(t.?value.orValue('')) <= 317 && size(t.?effect.orValue('')) <= 317)",message="a key, operator, value or effect has at most 317 characters"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// Synchronous configures synchronous replication, CloudNativePG's
// postgresql.synchronous, with method: any, dataDurability: required and
// failoverQuorum: true.
type Synchronous struct {
	// number of standbys that must have a commit before the commit succeeds, 1 to
	// 8 and less than instances. While fewer standbys are ready, writes wait. To
	// let writes continue after the loss of one instance, set instances to a value
	// that is higher than number by 2 or more. CloudNativePG never fails over to a
	// standby that may lack a commit that has succeeded.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	Number int32 `json:"number"`
}

// PostgresStorage is the volume of a Postgres instance.
// +kubebuilder:validation:XValidation:rule="type(self.size) == string && !self.size.matches('^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$') || quantity(string(self.size)).isGreaterThan(quantity('0'))",message="size must be greater than 0"
// +kubebuilder:validation:XValidation:rule="type(self.size) == string && !self.size.matches('^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$') || quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) >= 0",message="size cannot shrink: a volume only grows"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot be changed: volumes do not move between classes"
type PostgresStorage struct {
	// size of the volume, such as 10Gi, at most 64 characters. It can grow if the
	// storage class allows it. It cannot shrink.
	// +required
	// +kubebuilder:validation:XValidation:rule="type(self) == int || size(self) <= 64",message="a quantity has at most 64 characters"
	// +kubebuilder:validation:XValidation:rule="type(self) == int || self.matches('^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$')",message="must be a quantity: a number and a unit without a space, such as 10Gi"
	Size resource.Quantity `json:"size"`

	// storageClassName is the name of the StorageClass. Defaults to the default
	// class of the Kubernetes cluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName string `json:"storageClassName,omitempty"`
}

// BackupMethod defines how backups are made. It has no default: CloudNativePG's
// default is deprecated.
// +kubebuilder:validation:Enum=Plugin;VolumeSnapshot
type BackupMethod string

const (
	// BackupPlugin makes backups with a CNPG-I plugin, such as
	// barman-cloud.cloudnative-pg.io. The plugin must be installed.
	BackupPlugin BackupMethod = "Plugin"
	// BackupVolumeSnapshot makes snapshots of the volumes. The storage class must
	// support snapshots.
	BackupVolumeSnapshot BackupMethod = "VolumeSnapshot"
)

// Backup configures the backups of a Cluster.
// +kubebuilder:validation:XValidation:rule="(self.method == 'Plugin') == has(self.plugin)",message="plugin is required with the method Plugin, and not allowed with another method"
// +kubebuilder:validation:XValidation:rule="self.method == 'VolumeSnapshot' || !has(self.volumeSnapshot)",message="volumeSnapshot is allowed with the method VolumeSnapshot only"
type Backup struct {
	// schedule defines when backups start, in the five fields of cron (minute,
	// hour, day of the month, month, day of the week) and in the time zone of
	// CloudNativePG, usually UTC: "0 2 * * *" is every day at two. At most 128
	// characters. The first backup does not wait for this time: it starts once
	// Postgres is ready.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9*,/-]+) +([0-9*,/-]+) +([0-9*?,/-]+) +([0-9A-Za-z*,/-]+) +([0-9A-Za-z*?,/-]+)$')",message="must have the five fields of cron: minute, hour, day of the month, month, day of the week, such as \"0 2 * * *\""
	Schedule string `json:"schedule"`

	// method defines how backups are made: Plugin or VolumeSnapshot.
	// +required
	Method BackupMethod `json:"method"`

	// plugin is the CNPG-I plugin for the method Plugin.
	// +optional
	Plugin *BackupPluginSpec `json:"plugin,omitempty"`

	// volumeSnapshot configures the method VolumeSnapshot.
	// +optional
	VolumeSnapshot *VolumeSnapshot `json:"volumeSnapshot,omitempty"`

	// finalBackup makes a backup when the Dojo is deleted with the reclaimPolicy
	// Delete. Until this backup has completed, the operator deletes no data. If
	// the Cluster is deleted before that, for example with its namespace, there is
	// no such backup. Defaults to false.
	// +optional
	FinalBackup bool `json:"finalBackup,omitempty"`
}

// BackupPluginSpec names a CNPG-I plugin.
type BackupPluginSpec struct {
	// name of the plugin, such as barman-cloud.cloudnative-pg.io.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// parameters of the plugin, such as barmanObjectName. At most 32, with names
	// of at most 253 and values of at most 4096 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 253 && size(self[key]) <= 4096)",message="a parameter has a name of at most 253 and a value of at most 4096 characters"
	Parameters map[string]string `json:"parameters,omitempty"`

	// walArchiver defines whether the plugin also archives the write-ahead log,
	// which point-in-time recovery needs. Defaults to true.
	// +optional
	// +default=true
	WALArchiver *bool `json:"walArchiver,omitempty"`
}

// VolumeSnapshot configures backups by snapshots of volumes.
type VolumeSnapshot struct {
	// className is the name of the VolumeSnapshotClass. Defaults to the default
	// class of the Kubernetes cluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`
}

// SQLSource is SQL in a ConfigMap or a Secret in the Dojo's namespace.
// +kubebuilder:validation:XValidation:rule="has(self.configMapKeyRef) != has(self.secretKeyRef)",message="name exactly one: configMapKeyRef or secretKeyRef"
type SQLSource struct {
	// configMapKeyRef names a key of a ConfigMap. If psql fails, the condition's
	// message has the end of its output.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`

	// secretKeyRef names a key of a Secret. If psql fails, the operator does not
	// report its output, because the output may quote the SQL.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
}

// KeyReference names a key of an object.
type KeyReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of an object: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`

	// key in the object's data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key: letters, digits, '-', '_' and '.'"
	Key string `json:"key"`
}

// DatabaseStatus describes the database of a Dojo with spec.postgres.
type DatabaseStatus struct {
	// clusterName is the name of the CloudNativePG Cluster in the Dojo's
	// namespace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	ClusterName string `json:"clusterName"`

	// clusterUID is the UID of the Dojo's own Cluster, even after its loss, at
	// most 64 characters. To accept the loss, set the annotation
	// core.jutsu.com/recreate-database to this value. Not set with clusterRef, and
	// not set before the Dojo first uses a Cluster of its own.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ClusterUID string `json:"clusterUID,omitempty"`

	// name of the database in Postgres, and of its owner role.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// origin is the origin of the data of the Dojo's own Cluster, such as
	// "Backup nightly" or "Secret legacy", at most 512 characters. Not set if the
	// database began empty.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Origin string `json:"origin,omitempty"`

	// host is the name of the primary's Service in the Dojo's namespace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`

	// pooler describes PgBouncer between the application and the primary. Not set
	// if there is no Pooler.
	// +optional
	Pooler *PoolerStatus `json:"pooler,omitempty"`

	// upgrade describes a requested upgrade to a higher major version of Postgres,
	// until it has ended. Not set if there is no such upgrade.
	// +optional
	Upgrade *UpgradeStatus `json:"upgrade,omitempty"`

	// readOnlyHost is the name of the standbys' Service in the Dojo's namespace,
	// for reads that may be slightly outdated. The application receives it as
	// DB_READONLY_ENDPOINT. Not set if the Cluster has one instance.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ReadOnlyHost string `json:"readOnlyHost,omitempty"`

	// login is the application's role in Postgres: the owner of the database, or a
	// second role that acts as the owner. A rotation of the password switches
	// between the two. Not set before the application has credentials.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Login string `json:"login,omitempty"`

	// formerLogin is the application's previous role in Postgres. The operator
	// disables this role once no pod uses it, and no other Dojo names the Secret
	// with its password. After that, formerLogin is not set.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	FormerLogin string `json:"formerLogin,omitempty"`

	// version is the version of Postgres in the Cluster, from the tag of its
	// image, such as "17.6", at most 128 characters. If the tag has no version,
	// this field has the major version of the data, such as "17".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`

	// newerVersion is a newer minor version that the operator's catalog has for
	// this major version, such as "17.11", at most 128 characters. If the catalog
	// has a newer image of the same minor version, the date of the image is
	// appended: "17.11-202608310816". Not set if the catalog has no newer image of
	// the same Linux distribution, and not set if the image of the Cluster is from
	// imageName or is CloudNativePG's default.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	NewerVersion string `json:"newerVersion,omitempty"`

	// newerVersionAt is the time at which the window of versionPolicy opens next.
	// While the window is open, it is the time at which the window opened. Set
	// only if there is both a newerVersion and a window.
	// +optional
	NewerVersionAt *metav1.Time `json:"newerVersionAt,omitempty"`

	// size has the values in use if spec.postgres.cluster.size is set. If the
	// platform does not define this size, they are the values of the Cluster, or
	// the last known values of a lost Cluster. Not set if there are none.
	// +optional
	Size *SizeStatus `json:"size,omitempty"`

	// instances is the number of ready and of desired instances of the Cluster,
	// such as "3/3", at most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Instances string `json:"instances,omitempty"`

	// primary is the name of the current or last primary instance of the Cluster,
	// at most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Primary string `json:"primary,omitempty"`

	// lastBackup is the last completed backup of the Dojo's own Cluster, not of a
	// former Cluster of that name. Not set without spec.postgres.cluster.backup,
	// and not set before the first backup has completed.
	// +optional
	LastBackup *CompletedBackup `json:"lastBackup,omitempty"`

	// nextBackup is the time at which the schedule starts the next backup. Not set
	// while the schedule is suspended.
	// +optional
	NextBackup *metav1.Time `json:"nextBackup,omitempty"`
}

// UpgradeStep is a step of an upgrade to another major version of Postgres.
// +kubebuilder:validation:Enum=Waiting;BackingUp;Stopping;Upgrading;Verifying
type UpgradeStep string

const (
	// UpgradeWaiting waits until the Cluster has a ready primary. Postgres has not
	// been changed yet. The upgrade returns to this step if the primary fails
	// before Upgrading begins.
	UpgradeWaiting UpgradeStep = "Waiting"
	// UpgradeBackingUp makes a backup. Without spec.postgres.cluster.backup, it
	// waits for the annotation core.jutsu.com/upgrade-without-backup. Postgres has
	// not been changed yet. If spec.postgres.cluster.backup does not archive the
	// write-ahead log, the application is stopped before the backup, because the
	// backup lacks later writes.
	UpgradeBackingUp UpgradeStep = "BackingUp"
	// UpgradeStopping waits until the pods of the application, of SQL and of the
	// release step have ended.
	UpgradeStopping UpgradeStep = "Stopping"
	// UpgradeUpgrading waits for CloudNativePG to upgrade the data and to start Postgres.
	UpgradeUpgrading UpgradeStep = "Upgrading"
	// UpgradeVerifying runs a query in the new version before pods start.
	UpgradeVerifying UpgradeStep = "Verifying"
)

// UpgradeStatus describes an upgrade to another major version of Postgres.
type UpgradeStatus struct {
	// from is the major version before the upgrade, such as "16".
	// +required
	// +kubebuilder:validation:MaxLength=20
	From string `json:"from"`

	// to is the major version after the upgrade, such as "17". If you set the
	// version back after the upgrade has begun, from and to are the same version.
	// +required
	// +kubebuilder:validation:MaxLength=20
	To string `json:"to"`

	// step is the current step.
	// +required
	Step UpgradeStep `json:"step"`

	// backup is the name of the CloudNativePG Backup that is made before the
	// upgrade, in the Dojo's namespace. Not set until this Backup has completed.
	// Not set for an upgrade without a backup.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Backup string `json:"backup,omitempty"`

	// requestedAt is the time at which the operator first observed the request for
	// the upgrade. Only a Backup that the operator creates after this time counts
	// as the backup before the upgrade.
	// +optional
	RequestedAt *metav1.Time `json:"requestedAt,omitempty"`
}

// PoolerStatus describes the Pooler of a Dojo's own Cluster.
type PoolerStatus struct {
	// host is the name of the Pooler's Service in the Dojo's namespace.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Host string `json:"host"`

	// inUse reports whether the application's credentials name the Pooler. They do
	// so once a pod of the Pooler is available. Once the spec has no pooler, they
	// name the primary again.
	// +optional
	InUse bool `json:"inUse,omitempty"`

	// instances is the number of available and of desired pods of PgBouncer, such
	// as "2/2", at most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Instances string `json:"instances,omitempty"`
}

// CompletedBackup is a completed backup.
type CompletedBackup struct {
	// name of the CloudNativePG Backup in the Dojo's namespace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// time of the completion.
	// +required
	Time metav1.Time `json:"time"`
}

// BackupPolicy returns the configuration of the Dojo's backups, or nil if the
// spec has none.
func (d *Dojo) BackupPolicy() *Backup {
	if d.Spec.Postgres == nil || d.Spec.Postgres.Cluster == nil {
		return nil
	}
	return d.Spec.Postgres.Cluster.Backup
}
