// SPDX-License-Identifier: Apache-2.0

// Package cnpg names what a Dojo has on CloudNativePG: the kinds, the objects, and what they are called
// in Postgres.
package cnpg

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
)

// The kinds of CloudNativePG.
var (
	ClusterKind  = kind("Cluster", "clusters")
	RoleKind     = kind("DatabaseRole", "databaseroles")
	DatabaseKind = kind("Database", "databases")
	ScheduleKind = kind("ScheduledBackup", "scheduledbackups")
	BackupKind   = kind("Backup", "backups")
	PoolerKind   = kind("Pooler", "poolers")
)

func kind(name, plural string) optionalkinds.Kind {
	return optionalkinds.Kind{GroupVersionKind: cnpgv1.SchemeGroupVersion.WithKind(name), Plural: plural}
}

// Kinds are those that the cluster has to have for spec.postgres.
func Kinds() []optionalkinds.Kind {
	return []optionalkinds.Kind{ClusterKind, RoleKind, DatabaseKind, ScheduleKind, BackupKind, PoolerKind}
}

// ObjectName is the name of every object of the database: the Secret with its password, the role,
// the database, the Cluster.
func ObjectName(d *corev1api.Dojo) string { return d.Name + "-db" }

// Login is a role of Postgres as which the application logs in. There are two, which take turns when
// the password is rotated.
type Login int

const (
	// Owner owns the database.
	Owner Login = iota
	// Second is a member of Owner, and acts as it. There is none before the first rotation.
	Second
)

// Other is the other login.
func (l Login) Other() Login { return 1 - l }

// ObjectName is the name of the DatabaseRole, and of the Secret with its password.
func (l Login) ObjectName(d *corev1api.Dojo) string {
	if l == Second {
		return ObjectName(d) + "-2"
	}
	return ObjectName(d)
}

// SQLName is the name of the role in Postgres, at most 63 bytes. That of Second begins with what no
// name of an Owner begins with.
func (l Login) SQLName(d *corev1api.Dojo) string {
	if l == Second {
		return cmp.Or(restoredSecond(restoredName(d)), sqlName("dojo2", d))
	}
	return SQLName(d)
}

// maxStem is the length up to which the name of a Dojo is part of those of its Backups: with what
// follows they have at most 63 characters, since CloudNativePG labels snapshots with the name of their
// Backup (pkg/reconciler/backup/volumesnapshot/reconciler.go).
const maxStem = 45

// ScheduleName is the name of the ScheduledBackup, to which CloudNativePG adds 15 characters for each
// Backup.
func ScheduleName(d *corev1api.Dojo) string {
	if len(d.Name) <= maxStem {
		return ObjectName(d)
	}
	return d.Name[:maxStem-9] + "-" + ShortHash(d.Name) + "-db"
}

// FinalBackupName is the name of the last Backup of this very Dojo: that of a former one of the same
// name may still exist.
func FinalBackupName(d *corev1api.Dojo) string {
	return d.Name[:min(len(d.Name), maxStem)] + "-db-final-" + ShortHash(string(d.UID))
}

// FirstBackupName is the name of the first Backup of a Cluster of its own, where its schedule takes none at once.
func FirstBackupName(d *corev1api.Dojo, clusterUID types.UID) string {
	return d.Name[:min(len(d.Name), maxStem)] + "-db-first-" + ShortHash(string(clusterUID))
}

// ClusterName is the name of the Cluster that holds the database; empty without spec.postgres.
func ClusterName(d *corev1api.Dojo) string {
	switch {
	case d.Spec.Postgres == nil:
		return ""
	case d.Spec.Postgres.ClusterRef != nil:
		return d.Spec.Postgres.ClusterRef.Name
	}
	return ObjectName(d)
}

// BudgetSuffixes are what follows the name of a Dojo in those of the PodDisruptionBudgets that
// CloudNativePG makes for its own Cluster (pkg/specs/poddisruptionbudget.go).
func BudgetSuffixes() []string { return []string{"-db", "-db-primary"} }

// Reclaims reports whether the data is deleted with the Dojo.
func Reclaims(d *corev1api.Dojo) bool {
	return d.Spec.Postgres != nil && d.Spec.Postgres.ReclaimPolicy == corev1api.ReclaimDelete
}

// ReclaimPolicy is the policy in CloudNativePG's words.
func ReclaimPolicy(d *corev1api.Dojo) string {
	if Reclaims(d) {
		return string(cnpgv1.DatabaseReclaimDelete)
	}
	return string(cnpgv1.DatabaseReclaimRetain)
}

// Host is the Service of the Cluster's primary.
func Host(d *corev1api.Dojo) string { return ClusterName(d) + "-rw" }

// ReadOnlyHost is the Service of the Cluster's standbys.
func ReadOnlyHost(d *corev1api.Dojo) string { return ClusterName(d) + "-ro" }

// PoolerName is the name of the Pooler of a Dojo's own Cluster, of its Service and of its Deployment.
// CloudNativePG has a Secret NAME-db-pooler of its own (api/v1/pooler_funcs.go).
func PoolerName(d *corev1api.Dojo) string { return ObjectName(d) + "-pooler-rw" }

// SQLName is the name of the database and of its owner in Postgres, at most 63 bytes. Names cannot
// collide: no name of Kubernetes has an underscore, and one that is cut ends with a hash of the
// whole.
//
// What was restored keeps the names that it has in the backup.
func SQLName(d *corev1api.Dojo) string {
	if name := restoredName(d); name != "" {
		return name
	}
	return sqlName("dojo", d)
}

// restoredName is the name of the database that is to be restored, empty where that is the Dojo's own.
func restoredName(d *corev1api.Dojo) string {
	if b := d.BootstrapSource(); b != nil && b.Recovery != nil {
		return b.Recovery.Database
	}
	return ""
}

// restoredSecond is the name that the second login of a Dojo has whose owner has this name, which a
// rotation replaces: the data may have it, with a password that is known elsewhere. Empty where it is
// no Dojo's.
func restoredSecond(owner string) string {
	rest, ok := strings.CutPrefix(owner, "dojo_")
	if !ok {
		return ""
	}
	name := "dojo2_" + rest
	if len(name) > maxLength {
		return name[:maxLength-9] + "_" + ShortHash(owner)
	}
	return name
}

// BootstrapJobs are the names that CloudNativePG's Job can have that fills the Dojo's own Cluster
// (getJobName in pkg/specs/jobs.go); that for snapshots is the last.
func BootstrapJobs(d *corev1api.Dojo) (names []string) {
	b := d.BootstrapSource()
	switch prefix := ObjectName(d) + "-1-"; {
	case b == nil:
	case b.Import != nil:
		names = append(names, prefix+"import")
	default:
		names = append(names, prefix+"full-recovery", prefix+"snapshot-recovery")
	}
	return names
}

// maxLength is that of a name in Postgres, in bytes.
const maxLength = 63

func sqlName(prefix string, d *corev1api.Dojo) string {
	name := strings.ReplaceAll(prefix+"_"+d.Namespace+"_"+d.Name, "-", "_")
	if len(name) <= maxLength {
		return name
	}
	return name[:maxLength-9] + "_" + ShortHash(d.Namespace+"/"+d.Name)
}

// References are the names of the objects of a Dojo's database, and of those that spec.postgres
// refers to.
func References(d *corev1api.Dojo) (names []string) {
	if d.Spec.Postgres == nil {
		return nil
	}
	names = []string{ObjectName(d), ClusterName(d), Second.ObjectName(d)}
	if d.Spec.Postgres.Cluster != nil {
		names = append(names, PoolerName(d))
		for _, suffix := range BudgetSuffixes()[1:] { // the first is that of the Cluster itself
			names = append(names, d.Name+suffix)
		}
		if schedule := ScheduleName(d); schedule != ObjectName(d) {
			names = append(names, schedule)
		}
	}
	if b := d.BootstrapSource(); b != nil {
		names = append(names, BootstrapJobs(d)...)
		if b.Import != nil {
			names = append(names, b.Import.SourceSecretRef.Name)
		} else if b.Recovery.Backup != nil {
			names = append(names, b.Recovery.Backup.Name)
		}
	}
	for _, source := range d.Spec.Postgres.InitSQL {
		if ref := cmp.Or(source.ConfigMapKeyRef, source.SecretKeyRef); ref != nil {
			names = append(names, ref.Name)
		}
	}
	return names
}

// ShortHash is a hash for a name: long enough for the few objects of a Dojo.
func ShortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
