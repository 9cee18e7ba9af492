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

// lost is the issue with a Dojo whose own Cluster does not exist and did once, with a database in it: an
// empty one in its place would look like a recovery. It is nil where there was none, and where a user
// has accepted this very loss. A Database of that Cluster outlives it, and so do the application's
// credentials for it (connected). A Dojo that has had no Cluster yet and says where its data comes from
// is a restore, whatever a former one has left.
func lost(d *corev1api.Dojo, db *cnpgv1.Database, connected bool) *conditions.Issue {
	had := ownership.Holds(d, db) && db.Spec.ClusterRef.Name == cnpg.ClusterName(d)
	token := lossOf(d)
	origin := Origin(d)
	if !had && !connected || d.Annotations[corev1api.RecreateDatabaseAnnotation] == token ||
		origin != "" && token == string(d.UID) { // it is asked for what a former Dojo has lost
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
		d.Namespace, cnpg.ClusterName(d), instead, d.Name, corev1api.RecreateDatabaseAnnotation, token, accepts)
}

// lossOf identifies the loss of one Cluster. Of one that this Dojo has never had, only its data, it is
// the first loss.
func lossOf(d *corev1api.Dojo) string {
	known := ""
	if d.Status.Database != nil {
		known = d.Status.Database.ClusterUID
	}
	return cmp.Or(known, string(d.UID))
}
