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

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
)

// The kinds of CloudNativePG.
var (
	ClusterKind  = kind("Cluster", "clusters")
	RoleKind     = kind("DatabaseRole", "databaseroles")
	DatabaseKind = kind("Database", "databases")
	ScheduleKind = kind("ScheduledBackup", "scheduledbackups")
	BackupKind   = kind("Backup", "backups")
)

func kind(name, plural string) optional.Kind {
	return optional.Kind{GroupVersionKind: cnpgv1.SchemeGroupVersion.WithKind(name), Plural: plural}
}

// Kinds are those that the cluster has to have for spec.postgres.
func Kinds() []optional.Kind {
	return []optional.Kind{ClusterKind, RoleKind, DatabaseKind, ScheduleKind, BackupKind}
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
		return sqlName("dojo2", d)
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

// Host is the Service of the Cluster's primary.
func Host(d *corev1api.Dojo) string { return ClusterName(d) + "-rw" }

// SQLName is the name of the database and of its owner in Postgres, at most 63 bytes. Names cannot
// collide: no name of Kubernetes has an underscore, and one that is cut ends with a hash of the
// whole.
func SQLName(d *corev1api.Dojo) string { return sqlName("dojo", d) }

func sqlName(prefix string, d *corev1api.Dojo) string {
	const maxLength = 63
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
		for _, suffix := range BudgetSuffixes()[1:] { // the first is that of the Cluster itself
			names = append(names, d.Name+suffix)
		}
		if schedule := ScheduleName(d); schedule != ObjectName(d) {
			names = append(names, schedule)
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
