// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

const withoutFinal = "To delete without a final backup, set spec.postgres.cluster.backup.finalBackup to false. " +
	"The data since the last backup is then lost."

const (
	retain   = "set spec.postgres.reclaimPolicy to Retain, which keeps the data. "
	orRetain = "or " + retain
)

// PlanFinal blocks until the final backup completes, if the spec requests one. known reports
// whether the Database object belongs to the Dojo. readable reports whether Backups can be read.
func PlanFinal(dojo *corev1api.Dojo, s State, in Input, known, readable bool) (step cnpg.Step) {
	b, cluster, name := dojo.BackupPolicy(), in.Cluster, cnpg.FinalBackupName(dojo)
	owned := ownership.Holds(dojo, cluster)
	if b == nil || !b.FinalBackup || cluster.DeletionTimestamp != nil || !owned && !known ||
		s.Final != nil && s.Final.Status.Phase == cnpgv1.BackupPhaseCompleted {
		return step
	}
	issue := conditions.Progressing(corev1api.ReasonTakingFinalBackup,
		"Waiting until the Backup %s has completed. No data is deleted before that.", name)
	switch {
	case !readable:
		issue = cnpg.MissingKind(cnpg.BackupKind, "no final backup can be made, and no data is deleted",
			orRetain+strings.TrimSuffix(withoutFinal, "."))
	case !owned: // for example, a user has restored the Cluster
		issue = conditions.Degraded(corev1api.ReasonFinalBackupFailed,
			"The Cluster %s/%s does not belong to this Dojo, so no final backup can be made, and no data is deleted. %s Or %s",
			dojo.Namespace, cluster.Name, ownership.HandOver(dojo, cnpg.ClusterKind.Kind, cluster),
			retain+withoutFinal)
	case s.Final != nil && cnpg.BackupFailed(s.Final):
		issue = conditions.Degraded(corev1api.ReasonFinalBackupFailed,
			"The Backup %s has failed: %s. No data is deleted. "+
				"To retry, delete the Backup: `kubectl delete backups.postgresql.cnpg.io %s -n %s`. Or "+retain+withoutFinal,
			name, cnpg.BackupError(s.Final), name, dojo.Namespace)
	case cnpg.Hibernates(cluster):
		issue = conditions.Degraded(corev1api.ReasonClusterHibernated, "The Cluster %s/%s is hibernated, "+
			"so no final backup can be made. Resume it with `"+cnpg.Resume(cluster)+"`, "+orRetain+withoutFinal,
			dojo.Namespace, cluster.Name)
	case resumes(cluster): // CloudNativePG fails a Backup of a Cluster that it takes for hibernated
		object := fmt.Sprintf("Cluster %s/%s to resume", dojo.Namespace, cluster.Name)
		issue = conditions.WaitUntil(in.Now, dojo.WaitingSince(object, in.Now), in.Deadline, issue.For(object),
			cnpg.DeletionStalled("the "+object, "See `kubectl describe clusters.postgresql.cnpg.io "+cluster.Name+" -n "+
				dojo.Namespace+"`, "+orRetain+withoutFinal).For(object))
	case s.Final == nil:
		desired := ownership.Data(dojo, cnpg.BackupKind.GroupVersionKind, name, cnpg.BackupSpecNow(dojo, cluster))
		step = cnpg.Write(apply.Write(ownership.FieldOwner, s.Final, desired))
	default:
		since, limit := cnpg.BackupLimit(s.Final, in.Deadline)
		issue = conditions.WaitUntil(in.Now, since, limit, issue, finalStalled(dojo, s, cluster))
	}
	step.Blocks = issue
	return step
}

func resumes(cluster *cnpgv1.Cluster) bool {
	return meta.IsStatusConditionTrue(cluster.Status.Conditions, cnpg.HibernationAnnotation)
}

func finalStalled(dojo *corev1api.Dojo, s State, cluster *cnpgv1.Cluster) *conditions.Issue {
	name := cnpg.FinalBackupName(dojo)
	what, see := "the Backup "+name+" to complete", "backups.postgresql.cnpg.io "+name
	if older := s.Before(s.Final); older != nil {
		first, advice := cnpg.OlderBackup(older)
		return cnpg.DeletionStalled("the Backup "+name+", which waits for "+first, advice+", "+orRetain+withoutFinal)
	}
	if phase := cluster.Status.Phase; cnpg.BackupStarted(s.Final) == nil && phase != cnpgv1.PhaseHealthy && phase != "" {
		what = fmt.Sprintf("the Backup %s, which starts when the Cluster %s is healthy (now: %s)",
			name, cluster.Name, phase)
		see = "clusters.postgresql.cnpg.io " + cluster.Name
	}
	return cnpg.DeletionStalled(what, "See `kubectl describe "+see+" -n "+dojo.Namespace+"`, "+orRetain+withoutFinal)
}
