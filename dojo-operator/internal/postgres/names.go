// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
)

// ReadOnlyHost is where the application reads what may be behind by moments, empty where the Cluster
// has no standbys. Of a Cluster of others what was known stands while it cannot be read.
func ReadOnlyHost(d *corev1api.Dojo, s State) string {
	switch own, known := d.Spec.Postgres.Cluster, d.Status.Database; {
	case own != nil && ptr.Deref(own.Instances, 1) > 1, own == nil && s.Cluster != nil && s.Cluster.Spec.Instances > 1:
		return cnpg.ReadOnlyHost(d)
	case own == nil && s.Cluster == nil && known != nil:
		return known.ReadOnlyHost
	}
	return ""
}

// Status is what the Dojo's status says of its database; nil without spec.postgres.
func Status(d *corev1api.Dojo, s State) *corev1api.DatabaseStatus {
	if d.Spec.Postgres == nil {
		return nil
	}
	status := &corev1api.DatabaseStatus{ClusterName: cnpg.ClusterName(d), Name: cnpg.SQLName(d), Host: cnpg.Host(d)}
	status.ReadOnlyHost = ReadOnlyHost(d, s)
	status.Pooler = pooler.Status(d, s.Pooler, s.Application.Pooled)
	known := d.Status.Database
	if known != nil {
		status.ClusterUID, status.Origin = known.ClusterUID, known.Origin
	}
	if d.Spec.Postgres.Cluster != nil && ownership.Holds(d, s.Cluster) && bootstrap.Mismatch(d, s.Cluster) == nil {
		status.ClusterUID = string(s.Cluster.UID)
		status.Origin = cnpg.Bounded(s.Cluster.Annotations[corev1api.OriginAnnotation])
	}
	if s.Cluster != nil {
		cluster.Describe(s.Cluster, status)
	} else if known != nil && !s.readable() {
		status.Version, status.Instances, status.Primary = known.Version, known.Instances, known.Primary
		status.Pooler = known.Pooler
	}
	if s.Application.Connected {
		status.Login = s.Application.Login.SQLName(d)
		if Retires(d, s) {
			status.FormerLogin = s.Application.Login.Other().SQLName(d)
		}
	}
	addBackups(d, s, status)
	status.Upgrade = upgradeStatus(d, s)
	return status
}
