// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

// Status is what the Dojo's status says of its database; nil without spec.postgres.
func Status(d *corev1api.Dojo, s State) *corev1api.DatabaseStatus {
	if d.Spec.Postgres == nil {
		return nil
	}
	status := &corev1api.DatabaseStatus{ClusterName: cnpg.ClusterName(d), Name: cnpg.SQLName(d), Host: cnpg.Host(d)}
	if d.Spec.Postgres.Cluster != nil && s.Cluster != nil {
		status.Version = cluster.VersionOf(s.Cluster.Status.Image)
	}
	if s.Application.Connected {
		status.Login = s.Application.Login.SQLName(d)
		if Retires(d, s) {
			status.FormerLogin = s.Application.Login.Other().SQLName(d)
		}
	}
	addBackups(d, s, status)
	return status
}
