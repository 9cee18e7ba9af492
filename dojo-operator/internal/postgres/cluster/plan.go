// SPDX-License-Identifier: Apache-2.0

// Package cluster writes, hibernates and deletes a Dojo's own Cluster, or awaits a foreign Cluster.
package cluster

import (
	"cmp"
	"slices"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Input is the input of a plan for the Cluster.
type Input struct {
	cnpg.Input
	Images  images.Input
	Changes []cnpg.Change
	// Unsized reports whether spec.postgres.cluster.size names no valid preset. Then the spec lacks
	// the size's values, and the Cluster keeps the values that it has.
	Unsized bool
	// Filling is the issue of a restore or an import, Incomplete the issue of the preceding steps.
	Filling    *conditions.Issue
	Incomplete *conditions.Issue
	// Running describes the pods that use Postgres. Idle deletes Jobs that could still begin SQL.
	Stopped bool
	Running string
	Idle    []apply.Deletion
	// Backup names a Backup that a hibernation would make fail.
	Backup string
}

// Plan writes the Dojo's own Cluster. The creation of a Cluster blocks the later steps; a change
// does not.
func Plan(dojo *corev1api.Dojo, s State, in Input) cnpg.Step {
	step := write(dojo, s, in, in.Changes...)
	if s.Live == nil {
		instances := int(ptr.Deref(dojo.Spec.Postgres.Cluster.Instances, 1))
		step.Blocks = progress(dojo, &cnpgv1.Cluster{Spec: cnpgv1.ClusterSpec{Instances: instances}})
	} else if len(step.Apply) > 0 {
		step.Incomplete = progress(dojo, s.Live)
	}
	return step
}

func write(dojo *corev1api.Dojo, s State, in Input, changes ...cnpg.Change) cnpg.Step {
	if in.Unsized {
		dojo = KeepLive(dojo, s.Live)
	}
	desired := For(dojo, s.Live, in.Images)
	for _, change := range changes {
		change.Make(desired)
	}
	o := cnpg.After(dojo, cnpg.Owner, cnpg.Sync(in.Input, s.Live, desired))
	if o != nil {
		o.Invalid = webhookRefusal()
		o.Pinned = lowersVersion(dojo, s.Live, desired, in.Images)
	}
	return cnpg.Write(o)
}

// lowersVersion reports whether desired names an image of a lower major version than the live
// Cluster. Such a write must fail if pg_upgrade has just replaced the data: CloudNativePG writes
// the new version of the data to the status before it deletes the upgrade's Job
// (majorupgrade/reconciler.go), and the cache may show the deletion first.
func lowersVersion(
	dojo *corev1api.Dojo, live *cnpgv1.Cluster, desired *unstructured.Unstructured, in images.Input,
) bool {
	if live == nil {
		return false
	}
	name, _, _ := unstructured.NestedString(desired.Object, "spec", "imageName")
	_, present, _ := images.Majors(dojo, live, in)
	next := images.Major(images.VersionOf(name))
	return next > 0 && next < present
}

// VersionTooLow returns an issue if the image has an older major version than the Cluster's data.
func VersionTooLow(dojo *corev1api.Dojo, live *cnpgv1.Cluster, in images.Input) *conditions.Issue {
	if live == nil {
		return nil
	}
	wanted, _, data := images.Majors(dojo, live, in)
	if wanted == 0 || wanted >= data {
		return nil
	}
	image := images.For(dojo, live, in)
	return conditions.Degraded(corev1api.ReasonVersionTooLow,
		"The data of the Cluster %s/%s has the format of Postgres %d. The image %s has an older Postgres, which cannot "+
			"read this format, so the Cluster is not changed. Set Postgres %d in spec.postgres.cluster. A higher version "+
			"upgrades the data, and only a restore undoes this.", dojo.Namespace, live.Name, data, image, data)
}

// PlanHibernation hibernates the Cluster of a suspended Dojo once nothing uses it.
func PlanHibernation(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if s.Live == nil {
		return step
	}
	changes := in.Changes
	if ShouldHibernate(s, in) {
		changes = append(slices.Clone(changes), cnpg.Change{
			Annotations: map[string]string{cnpg.HibernationAnnotation: cnpg.HibernationOn},
		})
	} else {
		step.Delete = in.Idle
	}
	return step.Then(write(dojo, s, in, changes...))
}

// ShouldHibernate reports whether the Cluster of a suspended Dojo should be hibernated.
func ShouldHibernate(s State, in Input) bool {
	return s.Live != nil && !StaysUp(s) && (cnpg.Hibernates(s.Live) || in.Stopped && in.Backup == "")
}

// StaysUp reports whether the Cluster of a suspended Dojo runs for others. The operator then ends a
// hibernation that it began, but not a user's hibernation.
func StaysUp(s State) bool {
	return s.Live != nil && len(s.Others) > 0 && (!cnpg.Hibernates(s.Live) || cnpg.HibernatedByUs(s.Live))
}

// Wake resumes a Cluster that the operator has hibernated, for the final backup. It does not apply
// changes of the Dojo's spec.
func Wake(dojo *corev1api.Dojo, s State, in cnpg.Input) (step cnpg.Step) {
	if !cnpg.HibernatedByUs(s.Live) {
		return step
	}
	desired := &unstructured.Unstructured{Object: apply.Owned(ownership.FieldOwner, s.Live)}
	desired.SetGroupVersionKind(cnpg.ClusterKind.GroupVersionKind)
	desired.SetNamespace(s.Live.Namespace)
	desired.SetName(s.Live.Name)
	unstructured.RemoveNestedField(desired.Object, "metadata", "annotations", cnpg.HibernationAnnotation)
	step = cnpg.Write(cnpg.Sync(in, s.Live, desired))
	step.Blocks = conditions.Progressing(corev1api.ReasonTakingFinalBackup,
		"Waiting until the hibernated Cluster %s/%s runs again for the final backup.",
		dojo.Namespace, s.Live.Name)
	return step
}

// Drop deletes the Dojo's own Cluster.
func Drop(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !ownership.Holds(dojo, s.Live) {
		return step
	}
	return cnpg.Removal{Kind: cnpg.ClusterKind.Kind, Live: s.Live}.Drop(in.Input)
}

// Conflict returns an issue if a foreign object has a name that the Dojo's Cluster needs.
func Conflict(dojo *corev1api.Dojo, s State) (issue *conditions.Issue) {
	for _, budget := range s.Budgets {
		// A PodDisruptionBudget of a Dojo is a conflict. Any other budget may belong to
		// CloudNativePG.
		if budget != nil && ownership.ByDojo(budget) {
			issue = cmp.Or(issue, ownership.NameConflict(dojo, "PodDisruptionBudget", budget))
		}
	}
	return cmp.Or(issue, ownership.DataConflict(dojo, cnpg.ClusterKind.Kind, s.Live))
}
