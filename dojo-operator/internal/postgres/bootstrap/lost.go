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

// lostIssue returns the issue of a Dojo whose own Cluster is gone: an empty one would look like a
// recovery. The Database and the application's credentials (connected) outlive the Cluster.
func lostIssue(dojo *corev1api.Dojo, db *cnpgv1.Database, connected bool) *conditions.Issue {
	had := ownership.Holds(dojo, db) && db.Spec.ClusterRef.Name == cnpg.ClusterName(dojo)
	token := lossToken(dojo)
	origin := Origin(dojo)
	if !had && !connected || dojo.Annotations[corev1api.RecreateDatabaseAnnotation] == token ||
		origin != "" && token == string(dojo.UID) { // a restore of a former Dojo's data
		return nil
	}
	instead, accepts := "no empty one is created in its place", ""
	if origin != "" {
		instead = "it is not made again from " + origin + ", which has less"
		accepts = ", which makes it again from there"
	}
	return conditions.Degraded(corev1api.ReasonDatabaseLost,
		"The Cluster %s/%s is gone, with the data of the Dojo, and %s. "+
			"Restore it under this name, as docs/operations.md says, or accept the loss with "+
			"`kubectl annotate dojo %s --overwrite %s=%s`%s.",
		dojo.Namespace, cnpg.ClusterName(dojo), instead, dojo.Name, corev1api.RecreateDatabaseAnnotation, token, accepts)
}

// lossToken identifies the loss of one Cluster. A Dojo that never had one uses its own UID.
func lossToken(dojo *corev1api.Dojo) string {
	known := ""
	if dojo.Status.Database != nil {
		known = dojo.Status.Database.ClusterUID
	}
	return cmp.Or(known, string(dojo.UID))
}
