// SPDX-License-Identifier: Apache-2.0

package v1

// OriginAnnotation on the Cluster of a Dojo with bootstrap names the origin of
// the data, which status.database.origin repeats. A Dojo with bootstrap uses
// an existing Cluster only if the annotation names the origin in bootstrap,
// because the Cluster may have other data. On a Cluster that you restore
// yourself, set the annotation to the value in the message of the reason
// OriginMismatch.
const OriginAnnotation = "core.jutsu.com/origin"

// Bootstrap defines the origin of a new Cluster's data. It never changes the
// data of an existing Cluster: if that data has another origin, the Dojo is
// Degraded with the reason OriginMismatch. Pods start and SQL runs once the
// data is there. While CloudNativePG restores or imports the data, the Dojo is
// Progressing with the reason Restoring or Importing. From the creation of the
// Cluster on, status.database.origin names the origin.
// +kubebuilder:validation:XValidation:rule="has(self.recovery) != has(self.import)",message="name exactly one: recovery (a backup of a Cluster of CloudNativePG) or import (a database elsewhere)"
type Bootstrap struct {
	// recovery restores a backup of another Cluster, or of a former Cluster of
	// this name.
	// +optional
	Recovery *Recovery `json:"recovery,omitempty"`

	// import copies an existing database once.
	// +optional
	Import *Import `json:"import,omitempty"`
}

// Recovery restores a backup.
// +kubebuilder:validation:XValidation:rule="[has(self.backup), has(self.volumeSnapshot), has(self.objectStore)].filter(x, x).size() == 1",message="name exactly one: backup (a Backup of this namespace), volumeSnapshot or objectStore"
// +kubebuilder:validation:XValidation:rule="!has(self.targetTime) || !has(self.volumeSnapshot)",message="targetTime needs the write-ahead log, which a volume snapshot does not have: restore from objectStore, or leave targetTime out"
type Recovery struct {
	// backup is a Backup of CloudNativePG with the method plugin or
	// volumeSnapshot. Without targetTime, the data dates from the end of the
	// backup. If a plugin has made the Backup, the field
	// spec.pluginConfiguration.parameters of the Backup must name the location of
	// the data. In a Dojo's own Backups, this field has the parameters of
	// spec.postgres.cluster.backup.plugin.
	// +optional
	Backup *BackupReference `json:"backup,omitempty"`

	// volumeSnapshot names the snapshots of one instance's volumes.
	// +optional
	VolumeSnapshot *RecoverySnapshots `json:"volumeSnapshot,omitempty"`

	// objectStore is the place of a plugin's backups and write-ahead log. Without
	// targetTime, the latest data is restored.
	// +optional
	ObjectStore *RecoveryObjectStore `json:"objectStore,omitempty"`

	// targetTime is the time to restore, in RFC 3339 with up to six decimals of a
	// second, such as 2026-11-21T10:00:00Z, at most 64 characters. It must be
	// after the end of a backup and before the last transaction in the log. Not
	// allowed with volumeSnapshot, or with a Backup that is a volume snapshot,
	// because a snapshot has no log.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})$')",message="must be a time in RFC 3339, with a time zone, such as 2026-11-21T10:00:00Z"
	TargetTime string `json:"targetTime,omitempty"`

	// database is the name of the restored database and of its owner in Postgres:
	// status.database.name of the Dojo that was backed up. The restored database
	// and its owner keep this name. Defaults to the name that the operator derives
	// from the namespace and the name of this Dojo. If the data has no such
	// database, the Dojo is Degraded with the reason DatabaseNotRestored, and no
	// empty database is created.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z_][a-zA-Z0-9_-]*$')",message="must be the name of a database of Postgres: letters, digits, '_' and '-', starting with a letter or '_'"
	// +kubebuilder:validation:XValidation:rule="!(self in ['app', 'postgres', 'template0', 'template1', 'streaming_replica', 'cnpg_pooler_pgbouncer']) && !self.startsWith('pg_')",message="must be the name of an application's database and of its owner: 'app', 'postgres', 'template0', 'template1', 'streaming_replica', 'cnpg_pooler_pgbouncer' and names that begin with 'pg_' are reserved for CloudNativePG and Postgres"
	Database string `json:"database,omitempty"`
}

// BackupReference names a Backup of CloudNativePG in the namespace of the
// Dojo.
type BackupReference struct {
	// name of the Backup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a Backup: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`
}

// RecoverySnapshots names VolumeSnapshots in the namespace of the Dojo.
type RecoverySnapshots struct {
	// storage is the name of the VolumeSnapshot of the data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a VolumeSnapshot: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Storage string `json:"storage"`

	// walStorage is the name of the VolumeSnapshot of the write-ahead log, if the
	// original Cluster had a separate volume for the log. In this case, also set
	// spec.postgres.cluster.walStorage.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a VolumeSnapshot: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	WALStorage string `json:"walStorage,omitempty"`
}

// RecoveryObjectStore is a place in an object store.
type RecoveryObjectStore struct {
	// plugin is the CNPG-I plugin that reads the object store.
	// +required
	Plugin RecoveryPlugin `json:"plugin"`

	// serverName is the name under which the original Cluster has archived to the
	// object store, at most 253 characters: its own name (<dojo>-db) or, if it was
	// set, the parameter serverName of its plugin.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName"`
}

// RecoveryPlugin names a CNPG-I plugin that restores.
type RecoveryPlugin struct {
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
	// +kubebuilder:validation:XValidation:rule="!('serverName' in self)",message="set serverName in objectStore.serverName, not in the parameters of the plugin"
	Parameters map[string]string `json:"parameters,omitempty"`
}

// Import copies an existing database into the new Cluster by CloudNativePG's
// import of the type microservice: pg_dump and pg_restore, without roles and
// permissions. The Dojo's own role owns everything afterwards.
type Import struct {
	// sourceSecretRef names the Secret with the address and credentials of the
	// database.
	// +required
	SourceSecretRef ImportSource `json:"sourceSecretRef"`
}

// ImportSource names a Secret in the Dojo's namespace. Its keys are host,
// port, dbname, user (or username) and password, as CloudNativePG writes them.
// Optional keys are sslmode (of libpq: disable, allow, prefer, require,
// verify-ca or verify-full; defaults to prefer) and ca.crt, the certificate of
// the server's authority. The user must be able to read the whole database.
// The Cluster refers to the Secret for password and ca.crt. The values of the
// other keys above are copied into the Cluster's spec.
type ImportSource struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a Secret: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`
}

// BootstrapSource returns spec.postgres.cluster.bootstrap, or nil if it is not
// set.
func (d *Dojo) BootstrapSource() *Bootstrap {
	if d.Spec.Postgres == nil || d.Spec.Postgres.Cluster == nil {
		return nil
	}
	return d.Spec.Postgres.Cluster.Bootstrap
}
