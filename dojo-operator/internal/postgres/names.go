// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

// Status is what the Dojo's status says of its database; nil without spec.postgres.
func Status(d *corev1api.Dojo, s State) *corev1api.DatabaseStatus {
	if d.Spec.Postgres == nil {
		return nil
	}
	status := &corev1api.DatabaseStatus{ClusterName: cnpg.ClusterName(d), Name: cnpg.SQLName(d), Host: cnpg.Host(d)}
	if d.Spec.Postgres.Cluster != nil && s.Cluster != nil {
		status.Version = versionOf(s.Cluster.Status.Image)
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

// References are the names of the objects of a Dojo's database, and of those that spec.postgres
// refers to.
func References(d *corev1api.Dojo) (names []string) {
	if d.Spec.Postgres == nil {
		return nil
	}
	names = []string{cnpg.ObjectName(d), cnpg.ClusterName(d), cnpg.Second.ObjectName(d)}
	if d.Spec.Postgres.Cluster != nil {
		for _, suffix := range cnpg.BudgetSuffixes()[1:] { // the first is that of the Cluster itself
			names = append(names, d.Name+suffix)
		}
		if schedule := cnpg.ScheduleName(d); schedule != cnpg.ObjectName(d) {
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
