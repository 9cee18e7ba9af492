package postgres

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
	clusterKind  = kind("Cluster", "clusters")
	roleKind     = kind("DatabaseRole", "databaseroles")
	databaseKind = kind("Database", "databases")
	scheduleKind = kind("ScheduledBackup", "scheduledbackups")
	backupKind   = kind("Backup", "backups")
)

func kind(name, plural string) optional.Kind {
	return optional.Kind{GroupVersionKind: cnpgv1.SchemeGroupVersion.WithKind(name), Plural: plural}
}

// Kinds are those that the cluster has to have for spec.postgres.
func Kinds() []optional.Kind {
	return []optional.Kind{clusterKind, roleKind, databaseKind, scheduleKind, backupKind}
}

// ObjectName is the name of every object of the database: the Secret with its password, the role,
// the database, the Cluster.
func ObjectName(d *corev1api.Dojo) string { return d.Name + "-db" }

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

// host is the Service of the Cluster's primary.
func host(d *corev1api.Dojo) string { return ClusterName(d) + "-rw" }

// sqlName is the name of the database and of its owner in Postgres, at most 63 bytes. Names cannot
// collide: no name of Kubernetes has an underscore, and one that is cut ends with a hash of the
// whole.
func sqlName(d *corev1api.Dojo) string {
	const maxLength = 63
	name := strings.ReplaceAll("dojo_"+d.Namespace+"_"+d.Name, "-", "_")
	if len(name) <= maxLength {
		return name
	}
	return name[:maxLength-9] + "_" + shortHash(d.Namespace+"/"+d.Name)
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// Status is what the Dojo's status says of its database; nil without spec.postgres.
func Status(d *corev1api.Dojo, s State) *corev1api.DatabaseStatus {
	if d.Spec.Postgres == nil {
		return nil
	}
	status := &corev1api.DatabaseStatus{ClusterName: ClusterName(d), Name: sqlName(d), Host: host(d)}
	addBackups(d, s, status)
	return status
}

// References are the names of the objects of a Dojo's database, and of those that spec.postgres
// refers to.
func References(d *corev1api.Dojo) (names []string) {
	if d.Spec.Postgres == nil {
		return nil
	}
	names = []string{ObjectName(d), ClusterName(d)}
	for _, source := range d.Spec.Postgres.InitSQL {
		if ref := cmp.Or(source.ConfigMapKeyRef, source.SecretKeyRef); ref != nil {
			names = append(names, ref.Name)
		}
	}
	return names
}
