// SPDX-License-Identifier: Apache-2.0

// Package database creates, keeps and drops a Dojo's database, and creates its extensions. The login
// [cnpg.Owner] owns the database.
package database

import (
	"fmt"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Input is the input of a plan for the database.
type Input struct {
	cnpg.Input
	Cluster  *cnpgv1.Cluster
	Password *metav1.PartialObjectMetadata
	Record   map[string]string
}

// Plan writes the Database object and waits until Postgres has the database.
func Plan(dojo *corev1api.Dojo, s State, in Input) cnpg.Step {
	what := "the database " + cnpg.SQLName(dojo)
	step := cnpg.Write(cnpg.After(dojo, cnpg.Owner, cnpg.Sync(in.Input, s.Live, For(dojo, in.Record))))
	if len(step.Apply) > 0 {
		step.Blocks = cnpg.Waiting(corev1api.ReasonCreatingDatabase, what)
		return step
	}
	if s.Live.DeletionTimestamp != nil && cnpg.Reclaims(dojo) {
		return cnpg.Blocked(conditions.Degraded(corev1api.ReasonDatabaseFailed,
			"Another client has deleted the Database %s/%s. Once no client is connected to %s, CloudNativePG drops it with "+
				"all data. To keep the data, run `%s` now. The operator then creates the Database again.",
			s.Live.Namespace, s.Live.Name, what, cnpg.RetainCommand(dojo)))
	}
	reported := cnpg.Report{
		Applied: s.Live.Status.Applied, Current: s.Live.Status.ObservedGeneration == s.Live.Generation,
		Message: failure(s.Live),
	}
	return cnpg.Blocked(cnpg.Pending{
		Object: s.Live, Kind: cnpg.DatabaseKind.Kind, Report: reported, Reason: corev1api.ReasonCreatingDatabase, What: what,
		Cluster: in.Cluster, Password: in.Password,
	}.Wait(in.Input))
}

// Record writes the record of the SQL that has run.
func Record(dojo *corev1api.Dojo, s State, record map[string]string) cnpg.Step {
	o := apply.Write(ownership.FieldOwner, s.Live, For(dojo, record))
	o.Drift = false // the operator adds the record; no client has changed it
	o.Pinned = true // the write fails if a client has just removed the record, to run the SQL again
	return cnpg.Write(cnpg.After(dojo, cnpg.Owner, o))
}

// Keep sets the reclaim policy of the database to retain.
func Keep(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !holds(dojo, s.Live) {
		return step
	}
	return cnpg.Write(cnpg.Sync(in.Input, s.Live, For(dojo, in.Record)))
}

// Drop deletes the database. readable reports whether the kind Database can be read.
func Drop(dojo *corev1api.Dojo, s State, in Input, readable bool) (step cnpg.Step) {
	switch hibernates := in.Cluster != nil && cnpg.Hibernates(in.Cluster); {
	case !holds(dojo, s.Live) && in.Cluster != nil && !readable:
		return cnpg.Blocked(cnpg.MissingKind(cnpg.DatabaseKind, fmt.Sprintf(
			"the database %s in the Cluster %s/%s cannot be deleted", cnpg.SQLName(dojo), dojo.Namespace, in.Cluster.Name),
			"or set spec.postgres.reclaimPolicy to Retain"))
	case !holds(dojo, s.Live):
		return step
	case hibernates:
		return cnpg.Blocked(conditions.Degraded(corev1api.ReasonClusterHibernated,
			"The Cluster %s/%s is hibernated, so no database in it can be deleted. Resume it with `%s`, or set "+
				"spec.postgres.reclaimPolicy to Retain.",
			dojo.Namespace, in.Cluster.Name, cnpg.Resume(in.Cluster)))
	}
	return cnpg.Removal{
		Kind: cnpg.DatabaseKind.Kind, Live: s.Live, Message: s.Live.Status.Message, Desired: For(dojo, in.Record),
	}.Drop(in.Input)
}

// holds is false for a Database in another Cluster: a former Dojo of this name had that Database.
func holds(dojo *corev1api.Dojo, db *cnpgv1.Database) bool {
	return ownership.Holds(dojo, db) && db.Spec.ClusterRef.Name == cnpg.ClusterName(dojo)
}

// For returns the desired Database. Its annotations are the record of the SQL that has run.
func For(dojo *corev1api.Dojo, record map[string]string) *unstructured.Unstructured {
	spec := map[string]any{
		"cluster":               map[string]any{"name": cnpg.ClusterName(dojo)},
		"name":                  cnpg.SQLName(dojo),
		"owner":                 cnpg.SQLName(dojo),
		"databaseReclaimPolicy": cnpg.ReclaimPolicy(dojo),
	}
	if all := extensions(dojo); all != nil {
		spec["extensions"] = all
	}
	db := ownership.Data(dojo, cnpg.DatabaseKind.GroupVersionKind, cnpg.ObjectName(dojo), spec)
	db.SetAnnotations(record)
	return db
}

func extensions(dojo *corev1api.Dojo) (all []any) {
	if own := dojo.Spec.Postgres.Cluster; own != nil {
		for _, name := range own.Extensions {
			all = append(all, map[string]any{"name": string(name), "ensure": string(cnpgv1.EnsurePresent)})
		}
	}
	return all
}

// failure prefers the message of a failed extension, because the Database's message lacks it.
func failure(db *cnpgv1.Database) string {
	for _, extension := range db.Status.Extensions {
		if !extension.Applied {
			return fmt.Sprintf("the extension %s of spec.postgres.cluster.extensions: %s", extension.Name,
				strings.TrimSuffix(extension.Message, "."))
		}
	}
	return db.Status.Message
}
