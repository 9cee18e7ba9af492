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
	"jutsu.com/operators/dojo-operator/internal/release"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Config has the operator's flags, grouped by the package that uses them.
type Config struct {
	Postgres    postgres.Config
	Credentials credentials.Config
	Release     release.Config
	Workload    workload.Config
	Exposure    exposure.Config
	Monitoring  monitoring.Config
}

// State has the observed objects, grouped by the package that uses them.
type State struct {
	Postgres    postgres.State
	Credentials credentials.State
	Release     release.State
	Workload    workload.State
	Exposure    exposure.State
	Monitoring  monitoring.State
}

// Plan plans all writes for a Dojo. If one part fails, Plan still plans the parts that do not
// depend on it. But a blockingIssue forbids all writes except [monitoring.Safeguards].
func Plan(dojo *corev1api.Dojo, s State, cfg Config) apply.Plan {
	guards := monitoring.Safeguards(dojo, s.Monitoring, cfg.Monitoring)
	if dojo.DeletionTimestamp != nil {
		return apply.Join(planDeletion(dojo, s, cfg), guards)
	}
	if issue := blockingIssue(dojo, s); issue != nil {
		return apply.Join(apply.Plan{Issues: ofAllParts(*issue)}, guards)
	}
	database := postgres.Plan(dojo, s.Postgres, cfg.Postgres)
	access := credentials.Plan(dojo, s.Credentials, database.Usable(s.Credentials.Own != nil), cfg.Credentials)
	secret := workload.Credentials{
		SecretName: credentials.Name(dojo), Keys: access.Keys, Optional: credentials.Optional(dojo),
		Revision: access.Revision,
	}
	step := release.Plan(dojo, s.Release, releaseInput(dojo, s, &database, secret, cfg), cfg.Release)
	hold := workload.Hold{Image: database.Migrating(), Pods: step.Hold}
	if known := dojo.Status.Release; known != nil {
		hold.Serving = known.Image
	}
	app := workload.Plan(dojo, s.Workload, secret, hold, cfg.Workload)
	var outside apply.Plan
	if workload.Served(s.Workload, secret) {
		service := exposure.Service{PortName: workload.PortName, Port: workload.ServicePort}
		outside = exposure.Plan(dojo, s.Exposure, service, cfg.Exposure)
	}
	alerts := monitoring.Plan(dojo, s.Monitoring, workload.PortName, cfg.Monitoring)
	return apply.Join(apply.Plan{Finalizers: planFinalizers(dojo, s)}, database.Plan, access.Plan, step.Plan, app,
		outside, alerts)
}

// releaseInput returns the input of the release step. The step bypasses the Pooler, because goose's
// advisory lock needs a session.
func releaseInput(
	dojo *corev1api.Dojo, s State, database *postgres.Database, secret workload.Credentials, cfg Config,
) release.Input {
	in := release.Input{
		Ready: database.Usable(false) && secret.Revision != "", Revision: secret.Revision, Keys: secret.Keys,
		Stopped: dojo.Spec.Suspend || postgres.UpgradeStep(dojo, s.Postgres) != "",
	}
	if dojo.Spec.Postgres != nil {
		in.Host = cnpg.Host(dojo)
	}
	if step := dojo.Spec.Release; step != nil && step.Command != nil {
		in.Command = workload.CommandPod(dojo, secret, release.ContainerName, step.Command, cfg.Workload)
	}
	return in
}

// blockingIssue returns the name conflict that blocks all parts of a Dojo, or nil.
func blockingIssue(dojo *corev1api.Dojo, s State) *conditions.Issue {
	return cmp.Or(s.Credentials.Conflict(dojo), s.Workload.Conflict(dojo))
}

func ofAllParts(issue conditions.Issue) (all []conditions.Issue) {
	for _, part := range []string{"", corev1api.ConditionDatabaseReady, corev1api.ConditionAlertsReady} {
		issue.Part = part
		all = append(all, issue)
	}
	return all
}

// planFinalizers returns nil for no change. After a change to Retain, the finalizer stays until all
// objects with data are marked as retained.
func planFinalizers(dojo *corev1api.Dojo, s State) []string {
	switch desired, present := cnpg.Reclaims(dojo), hasFinalizer(dojo); {
	case desired && !present:
		return append(slices.Clone(dojo.Finalizers), corev1api.DatabaseFinalizer)
	case !desired && present && postgres.Kept(dojo, s.Postgres):
		return withoutFinalizer(dojo)
	}
	return nil
}
