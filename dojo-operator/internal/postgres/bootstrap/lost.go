// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

// lostIssue returns an issue if the Dojo has lost its Cluster, so that no Cluster without the lost
// data takes its place. connected reports whether the application has credentials.
func lostIssue(dojo *corev1api.Dojo, db *cnpgv1.Database, connected bool) *conditions.Issue {
	had := ownership.Holds(dojo, db) && db.Spec.ClusterRef.Name == cnpg.ClusterName(dojo)
	token := lossToken(dojo)
	origin := Origin(dojo)
	if !had && !connected || dojo.Annotations[corev1api.RecreateDatabaseAnnotation] == token ||
		// This Dojo never had a Cluster: it restores the data of a deleted Dojo.
		origin != "" && token == string(dojo.UID) {
		return nil
	}
	instead, accepts, loses := "no empty one is created in its place", "an empty database", "All data of the Dojo"
	if origin != "" {
		instead = "it is not created again from " + origin + ", which lacks all newer data"
		accepts, loses = "the data of "+origin, "All newer data"
	}
	archive := ""
	if b := dojo.BackupPolicy(); b != nil && b.Plugin != nil && b.Plugin.Name == cnpg.BarmanCloud {
		archive = " and set another serverName in spec.postgres.cluster.backup.plugin.parameters"
	}
	return conditions.Degraded(corev1api.ReasonDatabaseLost,
		"The Cluster %[1]s/%[2]s is gone, with the data of the Dojo, and %[3]s. "+
			"Restore the data: `kubectl dojo restore %[4]s -n %[1]s`. If nothing can be restored, begin with %[5]s: "+
			"`kubectl dojo accept-loss %[4]s -n %[1]s`; or run "+
			"`kubectl annotate dojos.core.jutsu.com %[4]s -n %[1]s --overwrite %[6]s=%[7]s`%[9]s. %[8]s is then lost.",
		dojo.Namespace, cnpg.ClusterName(dojo), instead, dojo.Name, accepts,
		corev1api.RecreateDatabaseAnnotation, token, loses, archive)
}

// lossToken returns the value with which a user accepts the loss of a Cluster: the Cluster's UID,
// or the Dojo's UID if the status has no UID of a Cluster.
func lossToken(dojo *corev1api.Dojo) string {
	known := ""
	if dojo.Status.Database != nil {
		known = dojo.Status.Database.ClusterUID
	}
	return cmp.Or(known, string(dojo.UID))
}
