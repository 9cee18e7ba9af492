package postgres

import (
	"fmt"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// hibernation is CloudNativePG's annotation that stops the instances of a Cluster: "on" or "off".
const hibernation = "cnpg.io/hibernation"

// cluster brings up the Cluster where the Dojo has one of its own, and waits for its primary.
func (w *way) cluster() *conditions.Issue {
	d, live := w.dojo, w.state.Cluster
	own := d.Spec.Postgres.Cluster
	if own != nil {
		c := sync(w.state, live, clusterFor(d, w.config))
		w.write(c)
		w.schedule()
		if live == nil {
			return waitForInstances(d, &cnpgv1.Cluster{Spec: cnpgv1.ClusterSpec{Instances: int(*own.Instances)}})
		}
		if c != nil {
			w.incomplete = waitForInstances(d, live)
		}
	}
	if live == nil {
		return w.clusterMissing()
	}
	switch waiting := waitForInstances(d, live); {
	case hibernates(live):
		return conditions.Degraded(corev1api.ReasonClusterHibernated,
			"The Cluster %s/%s is hibernated. Resume it with `kubectl annotate cluster %s %s-`.",
			d.Namespace, live.Name, live.Name, hibernation)
	case !up(live):
		return w.clusterDeadline(waiting)
	case own != nil && live.Status.ReadyInstances < live.Spec.Instances:
		w.incomplete = w.clusterDeadline(waiting)
	}
	return nil
}

func (w *way) clusterMissing() *conditions.Issue {
	object := fmt.Sprintf("Cluster %s/%s", w.dojo.Namespace, cnpg.ClusterName(w.dojo))
	return conditions.WaitUntil(w.state.Now, w.dojo.WaitingSince(object, w.state.Now), w.config.Deadline,
		conditions.Progressing(corev1api.ReasonWaitingForCluster,
			"Waiting for the %s of CloudNativePG.", object).For(object),
		conditions.Degraded(corev1api.ReasonClusterNotFound,
			"The %s of CloudNativePG does not exist. Create it; the Dojo then continues automatically.", object).For(object))
}

func waitForInstances(d *corev1api.Dojo, c *cnpgv1.Cluster) *conditions.Issue {
	phase := ""
	if c.Status.Phase != "" {
		phase = ": " + c.Status.Phase
	}
	return conditions.Progressing(corev1api.ReasonWaitingForCluster,
		"%d of %d instances of the Cluster %s/%s are ready%s.",
		c.Status.ReadyInstances, c.Spec.Instances, d.Namespace, cnpg.ClusterName(d), phase)
}

func (w *way) clusterDeadline(waiting *conditions.Issue) *conditions.Issue {
	live := w.state.Cluster
	return conditions.WaitUntil(w.state.Now, latest(readySince(live), lastWritten(live)), w.config.Deadline, waiting,
		conditions.Degraded(corev1api.ReasonClusterNotReady,
			"%s Nothing has changed for %s. See `kubectl describe cluster %s` and its pods.",
			waiting.Message, w.config.Deadline, live.Name))
}

// clusterFor is the Cluster of a Dojo that has one of its own. Nothing empty may be sent:
// CloudNativePG compares some fields with what the API server made of them, and would restart the
// primary for ever.
func clusterFor(d *corev1api.Dojo, cfg Config) *unstructured.Unstructured {
	want := d.Spec.Postgres.Cluster
	storage := map[string]any{"size": want.Storage.Size.String()}
	if class := want.Storage.StorageClassName; class != "" {
		storage["storageClass"] = class
	}
	spec := map[string]any{
		"description": fmt.Sprintf("database of Dojo %s/%s", d.Namespace, d.Name),
		"instances":   int64(ptr.Deref(want.Instances, 1)),
		"storage":     storage,
	}
	switch {
	case want.ImageName != "":
		spec["imageName"] = want.ImageName
	case want.Version != "":
		spec["imageName"] = cfg.Image + ":" + want.Version
	}
	if resources := apply.As[map[string]any](want.Resources); len(resources) > 0 {
		spec["resources"] = resources
	}
	addBackup(spec, want.Backup)
	return ownership.Data(d, cnpg.ClusterKind.GroupVersionKind, cnpg.ObjectName(d), spec)
}

func hibernates(c *cnpgv1.Cluster) bool { return c.Annotations[hibernation] == "on" }

// up reports whether Postgres can be reached. The Ready condition does not: it stays True in
// hibernation.
func up(c *cnpgv1.Cluster) bool {
	return c != nil && c.Status.ReadyInstances > 0 && c.Status.CurrentPrimary != "" && !hibernates(c)
}

// readySince is when the Ready condition of a Cluster last flipped.
func readySince(c *cnpgv1.Cluster) time.Time {
	if ready := meta.FindStatusCondition(c.Status.Conditions, string(cnpgv1.ConditionClusterReady)); ready != nil {
		return latest(c.CreationTimestamp.Time, ready.LastTransitionTime.Time)
	}
	return c.CreationTimestamp.Time
}

// Strip leaves of a foreign Cluster its identity, and what a Dojo in it has to know.
func Strip(c *cnpgv1.Cluster) {
	was := *c
	ownership.Strip(c)
	c.Spec.Instances = was.Spec.Instances
	if value, ok := was.Annotations[hibernation]; ok {
		c.Annotations = map[string]string{hibernation: value}
	}
	c.Status = cnpgv1.ClusterStatus{
		Phase: was.Status.Phase, Image: was.Status.Image, CurrentPrimary: was.Status.CurrentPrimary,
		ReadyInstances: was.Status.ReadyInstances, Conditions: was.Status.Conditions,
	}
}
