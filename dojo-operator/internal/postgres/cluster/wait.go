// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"slices"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

// Wait blocks until Postgres is reachable, and then reports an own Cluster that is not healthy.
func Wait(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	own, live := dojo.Spec.Postgres.Cluster, s.Live
	switch {
	case live == nil:
		step.Blocks = missing(dojo, in)
	// The operator itself resumes a Cluster that it has hibernated.
	case cnpg.Hibernates(live) && !cnpg.HibernatedByUs(live):
		step.Blocks = hibernated(live)
	case !cnpg.Up(live):
		step.Blocks = cmp.Or(in.Filling, waitForPrimary(dojo, live, in))
	case own != nil && halted(live):
		step.Incomplete = waitForCloudNativePG(dojo, live, in)
	case own != nil && !in.Incomplete.IsDegraded() &&
		(live.Status.ReadyInstances < live.Spec.Instances || live.Status.Phase == cnpgv1.PhaseUpgrade):
		step.Incomplete = waitForStandbys(dojo, live, in)
	}
	return step
}

func hibernated(live *cnpgv1.Cluster) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonClusterHibernated,
		"The Cluster %s/%s is hibernated. Resume it with `%s`.", live.Namespace, live.Name, cnpg.Resume(live))
}

func missing(dojo *corev1api.Dojo, in Input) *conditions.Issue {
	object := fmt.Sprintf("Cluster %s/%s", dojo.Namespace, cnpg.ClusterName(dojo))
	return conditions.WaitUntil(in.Now, dojo.WaitingSince(object, in.Now), in.Deadline,
		conditions.Progressing(corev1api.ReasonWaitingForCluster,
			"Waiting for the %s of CloudNativePG.", object).For(object),
		conditions.Degraded(corev1api.ReasonClusterNotFound,
			"The %s of CloudNativePG does not exist. %s", object, adviceForMissing(dojo)).For(object))
}

func adviceForMissing(dojo *corev1api.Dojo) string {
	known := dojo.Status.Database
	if known == nil || known.Login == "" {
		return "Create the Cluster; the Dojo then continues automatically."
	}
	return fmt.Sprintf("It had the data of this Dojo in the database %s. Restore the Cluster from its backup under this "+
		"name; the Dojo then continues automatically. A new Cluster would give the Dojo an empty database.", known.Name)
}

// halted reports whether CloudNativePG has stopped reconciling a Cluster: failed instances stay,
// and the status may be old (Reconcile in internal/controller/cluster_controller.go).
func halted(live *cnpgv1.Cluster) bool {
	return slices.Contains([]string{
		cnpgv1.PhaseUnknownPlugin, cnpgv1.PhaseFailurePlugin, cnpgv1.PhaseImageCatalogError,
		cnpgv1.PhaseCannotCreateClusterObjects, cnpgv1.PhaseDefinitionInvalid, cnpgv1.PhaseArchitectureBinaryMissing,
	}, live.Status.Phase)
}

func waitForCloudNativePG(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in Input) *conditions.Issue {
	object := fmt.Sprintf("reconciliation of the Cluster %s/%s by CloudNativePG", live.Namespace, live.Name)
	message := conditions.Truncated(fmt.Sprintf("CloudNativePG does not reconcile the Cluster %s/%s and does not "+
		"replace its failed instances: %s. %s", live.Namespace, live.Name, live.Status.Phase, live.Status.PhaseReason))
	return conditions.WaitUntil(in.Now, dojo.WaitingSince(object, in.Now), in.ProgressDeadline,
		conditions.Progressing(corev1api.ReasonWaitingForCluster, "%s", message).For(object),
		conditions.Degraded(corev1api.ReasonClusterNotReady,
			"%s See `kubectl describe clusters.postgresql.cnpg.io %s -n %s`. If the error names a plugin, correct "+
				"spec.postgres.cluster.backup.",
			message, live.Name, live.Namespace).For(object))
}

// waitForPrimary does not restart its deadline at a write of the Cluster: CloudNativePG rewrites a
// failing Cluster every second (targetPrimary in internal/controller/cluster_status.go).
func waitForPrimary(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in Input) *conditions.Issue {
	waiting := progress(dojo, live)
	if live.Status.CurrentPrimary != "" { // otherwise the Cluster never had a primary
		waiting.Message = Unreachable(dojo, live) + " " + waiting.Message
	}
	object := fmt.Sprintf("instances of the Cluster %s/%s", live.Namespace, live.Name)
	since := cnpg.Latest(cnpg.ReadySince(live), dojo.WaitingSince(object, in.Now))
	return conditions.WaitUntil(in.Now, since, in.Deadline, waiting.For(object), notReady(live, waiting, in).For(object))
}

// waitForStandbys does not restart its deadline at a write of the status, because each failed join
// of a standby writes the status.
func waitForStandbys(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in Input) *conditions.Issue {
	waiting := progress(dojo, live)
	object := fmt.Sprintf("standbys of the Cluster %s/%s", live.Namespace, live.Name)
	since := cnpg.Latest(cnpg.ReadySince(live), cnpg.LastSpecWrite(live), dojo.WaitingSince(object, in.Now))
	return conditions.WaitUntil(in.Now, since, in.Deadline, waiting.For(object), notReady(live, waiting, in).For(object))
}

func notReady(live *cnpgv1.Cluster, waiting *conditions.Issue, in Input) *conditions.Issue {
	if cnpg.Hibernates(live) { // if the Cluster's Dojo is deleted, nothing resumes the Cluster
		return hibernated(live)
	}
	return conditions.Degraded(corev1api.ReasonClusterNotReady,
		"%s It has been like this for more than %s. See `kubectl describe clusters.postgresql.cnpg.io %s -n %s` and its "+
			"pods.",
		waiting.Message, in.Deadline, live.Name, live.Namespace)
}

func progress(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster) *conditions.Issue {
	phase := ""
	if cluster.Status.Phase != "" {
		phase = ": " + cluster.Status.Phase
	}
	return conditions.Progressing(corev1api.ReasonWaitingForCluster,
		"%d of %d instances of the Cluster %s/%s are ready%s.",
		cluster.Status.ReadyInstances, cluster.Spec.Instances, dojo.Namespace, cnpg.ClusterName(dojo), phase)
}

// WaitForHibernation blocks until the Cluster of a suspended Dojo is hibernated.
func WaitForHibernation(dojo *corev1api.Dojo, s State, in Input) cnpg.Step {
	switch live := s.Live; {
	case live == nil:
		return cnpg.Step{}
	case ShouldHibernate(s, in):
		return cnpg.Blocked(hibernation(dojo, live, in.Input))
	case len(s.Others) > 0:
		return cnpg.Blocked(inUseSuspended(live.Name, s.Others))
	}
	if in.Stopped {
		return cnpg.Blocked(conditions.Progressing(corev1api.ReasonSuspending,
			"Waiting for the Backup %s to end, before the Cluster %s/%s is hibernated.",
			in.Backup, dojo.Namespace, s.Live.Name).After(in.Deadline))
	}
	object := fmt.Sprintf("pods to end, before the Cluster %s/%s is hibernated", dojo.Namespace, s.Live.Name)
	message := fmt.Sprintf("Waiting for the %s: %s", object, in.Running)
	return cnpg.Blocked(conditions.WaitUntil(in.Now, dojo.WaitingSince(object, in.Now), in.Deadline,
		conditions.Progressing(corev1api.ReasonSuspending, "%s.", message).For(object),
		conditions.Degraded(corev1api.ReasonSuspending,
			"%s. It has been like this for more than %s. See `kubectl dojo tree %s -n %s`, and check that the pod's "+
				"node is Ready.",
			message, in.Deadline, dojo.Name, dojo.Namespace).For(object)))
}

// hibernation returns an issue until the Cluster is hibernated. This may take long, because
// CloudNativePG hibernates only a healthy Cluster.
func hibernation(dojo *corev1api.Dojo, cluster *cnpgv1.Cluster, in cnpg.Input) *conditions.Issue {
	condition := meta.FindStatusCondition(cluster.Status.Conditions, cnpg.HibernationAnnotation)
	if cnpg.Hibernates(cluster) && condition != nil && condition.Status == metav1.ConditionTrue {
		return nil
	}
	object := fmt.Sprintf("hibernation of the Cluster %s/%s", cluster.Namespace, cluster.Name)
	message := fmt.Sprintf("Waiting for the %s: %d instances are still ready", object, cluster.Status.ReadyInstances)
	if condition != nil {
		message = fmt.Sprintf("Waiting for the %s: %s", object, condition.Message)
	}
	return conditions.WaitUntil(in.Now, dojo.WaitingSince(object, in.Now), in.Deadline,
		conditions.Progressing(corev1api.ReasonSuspending, "%s.", message).For(object),
		conditions.Degraded(corev1api.ReasonClusterNotReady,
			"%s. It has been like this for more than %s. "+
				"See `kubectl describe clusters.postgresql.cnpg.io %s -n %s` and its pods.",
			message, in.Deadline, cluster.Name, cluster.Namespace).For(object))
}
