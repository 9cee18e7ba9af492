// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/backup"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/database"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
	"jutsu.com/operators/dojo-operator/internal/postgres/upgrade"
)

// ReadOnlyHost returns the standbys' Service, or "" without standbys. If neither the spec nor the
// Cluster shows the number of instances, the Service comes from the Dojo's status.
func ReadOnlyHost(dojo *corev1api.Dojo, s State) string {
	own, live, known := dojo.Spec.Postgres.Cluster, s.Cluster.Live, dojo.Status.Database
	// If size names no valid preset (Unsized), the spec gives the number of instances only if the
	// field instances is set.
	specified := own != nil && (own.Instances != nil || s.Unsized == nil)
	switch {
	case specified && ptr.Deref(own.Instances, 1) > 1, !specified && live != nil && live.Spec.Instances > 1:
		return cnpg.ReadOnlyHost(dojo)
	case !specified && live == nil && known != nil:
		return known.ReadOnlyHost
	}
	return ""
}

// Host returns the host for the application's credentials, or "" for the primary's Service.
func Host(dojo *corev1api.Dojo, s State) string {
	return pooler.Host(dojo, s.Pooler, s.Login.Connected, s.Application.Pooled)
}

// Source returns the Secret of the login that the application should use: its name and metadata.
func Source(dojo *corev1api.Dojo, s State) (name string, secret *metav1.PartialObjectMetadata) {
	l := login.Source(dojo, s.Login, databaseIDOf(s))
	return l.ObjectName(dojo), s.Login.Logins[l].Secret
}

// WaitsForPods reports whether a former login, or an obsolete Pooler that the credentials no longer
// name, must be removed once no pod uses it.
func WaitsForPods(dojo *corev1api.Dojo, s State) bool {
	return login.Retires(dojo, s.Login) || !s.Application.Pooled && pooler.Obsolete(dojo, s.Pooler)
}

// RequiresStop reports whether the application must not run because Postgres is being upgraded.
func RequiresStop(dojo *corev1api.Dojo, s State) bool {
	return dojo.Spec.Postgres != nil && upgrade.RequiresStop(dojo, s.Upgrade, UpgradeStep(dojo, s))
}

// Unreachable reports whether a new pod could not reach the Dojo's own Cluster, or the Pooler that
// the credentials name; false if this is unknown.
func Unreachable(dojo *corev1api.Dojo, s State) bool {
	return dojo.Spec.Postgres != nil && dojo.Spec.Postgres.Cluster != nil && s.readable() &&
		(!cnpg.Up(s.Cluster.Live) || poolerUnreachable(dojo, s))
}

// WhyUnreachable says why requests cannot reach Postgres; "" if they can, or if this is unknown.
func WhyUnreachable(dojo *corev1api.Dojo, s State) string {
	switch live := s.Cluster.Live; {
	case dojo.Spec.Postgres == nil || !s.readable():
		return ""
	case RequiresStop(dojo, s):
		return upgrade.Unreachable(dojo, live, s.Upgrade)
	case cnpg.Up(live) && poolerUnreachable(dojo, s):
		return pooler.Unreachable(dojo)
	case cnpg.Up(live):
		return ""
	default:
		return cluster.Unreachable(dojo, live)
	}
}

func poolerUnreachable(dojo *corev1api.Dojo, s State) bool {
	return s.readable() && s.Application.Pooled && !pooler.Answers(dojo, s.Pooler)
}

// AwaitsWindow returns the time until the window of a pending minor upgrade opens or ends, or 0.
func AwaitsWindow(dojo *corev1api.Dojo, s State) time.Duration {
	if dojo.Spec.Postgres == nil || !s.readable() {
		return 0
	}
	at := images.NewerAt(dojo, s.Cluster.Live, s.images())
	if at == nil {
		return 0
	}
	if wait := at.Sub(s.Now); wait > 0 {
		return wait
	}
	return at.Add(dojo.Spec.Postgres.Cluster.VersionPolicy.Window.Duration.Duration).Sub(s.Now)
}

// BackupCondition returns the condition BackupSucceeded of a Dojo, or nil.
func BackupCondition(dojo *corev1api.Dojo, s State) *metav1.Condition {
	return backup.Condition(dojo, s.Cluster.Live)
}

// Status returns the database part of the Dojo's status; nil without spec.postgres.
func Status(dojo *corev1api.Dojo, s State) *corev1api.DatabaseStatus {
	if dojo.Spec.Postgres == nil {
		return nil
	}
	live, known := s.Cluster.Live, dojo.Status.Database
	status := &corev1api.DatabaseStatus{
		ClusterName: cnpg.ClusterName(dojo), Name: cnpg.SQLName(dojo), Host: cnpg.Host(dojo),
	}
	status.ReadOnlyHost = ReadOnlyHost(dojo, s)
	status.Pooler = pooler.Status(dojo, s.Pooler, s.Application.Pooled)
	if known != nil {
		status.ClusterUID, status.Origin = known.ClusterUID, known.Origin
	}
	var held *cnpgv1.Cluster
	if dojo.Spec.Postgres.Cluster != nil && ownership.Holds(dojo, live) && bootstrap.Mismatch(dojo, live) == nil {
		held = live
		status.ClusterUID = string(live.UID)
		status.Origin = cnpg.ShortOrigin(live.Annotations[corev1api.OriginAnnotation])
	}
	status.Size = cluster.SizeOf(dojo, held, s.Unsized != nil)
	switch {
	case live != nil:
		cluster.Describe(live, status)
	case known == nil:
	case s.readable() && dojo.Spec.Postgres.Cluster == nil:
	case s.readable():
		cluster.DescribeLost(known, status)
	default:
		status.Version, status.Instances, status.Primary = known.Version, known.Instances, known.Primary
		status.Pooler = known.Pooler
	}
	if s.readable() {
		status.NewerVersion = images.Newer(dojo, live, s.Catalog)
		status.NewerVersionAt = images.NewerAt(dojo, live, s.images())
	} else if known != nil {
		status.NewerVersion, status.NewerVersionAt = known.NewerVersion, known.NewerVersionAt
	}
	if s.Login.Connected {
		status.Login = s.Login.Current.SQLName(dojo)
		if login.Retires(dojo, s.Login) {
			status.FormerLogin = s.Login.Current.Other().SQLName(dojo)
		}
	}
	backup.Describe(dojo, s.Backup, s.readable(), status)
	if !s.readable() && known != nil {
		status.Upgrade = known.Upgrade
	} else {
		status.Upgrade = upgrade.Status(dojo, live, s.Upgrade, UpgradeStep(dojo, s), s.Now)
	}
	return status
}

// Strip saves memory: it removes those fields of a foreign object that no plan reads.
func Strip(o client.Object) {
	switch o := o.(type) {
	case *cnpgv1.Cluster:
		cluster.Strip(o)
	case *cnpgv1.Database:
		database.Strip(o)
	case *cnpgv1.Backup:
		backup.Strip(o)
	case *appsv1.Deployment:
		pooler.Strip(o)
	case *batchv1.Job:
		upgrade.Strip(o, bootstrap.StripJob)
	default:
		ownership.Strip(o)
	}
}
