// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RotatePasswordAnnotation on a Dojo with spec.postgres requests a new
// database password: whenever its value changes to a non-empty one, the
// operator generates a password for another login, waits until Postgres has it,
// rolls the pods, and takes the former login away when no pod has it any more.
// At each moment Postgres accepts what every pod has.
const RotatePasswordAnnotation = "core.jutsu.com/rotate-password" //nolint:gosec // a name, not a password

// DatabaseFinalizer is on a Dojo whose spec.postgres.reclaimPolicy is Delete,
// until the data is gone.
const DatabaseFinalizer = "core.jutsu.com/database"

// ReclaimPolicy defines what happens to the data when the Dojo is deleted.
//
// +kubebuilder:validation:Enum=Retain;Delete
type ReclaimPolicy string

const (
	// ReclaimRetain keeps the database, its role, its password and, with
	// postgres.cluster, the Cluster. A Dojo that is created again under the same
	// name takes them over.
	ReclaimRetain ReclaimPolicy = "Retain"
	// ReclaimDelete stops the application and then deletes the database, its role
	// and, with postgres.cluster, the Cluster.
	ReclaimDelete ReclaimPolicy = "Delete"
)

// Postgres is a database for one Dojo, created through CloudNativePG
// (https://cloudnative-pg.io), version 1.30 or newer.
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != has(self.cluster)",message="name exactly one: clusterRef (a database in an existing Cluster) or cluster (a Cluster for this Dojo alone)"
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) == has(oldSelf.clusterRef)",message="clusterRef and cluster cannot be exchanged for one another: the data would stay behind. Make a new Dojo and move the data, as docs/operations.md says under Migration"
type Postgres struct {
	// clusterRef names an existing CloudNativePG Cluster in the namespace of the
	// Dojo. The operator creates a database and an owner role in it for this Dojo,
	// and never writes to the Cluster itself. While it does not exist the Dojo is
	// Progressing, and Degraded after --database-deadline.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed: the data would stay behind. Make a new Dojo and move the data, as docs/operations.md says under Migration"
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`

	// cluster requests a CloudNativePG Cluster for this Dojo alone, with the name
	// <dojo>-db.
	//
	// +optional
	Cluster *PostgresCluster `json:"cluster,omitempty"`

	// reclaimPolicy defines what happens to the data when the Dojo is deleted:
	// Retain or Delete. Defaults to Retain.
	//
	// +optional
	// +default="Retain"
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`

	// initSQL lists SQL to run in this order as the owner of the database, after
	// the operator's own, which creates the table weapons. It runs before the
	// first pod starts and again whenever it changes, so it must be idempotent
	// (CREATE TABLE IF NOT EXISTS ...). A statement that fails makes the Dojo
	// Degraded with the reason SchemaFailed; running pods are not affected.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	InitSQL []SQLSource `json:"initSQL,omitempty"`
}

// ClusterReference names a CloudNativePG Cluster in the namespace of the Dojo.
type ClusterReference struct {
	// name of the Cluster.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a Cluster: lower case letters, digits and '-', starting with a letter and ending with a letter or digit"
	Name string `json:"name"`
}

// PostgresCluster is a CloudNativePG Cluster for one Dojo.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.version) && has(self.imageName))",message="version and imageName exclude each other: an image has a version"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.version) && !has(oldSelf.imageName) || has(self.version) || has(self.imageName)",message="version and imageName cannot both be taken away: CloudNativePG's default image may be of a newer version. Name the one that runs"
// +kubebuilder:validation:XValidation:rule="!has(self.version) || !has(oldSelf.version) || int(self.version) >= int(oldSelf.version)",message="version cannot go down: Postgres does not open the data of a newer version"
// +kubebuilder:validation:XValidation:rule="!has(self.synchronous) || self.synchronous.number < (has(self.instances) ? self.instances : 1)",message="synchronous.number must be less than instances: one of the instances is the primary, and a commit waits for others"
type PostgresCluster struct {
	// instances is the number of Postgres servers, 1 to 9: one primary, and
	// standbys that replicate it and take over. Defaults to 1.
	//
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	Instances *int32 `json:"instances,omitempty"`

	// synchronous makes every commit wait until standbys have it, so that a
	// failover loses none. Without it a commit waits for the primary alone, and a
	// failover may lose the last ones. It can be changed at any time, without a
	// restart.
	//
	// +optional
	Synchronous *Synchronous `json:"synchronous,omitempty"`

	// version is the major version of Postgres, such as "17"; 14 or newer. A
	// higher one upgrades in place, during which the database is not available; a
	// lower one than the data has is refused. Without version and imageName the
	// image is CloudNativePG's default one at the time of the creation. Neither can
	// be taken away once one is set.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^(1[4-9]|[2-9][0-9])$')",message="must be a major version of Postgres, 14 or newer, such as \"17\""
	// +kubebuilder:validation:MaxLength=2
	Version string `json:"version,omitempty"`

	// imageName is the image of Postgres, instead of version. It must be one that
	// CloudNativePG can run
	// (https://cloudnative-pg.io/docs/current/container_images).
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ImageName string `json:"imageName,omitempty"`

	// storage is the volume of each instance.
	//
	// +required
	Storage PostgresStorage `json:"storage"`

	// resources of each instance. Defaults to no requests and no limits.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// backup configures scheduled backups of the whole Cluster. Without it there
	// are none.
	//
	// +optional
	Backup *Backup `json:"backup,omitempty"`
}

// Synchronous configures synchronous replication: what CloudNativePG calls
// postgresql.synchronous, with the method any, the durability required and the
// failover quorum.
type Synchronous struct {
	// number of standbys that must have a commit before it succeeds, 1 to 8, and
	// less than instances. While fewer of them are ready, writes wait: for writes
	// to survive the loss of an instance, instances must be larger by 2. No standby
	// takes over that may lack such a commit.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	Number int32 `json:"number"`
}

// PostgresStorage is the volume of a Postgres instance.
//
// +kubebuilder:validation:XValidation:rule="quantity(string(self.size)).isGreaterThan(quantity('0'))",message="size must be greater than 0"
// +kubebuilder:validation:XValidation:rule="quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) >= 0",message="size cannot shrink: a volume only grows"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot be changed: volumes do not move between classes"
type PostgresStorage struct {
	// size of the volume, such as 10Gi. It can grow if the storage class allows
	// it, and cannot shrink.
	//
	// +required
	Size resource.Quantity `json:"size"`

	// storageClassName is the name of the StorageClass. Defaults to the default
	// class of the cluster.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName string `json:"storageClassName,omitempty"`
}

// BackupMethod defines how backups are taken. There is no default, because
// CloudNativePG's own is deprecated.
//
// +kubebuilder:validation:Enum=Plugin;VolumeSnapshot
type BackupMethod string

const (
	// BackupPlugin takes backups with a CNPG-I plugin, such as
	// barman-cloud.cloudnative-pg.io, which must be installed.
	BackupPlugin BackupMethod = "Plugin"
	// BackupVolumeSnapshot takes snapshots of the volumes, which the storage class
	// must support.
	BackupVolumeSnapshot BackupMethod = "VolumeSnapshot"
)

// Backup configures the backups of a Cluster.
//
// +kubebuilder:validation:XValidation:rule="(self.method == 'Plugin') == has(self.plugin)",message="plugin is required with the method Plugin, and allowed with no other"
// +kubebuilder:validation:XValidation:rule="self.method == 'VolumeSnapshot' || !has(self.volumeSnapshot)",message="volumeSnapshot is allowed with the method VolumeSnapshot only"
type Backup struct {
	// schedule defines when backups are taken, in the five fields of cron (minute,
	// hour, day of the month, month, day of the week), in the time zone of
	// CloudNativePG, usually UTC: "0 2 * * *" is every day at two. A first backup
	// is taken immediately.
	//
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9*,/-]+) +([0-9*,/-]+) +([0-9*?,/-]+) +([0-9A-Za-z*,/-]+) +([0-9A-Za-z*?,/-]+)$')",message="must have the five fields of cron: minute, hour, day of the month, month, day of the week, such as \"0 2 * * *\""
	Schedule string `json:"schedule"`

	// method defines how backups are taken: Plugin or VolumeSnapshot.
	//
	// +required
	Method BackupMethod `json:"method"`

	// plugin is the CNPG-I plugin that takes the backups, with the method Plugin.
	//
	// +optional
	Plugin *BackupPluginSpec `json:"plugin,omitempty"`

	// volumeSnapshot configures the method VolumeSnapshot.
	//
	// +optional
	VolumeSnapshot *VolumeSnapshot `json:"volumeSnapshot,omitempty"`

	// finalBackup takes a backup when the Dojo is deleted with the reclaimPolicy
	// Delete, and deletes nothing before it has completed. Defaults to false.
	//
	// +optional
	FinalBackup bool `json:"finalBackup,omitempty"`
}

// BackupPluginSpec names a CNPG-I plugin.
type BackupPluginSpec struct {
	// name of the plugin, such as barman-cloud.cloudnative-pg.io.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// parameters of the plugin, such as barmanObjectName.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Parameters map[string]string `json:"parameters,omitempty"`

	// walArchiver defines whether the plugin also archives the write-ahead log,
	// which point-in-time recovery requires. Defaults to true.
	//
	// +optional
	// +default=true
	WALArchiver *bool `json:"walArchiver,omitempty"`
}

// VolumeSnapshot configures backups by snapshots of volumes.
type VolumeSnapshot struct {
	// className is the name of the VolumeSnapshotClass. Defaults to the default
	// class of the cluster.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`
}

// SQLSource is SQL in a ConfigMap or a Secret in the Dojo's namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMapKeyRef) != has(self.secretKeyRef)",message="name exactly one: configMapKeyRef or secretKeyRef"
type SQLSource struct {
	// configMapKeyRef names a key of a ConfigMap. If psql fails, its output is in
	// the message of the Dojo's condition.
	//
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`

	// secretKeyRef names a key of a Secret. If psql fails, its output is not
	// reported, because it may quote the SQL.
	//
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
}

// KeyReference names a key of an object.
type KeyReference struct {
	// name of the object.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of an object: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`

	// key within its data.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key: letters, digits, '-', '_' and '.'"
	Key string `json:"key"`
}

// DatabaseStatus describes the database of a Dojo with spec.postgres.
type DatabaseStatus struct {
	// clusterName is the name of the CloudNativePG Cluster, in the namespace of
	// the Dojo.
	//
	// +required
	ClusterName string `json:"clusterName"`

	// name of the database in Postgres, and of the role that owns it.
	//
	// +required
	Name string `json:"name"`

	// host is the name of the Service of the primary, in the namespace of the
	// Dojo.
	//
	// +required
	Host string `json:"host"`

	// login is the role of Postgres as which the application logs in: the owner
	// of the database, or one that acts as the owner. The two take turns when the
	// password is rotated. Not set before the application has credentials.
	//
	// +optional
	Login string `json:"login,omitempty"`

	// formerLogin is the role as which the application logged in before, while
	// Postgres may still accept it: until no pod has it any more.
	//
	// +optional
	FormerLogin string `json:"formerLogin,omitempty"`

	// version is that of Postgres in the Dojo's own Cluster, as the tag of its
	// image says, such as "17.6".
	//
	// +optional
	Version string `json:"version,omitempty"`

	// lastBackup is the last backup of the Dojo's own Cluster that has completed.
	// Not set before the first one, and without backups.
	//
	// +optional
	LastBackup *CompletedBackup `json:"lastBackup,omitempty"`

	// nextBackup is when the schedule starts the next backup.
	//
	// +optional
	NextBackup *metav1.Time `json:"nextBackup,omitempty"`
}

// CompletedBackup is a backup that has completed.
type CompletedBackup struct {
	// name of the CloudNativePG Backup, in the namespace of the Dojo.
	//
	// +required
	Name string `json:"name"`

	// time at which it completed.
	//
	// +required
	Time metav1.Time `json:"time"`
}

// BackupPolicy returns the backup configuration of a Dojo's database, nil
// without one.
func (d *Dojo) BackupPolicy() *Backup {
	if d.Spec.Postgres == nil || d.Spec.Postgres.Cluster == nil {
		return nil
	}
	return d.Spec.Postgres.Cluster.Backup
}
