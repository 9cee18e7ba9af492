// SPDX-License-Identifier: Apache-2.0

package postgres

import (
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
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
	"jutsu.com/operators/dojo-operator/internal/postgres/upgrade"
)

// ReadOnlyHost returns the standbys' Service, or "". It stands while the Cluster cannot be read.
func ReadOnlyHost(d *corev1api.Dojo, s State) string {
	switch own, live, known := d.Spec.Postgres.Cluster, s.Cluster.Live, d.Status.Database; {
	case own != nil && ptr.Deref(own.Instances, 1) > 1, own == nil && live != nil && live.Spec.Instances > 1:
		return cnpg.ReadOnlyHost(d)
	case own == nil && live == nil && known != nil:
		return known.ReadOnlyHost
	}
	return ""
}

// Host returns the host for the application's credentials; "" is the primary's own Service.
func Host(d *corev1api.Dojo, s State) string {
	return pooler.Host(d, s.Pooler, s.Login.Connected, s.Application.Pooled)
}

// Source returns the login whose credentials the application should have, and its Secret.
func Source(d *corev1api.Dojo, s State) (name string, secret *metav1.PartialObjectMetadata) {
	l := login.Source(d, s.Login, databaseIDOf(s))
	return l.ObjectName(d), s.Login.Logins[l].Secret
}

// WaitsForPods reports whether a login or the Pooler goes once no pod uses it.
func WaitsForPods(d *corev1api.Dojo, s State) bool {
	return login.Retires(d, s.Login) || !s.Application.Pooled && pooler.Obsolete(d, s.Pooler)
}

// RequiresStop reports whether an upgrade keeps the application from running.
func RequiresStop(d *corev1api.Dojo, s State) bool {
	return d.Spec.Postgres != nil && upgrade.RequiresStop(d, s.Upgrade, UpgradeStep(d, s))
}

// Unreachable reports whether a pod of the application would fail without its own Cluster.
func Unreachable(d *corev1api.Dojo, s State) bool {
	return d.Spec.Postgres != nil && d.Spec.Postgres.Cluster != nil && s.readable() &&
		(!cnpg.Up(s.Cluster.Live) || poolerUnreachable(d, s))
}

// WhyUnreachable says why requests cannot reach Postgres; "" if they can or that is not known.
func WhyUnreachable(d *corev1api.Dojo, s State) string {
	switch live := s.Cluster.Live; {
	case d.Spec.Postgres == nil || !s.readable():
		return ""
	case RequiresStop(d, s):
		return upgrade.Unreachable(d, live, s.Upgrade)
	case cnpg.Up(live) && poolerUnreachable(d, s):
		return pooler.Unreachable(d)
	case cnpg.Up(live):
		return ""
	default:
		return cluster.Unreachable(d, live)
	}
}

func poolerUnreachable(d *corev1api.Dojo, s State) bool {
	return s.readable() && s.Application.Pooled && !pooler.Answers(d, s.Pooler)
}

// BackupCondition returns the condition of the last backup, or nil.
func BackupCondition(d *corev1api.Dojo, s State) *metav1.Condition {
	return backup.Condition(d, s.Cluster.Live)
}

// Status returns the database part of the Dojo's status; nil without spec.postgres.
func Status(d *corev1api.Dojo, s State) *corev1api.DatabaseStatus {
	if d.Spec.Postgres == nil {
		return nil
	}
	live, known := s.Cluster.Live, d.Status.Database
	status := &corev1api.DatabaseStatus{ClusterName: cnpg.ClusterName(d), Name: cnpg.SQLName(d), Host: cnpg.Host(d)}
	status.ReadOnlyHost = ReadOnlyHost(d, s)
	status.Pooler = pooler.Status(d, s.Pooler, s.Application.Pooled)
	if known != nil {
		status.ClusterUID, status.Origin = known.ClusterUID, known.Origin
	}
	if d.Spec.Postgres.Cluster != nil && ownership.Holds(d, live) && bootstrap.Mismatch(d, live) == nil {
		status.ClusterUID = string(live.UID)
		status.Origin = cnpg.ShortOrigin(live.Annotations[corev1api.OriginAnnotation])
	}
	if live != nil {
		cluster.Describe(live, status)
	} else if known != nil && !s.readable() {
		status.Version, status.Instances, status.Primary = known.Version, known.Instances, known.Primary
		status.Pooler = known.Pooler
	}
	if s.Login.Connected {
		status.Login = s.Login.Current.SQLName(d)
		if login.Retires(d, s.Login) {
			status.FormerLogin = s.Login.Current.Other().SQLName(d)
		}
	}
	backup.Describe(d, s.Backup, s.readable(), status)
	if !s.readable() && known != nil {
		status.Upgrade = known.Upgrade
	} else {
		status.Upgrade = upgrade.Status(d, live, s.Upgrade, UpgradeStep(d, s), s.Now)
	}
	return status
}

// Strip removes the fields of a foreign object that no plan reads.
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
