// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"cmp"
	"slices"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/exposure"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Config is what the operator's flags say, per part.
type Config struct {
	Postgres    postgres.Config
	Credentials credentials.Config
	Workload    workload.Config
	Exposure    exposure.Config
	Monitoring  monitoring.Config
}

// State is everything that a decision about a Dojo rests on.
type State struct {
	Postgres    postgres.State
	Credentials credentials.State
	Workload    workload.State
	Exposure    exposure.State
	Monitoring  monitoring.State
}

// Plan is what has to be done so that a Dojo matches its spec. What goes wrong with one part does
// not stop the others: a Dojo whose credentials are gone can still be scaled.
func Plan(d *corev1api.Dojo, s State, cfg Config) apply.Plan {
	guards := monitoring.Safeguards(d, s.Monitoring, cfg.Monitoring)
	if d.DeletionTimestamp != nil {
		return apply.Join(planDeletion(d, s, cfg), guards) // stop, back up, drop
	}
	if issue := blocked(d, s); issue != nil {
		return apply.Join(apply.Plan{Issues: ofAllParts(*issue)}, guards)
	}
	database := postgres.Plan(d, s.Postgres, cfg.Postgres)
	access := credentials.Plan(d, s.Credentials, database.Usable(s.Credentials.Own != nil), cfg.Credentials)
	secret := workload.Credentials{
		SecretName: credentials.Name(d), Keys: credentials.Keys, Optional: credentials.Optional(d), Revision: access.Revision,
	}
	app := workload.Plan(d, s.Workload, secret, database.Migrating(), cfg.Workload)
	var outside apply.Plan
	if workload.Served(s.Workload, secret) {
		service := exposure.Service{PortName: workload.PortName, Port: workload.ServicePort}
		outside = exposure.Plan(d, s.Exposure, service, cfg.Exposure)
	}
	alerts := monitoring.Plan(d, s.Monitoring, workload.PortName, cfg.Monitoring)
	return apply.Join(apply.Plan{Finalizers: planFinalizers(d, s)}, database.Plan, access.Plan, app, outside, alerts)
}

// blocked is why nothing but the safeguards is done about a Dojo: a foreign object has the name of a child that
// it cannot do without.
func blocked(d *corev1api.Dojo, s State) *conditions.Issue {
	if d.Spec.Database == corev1api.DatabaseMongo {
		return conditions.Degraded(corev1api.ReasonDatabaseNotSupported,
			"spec.database Mongo is not supported yet; what runs is left as it is. Use Postgres.")
	}
	return cmp.Or(s.Credentials.Conflict(d), s.Workload.Conflict(d))
}

func ofAllParts(issue conditions.Issue) (all []conditions.Issue) {
	for _, part := range []string{"", corev1api.ConditionDatabaseReady, corev1api.ConditionAlertsReady} {
		issue.Part = part
		all = append(all, issue)
	}
	return all
}

// planFinalizers returns the finalizers that a Dojo should have, nil where it has them. One whose
// data outlives it needs none: nothing that holds data is owned, so the garbage collector leaves it
// alone. Where it has been to be deleted, the finalizer stays until nothing is left of that.
func planFinalizers(d *corev1api.Dojo, s State) []string {
	switch desired, present := cnpg.Reclaims(d), finalizes(d); {
	case desired && !present:
		return append(slices.Clone(d.Finalizers), corev1api.DatabaseFinalizer)
	case !desired && present && postgres.Kept(d, s.Postgres):
		return withoutFinalizer(d)
	}
	return nil
}
