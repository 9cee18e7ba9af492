// SPDX-License-Identifier: Apache-2.0

// Package cluster runs the Cluster of CloudNativePG that holds a Dojo's database: it writes the Dojo's
// own, waits for its primary, hibernates it and deletes it. One of another owner is only waited for.
package cluster

import (
	"cmp"
	"slices"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Input is what a plan for the Cluster rests on beside its State.
type Input struct {
	cnpg.Input
	Images cnpg.Images
	// Changes are those that other steps make of the Cluster that the spec asks for.
	Changes []cnpg.Change
	// Filling is the issue while data from elsewhere fills the Cluster; nil when none does.
	Filling *conditions.Issue
	// Incomplete is the issue that the steps before have reported.
	Incomplete *conditions.Issue
	// Stopped reports whether nothing uses Postgres, Running describes what does; Idle deletes the Jobs
	// whose SQL has not begun.
	Stopped bool
	Running string
	Idle    []apply.Deletion
}

// Plan creates the Dojo's own Cluster and blocks until it comes up, or writes what the spec changes.
func Plan(d *corev1api.Dojo, s State, in Input) cnpg.Step {
	step := write(d, s, in, in.Changes...)
	if s.Live == nil {
		instances := int(*d.Spec.Postgres.Cluster.Instances)
		step.Blocks = progress(d, &cnpgv1.Cluster{Spec: cnpgv1.ClusterSpec{Instances: instances}})
	} else if len(step.Apply) > 0 {
		step.Incomplete = progress(d, s.Live)
	}
	return step
}

// write writes the Dojo's own Cluster where it is not as desired.
func write(d *corev1api.Dojo, s State, in Input, changes ...cnpg.Change) cnpg.Step {
	desired := For(d, s.Live, in.Images)
	for _, change := range changes {
		change.Make(desired)
	}
	o := cnpg.After(d, cnpg.Owner, cnpg.Sync(in.Input, s.Live, desired))
	if o != nil {
		o.Invalid = refused()
	}
	return cnpg.Write(o)
}

// VersionTooLow is the issue with a version that does not open the data of the Cluster; nil where it
// does, or where an image does not say its version.
func VersionTooLow(d *corev1api.Dojo, live *cnpgv1.Cluster, images cnpg.Images) *conditions.Issue {
	if live == nil {
		return nil
	}
	wants, _, has := cnpg.Majors(d, live, images)
	if wants == 0 || wants >= has {
		return nil
	}
	image := cnpg.ImageFor(d.Spec.Postgres.Cluster, live, images)
	return conditions.Degraded(corev1api.ReasonVersionTooLow,
		"The data of the Cluster %s/%s is of Postgres %d, which the image %s does not open, so the Cluster is not changed. "+
			"Name %d or a higher version in spec.postgres.cluster.", d.Namespace, live.Name, has, image, has)
}

// PlanHibernation hibernates the Cluster of a suspended Dojo as soon as nothing uses it.
func PlanHibernation(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if s.Live == nil {
		return step
	}
	changes := in.Changes
	if Sleeps(s, in.Stopped) {
		changes = append(slices.Clone(changes), cnpg.Change{
			Annotations: map[string]string{cnpg.HibernationAnnotation: cnpg.HibernationOn},
		})
	} else {
		step.Delete = in.Idle
	}
	return step.Then(write(d, s, in, changes...))
}

// Sleeps reports whether the Cluster of a suspended Dojo is to be hibernated. Without our annotation the
// Cluster runs, unless another client has set it.
func Sleeps(s State, stopped bool) bool {
	return s.Live != nil && (cnpg.Hibernates(s.Live) || stopped && len(s.Others) == 0)
}

// Wake lets the Cluster of a suspended Dojo run again for the final backup: nothing where another client
// has hibernated it.
func Wake(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !cnpg.HibernatedByUs(s.Live) {
		return step
	}
	desired := For(d, s.Live, in.Images)
	for _, change := range in.Changes {
		change.Make(desired)
	}
	step = cnpg.Write(cnpg.Sync(in.Input, s.Live, desired))
	step.Blocks = conditions.Progressing(corev1api.ReasonTakingFinalBackup,
		"Waiting until the Cluster %s/%s, which is hibernated, runs again for the final backup.",
		d.Namespace, s.Live.Name)
	return step
}

// Drop deletes the Dojo's own Cluster.
func Drop(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !ownership.Holds(d, s.Live) {
		return step
	}
	return cnpg.Removal{Kind: cnpg.ClusterKind.Kind, Live: s.Live}.Drop(in.Input)
}

// Conflict is the issue with a foreign object that has the name of one of the Dojo's own Cluster; nil
// without one.
func Conflict(d *corev1api.Dojo, s State) (issue *conditions.Issue) {
	for _, budget := range s.Budgets {
		if budget != nil && ownership.ByDojo(budget) { // not one that a former Cluster has left
			issue = cmp.Or(issue, ownership.NameConflict(d, "PodDisruptionBudget", budget))
		}
	}
	return cmp.Or(issue, ownership.DataConflict(d, cnpg.ClusterKind.Kind, s.Live))
}
