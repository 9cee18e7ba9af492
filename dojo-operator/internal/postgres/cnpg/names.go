// SPDX-License-Identifier: Apache-2.0

// Package cnpg has the kinds, names and status reports of CloudNativePG that all steps share.
package cnpg

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
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

// Kinds lists the kinds that spec.postgres needs.
func Kinds() []optionalkinds.Kind {
	return []optionalkinds.Kind{ClusterKind, RoleKind, DatabaseKind, ScheduleKind, BackupKind, PoolerKind}
}

// ObjectName names the Cluster, the Database, the owner's DatabaseRole and its Secret.
func ObjectName(dojo *corev1api.Dojo) string { return dojo.Name + "-db" }

// Login is one of the application's two Postgres roles, between which rotations alternate.
type Login int

const (
	// Owner owns the database.
	Owner Login = iota
	// Second is a member of Owner and acts as Owner. The first rotation creates Second.
	Second
)

// Other returns the other login.
func (l Login) Other() Login { return 1 - l }

// ObjectName names the DatabaseRole and the Secret with its password.
func (l Login) ObjectName(dojo *corev1api.Dojo) string {
	if l == Second {
		return ObjectName(dojo) + "-2"
	}
	return ObjectName(dojo)
}

// SQLName names the role in Postgres.
func (l Login) SQLName(dojo *corev1api.Dojo) string {
	if l == Second {
		return cmp.Or(restoredSecond(restoredName(dojo)), sqlName("dojo2", dojo))
	}
	return SQLName(dojo)
}

// maxStem limits the Dojo's name in a Backup's name, which CloudNativePG uses as a label value of
// snapshots (pkg/reconciler/backup/volumesnapshot/reconciler.go).
const maxStem = 45

// ScheduleName names the ScheduledBackup. It shortens a long name of a Dojo, because CloudNativePG
// appends 15 characters for the name of each Backup.
func ScheduleName(dojo *corev1api.Dojo) string {
	if len(dojo.Name) <= maxStem {
		return ObjectName(dojo)
	}
	return dojo.Name[:maxStem-9] + "-" + ShortHash(dojo.Name) + "-db"
}

// BackupName returns the Dojo's name, cut to 45 characters, with a suffix.
func BackupName(dojo *corev1api.Dojo, suffix string) string {
	return dojo.Name[:min(len(dojo.Name), maxStem)] + "-" + suffix
}

// FinalBackupName contains a hash of the Dojo's UID, because a deleted Dojo of the same name may
// have a final Backup.
func FinalBackupName(dojo *corev1api.Dojo) string {
	return BackupName(dojo, "db-final-"+ShortHash(string(dojo.UID)))
}

// FirstBackupName names the first Backup of a new Cluster, if the ScheduledBackup takes none.
func FirstBackupName(dojo *corev1api.Dojo, clusterUID types.UID) string {
	return BackupName(dojo, "db-first-"+ShortHash(string(clusterUID)))
}

// ClusterName names the Cluster that contains the database; "" without spec.postgres.
func ClusterName(dojo *corev1api.Dojo) string {
	switch {
	case dojo.Spec.Postgres == nil:
		return ""
	case dojo.Spec.Postgres.ClusterRef != nil:
		return dojo.Spec.Postgres.ClusterRef.Name
	}
	return ObjectName(dojo)
}

// BudgetSuffixes returns the suffixes of the Cluster's PodDisruptionBudgets. The name of each
// budget is the Dojo's name with a suffix (CloudNativePG's poddisruptionbudget.go).
func BudgetSuffixes() []string { return []string{"-db", "-db-primary"} }

// Reclaims reports whether the data is deleted with the Dojo.
func Reclaims(dojo *corev1api.Dojo) bool {
	return dojo.Spec.Postgres != nil && dojo.Spec.Postgres.ReclaimPolicy == corev1api.ReclaimDelete
}

// RetainCommand returns the command that keeps the data when the Dojo is deleted.
func RetainCommand(dojo *corev1api.Dojo) string {
	return fmt.Sprintf("kubectl patch dojos.core.jutsu.com %s -n %s --type=merge -p "+
		`'{"spec":{"postgres":{"reclaimPolicy":"Retain"}}}'`, dojo.Name, dojo.Namespace)
}

// ReclaimPolicy returns the reclaim policy in CloudNativePG's spelling.
func ReclaimPolicy(dojo *corev1api.Dojo) string {
	if Reclaims(dojo) {
		return string(cnpgv1.DatabaseReclaimDelete)
	}
	return string(cnpgv1.DatabaseReclaimRetain)
}

// Host names the Service of the Cluster's primary.
func Host(dojo *corev1api.Dojo) string { return ClusterName(dojo) + "-rw" }

// ReadOnlyHost names the Service of the Cluster's standbys.
func ReadOnlyHost(dojo *corev1api.Dojo) string { return ClusterName(dojo) + "-ro" }

// PoolerName names the Pooler and its objects. The suffix "-pooler" would give the name of a Secret
// that CloudNativePG creates for the Cluster.
func PoolerName(dojo *corev1api.Dojo) string { return ObjectName(dojo) + "-pooler-rw" }

// SQLName names the database and its owner. Apart from restored names, it is unique in a namespace:
// a Kubernetes name has no underscore, and a shortened name ends with a hash.
func SQLName(dojo *corev1api.Dojo) string {
	if name := restoredName(dojo); name != "" {
		return name
	}
	return sqlName("dojo", dojo)
}

func restoredName(dojo *corev1api.Dojo) string {
	if b := dojo.BootstrapSource(); b != nil && b.Recovery != nil {
		return b.Recovery.Database
	}
	return ""
}

// restoredSecond returns the second login's name in restored data, so that a rotation replaces the
// password that clients of the original database know. The name differs from that in the data only
// if the owner's name has 63 bytes and no hash.
func restoredSecond(owner string) string {
	rest, ok := strings.CutPrefix(owner, "dojo_")
	if !ok {
		return ""
	}
	name := "dojo2_" + rest
	if len(name) > maxLength {
		return name[:maxLength-9] + cmp.Or(hashSuffix.FindString(owner), "_"+ShortHash(owner))
	}
	return name
}

// BootstrapJob is the role of a Job with which CloudNativePG fills a Cluster (getJobName in
// pkg/specs/jobs.go).
type BootstrapJob string

// The Jobs that fill the Cluster of a Dojo.
const (
	ImportJob BootstrapJob = "import"
	// RecoveryJob restores an archive, and SnapshotJob restores volume snapshots.
	RecoveryJob BootstrapJob = "full-recovery"
	SnapshotJob BootstrapJob = "snapshot-recovery"
)

// ObjectName names the Job.
func (j BootstrapJob) ObjectName(dojo *corev1api.Dojo) string {
	return ObjectName(dojo) + "-1-" + string(j)
}

// bootstrapJobs returns the possible names of the Job for the source in the Dojo's spec.
func bootstrapJobs(dojo *corev1api.Dojo) []string {
	switch b := dojo.BootstrapSource(); {
	case b == nil:
		return nil
	case b.Import != nil:
		return []string{ImportJob.ObjectName(dojo)}
	}
	return []string{RecoveryJob.ObjectName(dojo), SnapshotJob.ObjectName(dojo)}
}

// maxLength is the maximum length of a name in Postgres, in bytes.
const maxLength = 63

// hashSuffix matches the end of a name that sqlName has shortened.
var hashSuffix = regexp.MustCompile(`_[0-9a-f]{8}$`)

func sqlName(prefix string, dojo *corev1api.Dojo) string {
	name := strings.ReplaceAll(prefix+"_"+dojo.Namespace+"_"+dojo.Name, "-", "_")
	if len(name) <= maxLength {
		return name
	}
	return name[:maxLength-9] + "_" + ShortHash(dojo.Namespace+"/"+dojo.Name)
}

var secretSuffixes = []string{"-app", "-superuser"}

// ClusterSecrets names the Secrets with a login that CloudNativePG creates for a Cluster.
func ClusterSecrets(cluster string) (names []string) {
	for _, suffix := range secretSuffixes {
		names = append(names, cluster+suffix)
	}
	return names
}

// ClusterOfSecret returns the Cluster for which CloudNativePG may have created a Secret; "" for none.
func ClusterOfSecret(secret string) string {
	for _, suffix := range secretSuffixes {
		if cluster, ok := strings.CutSuffix(secret, suffix); ok {
			return cluster
		}
	}
	return ""
}

// References names the objects of a Dojo's database, and the objects that spec.postgres refers to.
func References(dojo *corev1api.Dojo) (names []string) {
	if dojo.Spec.Postgres == nil {
		return nil
	}
	names = []string{ObjectName(dojo), ClusterName(dojo), Second.ObjectName(dojo)}
	if dojo.Spec.Postgres.Cluster != nil {
		names = append(names, PoolerName(dojo))
		for _, suffix := range BudgetSuffixes()[1:] { // the first suffix would give ObjectName again
			names = append(names, dojo.Name+suffix)
		}
		if schedule := ScheduleName(dojo); schedule != ObjectName(dojo) {
			names = append(names, schedule)
		}
	}
	if b := dojo.BootstrapSource(); b != nil {
		names = append(names, bootstrapJobs(dojo)...)
		if b.Import != nil {
			names = append(names, b.Import.SourceSecretRef.Name)
		} else if b.Recovery.Backup != nil {
			names = append(names, b.Recovery.Backup.Name)
		}
	}
	for _, source := range dojo.Spec.Postgres.InitSQL {
		if ref := cmp.Or(source.ConfigMapKeyRef, source.SecretKeyRef); ref != nil {
			names = append(names, ref.Name)
		}
	}
	return names
}

// ShortHash returns a hash of 8 hexadecimal digits, which is enough to distinguish a few objects.
func ShortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
