package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// RotatePasswordAnnotation on a Dojo with spec.postgres asks for a new database password: whenever its value changes to
// something that is not empty, the operator generates one, waits until Postgres has taken it, and rolls the pods.
const RotatePasswordAnnotation = "core.jutsu.com/rotate-password" //nolint:gosec // a name, not a password

// DatabaseFinalizer is on a Dojo whose spec.postgres.reclaimPolicy is Delete, until the data is gone.
const DatabaseFinalizer = "core.jutsu.com/database"

// ReclaimPolicy says what becomes of the data when the Dojo is deleted.
//
// +kubebuilder:validation:Enum=Retain;Delete
type ReclaimPolicy string

const (
	// ReclaimRetain keeps the database, its role, its password and, with postgres.cluster, the Cluster. A Dojo that is made again
	// under the same name takes them over.
	ReclaimRetain ReclaimPolicy = "Retain"
	// ReclaimDelete stops the application and then deletes the database, its role and, with postgres.cluster, the Cluster.
	ReclaimDelete ReclaimPolicy = "Delete"
)

// Postgres is a database of the Dojo's own, made through CloudNativePG (https://cloudnative-pg.io), version 1.30 or newer.
//
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != has(self.cluster)",message="name exactly one: clusterRef (a database in an existing Cluster) or cluster (a Cluster for this Dojo alone)"
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) == has(oldSelf.clusterRef)",message="clusterRef and cluster cannot be exchanged for one another: the data would stay behind. Make a new Dojo and move the data, as docs/operations.md says under Migration"
type Postgres struct {
	// clusterRef names an existing CloudNativePG Cluster in the namespace of the Dojo. The Dojo gets a database and an owner role of
	// its own in it; the Cluster itself is never written to. While it does not exist the Dojo waits, for --database-deadline at most.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed: the data would stay behind. Make a new Dojo and move the data, as docs/operations.md says under Migration"
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`

	// cluster asks for a CloudNativePG Cluster for this Dojo alone. It is called <dojo>-db.
	//
	// +optional
	Cluster *PostgresCluster `json:"cluster,omitempty"`

	// reclaimPolicy says what becomes of the data when the Dojo is deleted: Retain (the default) or Delete.
	//
	// +optional
	// +default="Retain"
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`

	// initSQL is SQL to run as the owner of the database, one after the other, after the operator's own, which creates the table weapons.
	// It runs before the first pod starts and again whenever it changes, so it must bear to be run twice (CREATE TABLE IF NOT EXISTS ...).
	// A statement that fails makes the Dojo Degraded with the reason SchemaFailed; pods that run already go on.
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
// +kubebuilder:validation:XValidation:rule="!has(self.version) || !has(oldSelf.version) || int(self.version) >= int(oldSelf.version)",message="version cannot go down: Postgres does not open the data of a newer version"
type PostgresCluster struct {
	// instances is the number of Postgres servers: one primary, the others follow it and take over. 1 to 9.
	//
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	Instances *int32 `json:"instances,omitempty"`

	// version is the major version of Postgres, such as "17"; 14 or newer. A higher one upgrades in place: the database is away
	// for that time. Without version and imageName the version is that of CloudNativePG's default image.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^(1[4-9]|[2-9][0-9])$')",message="must be a major version of Postgres, 14 or newer, such as \"17\""
	// +kubebuilder:validation:MaxLength=2
	Version string `json:"version,omitempty"`

	// imageName is the image of Postgres, instead of version; it has to be one that CloudNativePG can run
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

	// resources of each instance. By default none are requested and none are limited.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// backup asks for regular backups of the whole Cluster. By default there are none.
	//
	// +optional
	Backup *Backup `json:"backup,omitempty"`
}

// PostgresStorage is the volume of a Postgres instance.
//
// +kubebuilder:validation:XValidation:rule="quantity(string(self.size)).isGreaterThan(quantity('0'))",message="size must be greater than 0"
// +kubebuilder:validation:XValidation:rule="quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) >= 0",message="size cannot shrink: a volume only grows"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot be changed: volumes do not move between classes"
type PostgresStorage struct {
	// size of the volume, such as 10Gi. It can grow where the storage class allows that, and never shrinks.
	//
	// +required
	Size resource.Quantity `json:"size"`

	// storageClassName is the class of the volume. By default the cluster's own.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName string `json:"storageClassName,omitempty"`
}

// BackupMethod is how backups are taken. There is no default: CloudNativePG's own is deprecated.
//
// +kubebuilder:validation:Enum=Plugin;VolumeSnapshot
type BackupMethod string

const (
	// BackupPlugin hands backups to a CNPG-I plugin, such as barman-cloud.cloudnative-pg.io, which has to be installed.
	BackupPlugin BackupMethod = "Plugin"
	// BackupVolumeSnapshot takes snapshots of the volumes, which the storage class has to support.
	BackupVolumeSnapshot BackupMethod = "VolumeSnapshot"
)

// Backup is how a Cluster is backed up.
//
// +kubebuilder:validation:XValidation:rule="(self.method == 'Plugin') == has(self.plugin)",message="plugin is required with the method Plugin, and allowed with no other"
// +kubebuilder:validation:XValidation:rule="self.method == 'VolumeSnapshot' || !has(self.volumeSnapshot)",message="volumeSnapshot is allowed with the method VolumeSnapshot only"
type Backup struct {
	// schedule is when backups are taken, in the usual five fields of cron (minute, hour, day of the month, month, day of the week), in
	// the time zone of CloudNativePG, usually UTC: "0 2 * * *" is every day at two. A first backup is taken at once.
	//
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9*,/-]+) +([0-9*,/-]+) +([0-9*?,/-]+) +([0-9A-Za-z*,/-]+) +([0-9A-Za-z*?,/-]+)$')",message="must have the five fields of cron: minute, hour, day of the month, month, day of the week, such as \"0 2 * * *\""
	Schedule string `json:"schedule"`

	// method is how backups are taken: Plugin or VolumeSnapshot.
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

	// finalBackup takes a backup when the Dojo is deleted with the reclaimPolicy Delete, and deletes nothing before that has
	// completed. Default false.
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

	// walArchiver says whether the plugin archives the write-ahead log too, which recovery to a point in time needs. Default true.
	//
	// +optional
	// +default=true
	WALArchiver *bool `json:"walArchiver,omitempty"`
}

// VolumeSnapshot configures backups by snapshots of volumes.
type VolumeSnapshot struct {
	// className is the VolumeSnapshotClass. By default the cluster's own.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`
}

// SQLSource is a piece of SQL in a ConfigMap or a Secret of the Dojo's namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMapKeyRef) != has(self.secretKeyRef)",message="name exactly one: configMapKeyRef or secretKeyRef"
type SQLSource struct {
	// configMapKeyRef is a key of a ConfigMap. What psql says when it fails is told in the Dojo's condition.
	//
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`

	// secretKeyRef is a key of a Secret. What psql says when it fails is not told, since it may quote the SQL.
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

// DatabaseStatus is the database of a Dojo with spec.postgres.
type DatabaseStatus struct {
	// clusterName is the name of the CloudNativePG Cluster, in the namespace of the Dojo.
	//
	// +required
	ClusterName string `json:"clusterName"`

	// name of the database in Postgres, and of the role that owns it.
	//
	// +required
	Name string `json:"name"`

	// host is the name, within the namespace, of the Service that leads to the primary.
	//
	// +required
	Host string `json:"host"`
}
