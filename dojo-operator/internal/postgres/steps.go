// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/backup"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/database"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/dojo-operator/internal/postgres/upgrade"
	"jutsu.com/operators/libs/conditions"
)

type input struct {
	cnpg.Input
	dojo   *corev1api.Dojo
	state  State
	config Config
	// source is the login that the application should use. The field before is the joined result
	// of the preceding steps.
	databaseID string
	source     cnpg.Login
	before     cnpg.Step
}

func newInput(dojo *corev1api.Dojo, s State, cfg Config) input {
	databaseID := databaseIDOf(s)
	return input{
		Input: cnpg.Input{
			Now: s.Now, Deadline: cfg.Deadline, ProgressDeadline: cfg.ProgressDeadline, Unchanged: s.Unchanged,
		},
		dojo: dojo, state: s, config: cfg, databaseID: databaseID, source: login.Source(dojo, s.Login, databaseID),
	}
}

func databaseIDOf(s State) string {
	if s.Cluster.Live == nil || s.Database.Live == nil {
		return ""
	}
	return string(s.Cluster.Live.UID + "/" + s.Database.Live.UID)
}

func checkInstalled(in input) cnpg.Step {
	if len(in.state.Missing) == 0 {
		return cnpg.Blocked(Unreadable(in.dojo, in.state, in.config))
	}
	return cnpg.Blocked(conditions.Degraded(corev1api.ReasonCloudNativePGNotInstalled,
		"spec.postgres needs CloudNativePG 1.30 or newer, but this cluster does not have its kind %s. "+
			"Install or upgrade CloudNativePG (https://cloudnative-pg.io); the Dojo then continues automatically.",
		in.state.Missing[0]))
}

func checkNames(in input) cnpg.Step {
	dojo, s := in.dojo, in.state
	issue := cmp.Or(login.Conflict(dojo, s.Login), ownership.DataConflict(dojo, cnpg.DatabaseKind.Kind, s.Database.Live))
	if dojo.Spec.Postgres.Cluster != nil {
		issue = cmp.Or(issue, cluster.Conflict(dojo, s.Cluster),
			ownership.DataConflict(dojo, cnpg.ScheduleKind.Kind, s.Backup.Schedule))
	}
	if job := ownership.NameConflict(dojo, "Job", s.Schema.SameName); issue == nil && job != nil {
		issue = job.After(time.Minute) // the deletion of a foreign Job causes no reconcile
	}
	return cnpg.Blocked(issue)
}

func (in input) bootstrap() bootstrap.Input {
	return bootstrap.Input{
		Input: in.Input, Cluster: in.state.Cluster.Live, Database: in.state.Database.Live,
		Connected: in.state.Login.Connected,
	}
}

func planBootstrap(in input) cnpg.Step {
	return bootstrap.Plan(in.dojo, in.state.Bootstrap, in.bootstrap()).Step
}

func checkData(in input) cnpg.Step {
	return cnpg.Blocked(cmp.Or(bootstrap.Check(in.dojo, in.bootstrap()),
		images.Unknown(in.dojo, in.state.Cluster.Live, in.state.images()),
		cluster.VersionTooLow(in.dojo, in.state.Cluster.Live, in.state.images())))
}

func (in input) cluster(changes ...cnpg.Change) cluster.Input {
	s := in.state
	return cluster.Input{
		Input: in.Input, Images: in.state.images(), Changes: changes, Incomplete: in.before.Incomplete,
		Unsized: s.Unsized != nil, Stopped: unused(s), Running: describeRunning(s), Idle: s.Schema.StopIdle(),
		Backup: s.Backup.Running(in.Now, in.Deadline),
	}
}

func planCluster(in input) cnpg.Step {
	dojo, s := in.dojo, in.state
	if dojo.Spec.Postgres.Cluster == nil {
		return cnpg.Step{}
	}
	if s.Unsized != nil && s.Cluster.Live == nil {
		return cnpg.Blocked(s.Unsized)
	}
	if unknown := images.Unknown(dojo, s.Cluster.Live, in.state.images()); unknown != nil {
		if s.Cluster.Live == nil {
			return cnpg.Blocked(unknown)
		}
		return cnpg.Step{Incomplete: unknown}
	}
	// CloudNativePG would refuse all changes of a Cluster whose image is too old for its data.
	if tooLow := cluster.VersionTooLow(dojo, s.Cluster.Live, in.state.images()); tooLow != nil {
		return cnpg.Step{Incomplete: tooLow}
	}
	data := bootstrap.Plan(dojo, s.Bootstrap, in.bootstrap()).Change
	step := planUpgrade(in)
	again, record := planStatistics(in)
	own := cluster.Plan(dojo, s.Cluster, in.cluster(data, step.Change, record))
	for _, o := range own.Apply {
		for _, last := range slices.Concat(step.Last, again.Apply) {
			o.After = append(o.After, last.Key)
		}
	}
	all := step.With(again).With(own)
	all.Incomplete = cmp.Or(s.Unsized, images.UnknownZone(dojo), all.Incomplete)
	return all
}

func planUpgrade(in input) upgrade.Step {
	dojo, s := in.dojo, in.state
	own := upgrade.Input{
		Input: in.Input, Cluster: s.Cluster.Live, Step: UpgradeStep(dojo, s),
		Running: describeRunning(s), Idle: s.Schema.StopIdle(), Older: s.Backup.Before(s.Upgrade.Backup),
	}
	if own.Step == corev1api.UpgradeVerifying && s.Database.Live != nil { // without a Database there is nothing to query
		id, major := upgrade.Verification(dojo, s.Cluster.Live, s.Upgrade)
		query, failed := schema.PlanVerification(dojo, s.Schema, id, major, in.as(in.source), in.config.schema())
		own.Verification, own.Failed = query.Run(dojo), failed
		if access := in.sourceLogin(); access.Blocks != nil {
			own.Verification, own.Failed = access, ""
		}
		if upgrade.Upgraded(dojo, s.Cluster.Live, s.Upgrade) {
			own.Statistics = schema.Statistics(dojo, s.Schema, id, in.as(in.source), in.config.Users)
		}
	}
	return upgrade.Plan(dojo, s.Upgrade, own)
}

// planStatistics analyzes an upgraded database again if a hibernation has ended the first Job. The
// write of the Cluster that removes the record follows the write of the new Job.
func planStatistics(in input) (again cnpg.Step, record cnpg.Change) {
	s := in.state
	if s.Cluster.Live == nil {
		return again, record
	}
	job, record := schema.StatisticsAgain(in.dojo, s.Schema, s.Cluster.Live, in.as(in.source), in.config.Users)
	return cnpg.Write(job), record
}

// sourceLogin restores the login of the application, because a user may delete its Secret during an
// upgrade.
func (in input) sourceLogin() cnpg.Step {
	step := login.Plan(in.dojo, in.state.Login, in.login(in.source))
	step.PasswordCurrent = false // the application's pods wait for the query
	return step
}

func (in input) backup() backup.Input {
	s := in.state.Cluster
	return backup.Input{Input: in.Input, Cluster: s.Live, Paused: in.dojo.Spec.Suspend && !cluster.StaysUp(s)}
}

// planBackup does not change the ScheduledBackup while an upgrade waits for its backup, because the
// spec may already name a new archive.
func planBackup(in input) cnpg.Step {
	if in.dojo.Spec.Postgres.Cluster == nil || UpgradeStep(in.dojo, in.state) == corev1api.UpgradeBackingUp {
		return cnpg.Step{}
	}
	return backup.Plan(in.dojo, in.state.Backup, in.backup())
}

func waitForCluster(in input) cnpg.Step {
	own := in.cluster()
	own.Filling = bootstrap.Progress(in.dojo, in.state.Cluster.Live, in.state.Bootstrap, in.Now, in.Deadline)
	step, live := cluster.Wait(in.dojo, in.state.Cluster, own), in.state.Cluster.Live
	if step.Blocks == nil || in.dojo.Spec.Postgres.Cluster == nil || own.Filling != nil ||
		live != nil && cnpg.Hibernates(live) && !cnpg.HibernatedByUs(live) {
		return step
	}
	// The operator does not change the Cluster until the version is correct.
	step.Blocks = cmp.Or(images.Unknown(in.dojo, live, in.state.images()),
		cluster.VersionTooLow(in.dojo, live, in.state.images()), step.Blocks)
	return step
}

func (in input) pooler() pooler.Input {
	app := in.state.Application
	return pooler.Input{Input: in.Input, InUse: app.Pooled, Outdated: app.Outdated}
}

func planPooler(in input) cnpg.Step {
	step := pooler.Plan(in.dojo, in.state.Pooler, in.pooler())
	step.Incomplete = nil
	return step
}

func waitForPooler(in input) (step cnpg.Step) {
	issue := pooler.Plan(in.dojo, in.state.Pooler, in.pooler()).Incomplete
	if pooler.Wanted(in.dojo) != nil && !pooler.Answers(in.dojo, in.state.Pooler) {
		return cnpg.Blocked(issue)
	}
	step.Incomplete = cmp.Or(in.before.Incomplete, issue)
	return step
}

func (in input) login(l cnpg.Login) login.Input {
	return login.Input{
		Input: in.Input, Login: l, Cluster: in.state.Cluster.Live, DatabaseID: in.databaseID,
		Outdated: in.state.Application.Outdated,
	}
}

func dropRenamed(in input) cnpg.Step { return login.DropRenamed(in.dojo, in.state.Login) }

func planOwner(in input) cnpg.Step {
	return login.Plan(in.dojo, in.state.Login, in.login(cnpg.Owner))
}

func planSecond(in input) cnpg.Step {
	return login.Plan(in.dojo, in.state.Login, in.login(cnpg.Second))
}

// awaitsBackup reports whether SQL must wait for the backup of an upgrade. The SQL may need the new
// version, and a new Job could lead back to the step Stopping, which deletes Jobs.
func (in input) awaitsBackup(sql schema.Step) bool {
	return sql.Begins() && UpgradeStep(in.dojo, in.state) == corev1api.UpgradeBackingUp
}

func planStatement(in input) cnpg.Step {
	dojo, s := in.dojo, in.state
	id := login.NeedsStatement(dojo, s.Login, in.databaseID)
	if id == "" {
		return cnpg.Step{}
	}
	statement := schema.PlanLogin(dojo, s.Schema, id, in.as(cnpg.Second), in.config.schema())
	if in.awaitsBackup(statement) {
		return cnpg.Blocked(in.before.Incomplete)
	}
	return statement.Run(dojo).Then(login.RecordStatement(dojo, s.Login, in.databaseID))
}

func planRetirement(in input) cnpg.Step {
	return login.PlanRetirement(in.dojo, in.state.Login, in.login(in.source))
}

// checkRestored blocks until a Job has found the database in the restored data. For a Database
// object without a database, CloudNativePG would create an empty database.
func checkRestored(in input) cnpg.Step {
	dojo, s := in.dojo, in.state
	if b := dojo.BootstrapSource(); b == nil || b.Recovery == nil || s.Database.Live != nil {
		return cnpg.Step{}
	}
	clusterUID := string(s.Cluster.Live.UID)
	return schema.PlanCheck(dojo, s.Schema, clusterUID, in.as(in.source), in.config.schema()).Run(dojo)
}

func (in input) database() database.Input {
	return database.Input{
		Input: in.Input, Cluster: in.state.Cluster.Live, Password: in.state.Login.Logins[cnpg.Owner].Secret,
		Record: schema.Recorded(in.state.Database.Live),
	}
}

func planDatabase(in input) cnpg.Step {
	return database.Plan(in.dojo, in.state.Database, in.database())
}

func planSchema(in input) (step cnpg.Step) {
	dojo, s := in.dojo, in.state
	sql := schema.Plan(dojo, s.Schema, s.Database.Live, in.as(in.source), in.config.schema())
	if in.awaitsBackup(sql) {
		return cnpg.Blocked(in.before.Incomplete)
	}
	if sql.Begins() && s.Application.Releasing {
		return cnpg.Blocked(conditions.Progressing(corev1api.ReasonApplyingSchema,
			"The SQL of spec.postgres.initSQL waits until the release step has ended."))
	}
	if !maps.Equal(sql.Record, schema.Recorded(s.Database.Live)) {
		step = database.Record(dojo, s.Database, sql.Record)
	}
	return step.Then(sql.Run(dojo))
}

func (in input) as(l cnpg.Login) schema.As {
	return schema.As{Login: l, Image: in.state.Cluster.Live.Status.Image}
}

func (in input) hibernationInput() cluster.Input {
	live := in.state.Cluster.Live
	frozen := upgrade.Plan(in.dojo, in.state.Upgrade, upgrade.Input{Cluster: live, Step: corev1api.UpgradeWaiting})
	return in.cluster(bootstrap.OriginalChange(live), frozen.Change, schema.Unanalyzed(in.state.Schema, live))
}

func pauseBackup(in input) cnpg.Step {
	return backup.Pause(in.dojo, in.state.Backup, in.backup())
}

func hibernate(in input) cnpg.Step {
	step := cluster.PlanHibernation(in.dojo, in.state.Cluster, in.hibernationInput())
	step.Incomplete = cmp.Or(in.state.Unsized, images.UnknownZone(in.dojo), step.Incomplete)
	return step
}

func stopPooler(in input) cnpg.Step {
	s := in.state
	ended := s.Application.Stopped || cluster.ShouldHibernate(s.Cluster, in.cluster())
	if s.Cluster.Live == nil || s.Pooler.Pooler == nil || !ended {
		return cnpg.Step{}
	}
	own := in.pooler()
	own.InUse, own.Stopped = false, true
	return pooler.Plan(in.dojo, s.Pooler, own)
}

func waitForHibernation(in input) cnpg.Step {
	return cluster.WaitForHibernation(in.dojo, in.state.Cluster, in.cluster())
}

// sleeps is true for a suspended Dojo, except if its upgrade has begun, or if it has a foreign
// Cluster that is missing or not hibernated.
func sleeps(dojo *corev1api.Dojo, s State) bool {
	if dojo.Spec.Postgres.Cluster == nil {
		return dojo.Spec.Suspend && s.Cluster.Live != nil && cnpg.Hibernates(s.Cluster.Live)
	}
	return dojo.Spec.Suspend && !upgrade.Begun(dojo, s.Cluster.Live, s.Upgrade)
}

func unused(s State) bool { return stopped(s) && len(s.Guests) == 0 }

func describeRunning(s State) string {
	all := slices.Concat(s.Application.Pods, s.Schema.Alive(), s.Guests)
	return cmp.Or(pods.Describe(all), "Jobs are being deleted")
}

// Unreadable returns an issue if a kind is installed but cannot be read.
func Unreadable(dojo *corev1api.Dojo, s State, cfg Config) *conditions.Issue {
	if s.Unreadable == nil {
		return nil
	}
	object := "CustomResourceDefinition " + s.Unreadable.Definition()
	message := fmt.Sprintf("The kind %s of CloudNativePG is installed, but the operator cannot read it: "+
		"the API server does not serve the kind, or does not permit the operator to read it", s.Unreadable.Kind)
	return conditions.WaitUntil(s.Now, dojo.WaitingSince(object, s.Now), cfg.ProgressDeadline,
		conditions.Progressing(corev1api.ReasonCloudNativePGNotReadable, "%s.", message).For(object),
		conditions.Degraded(corev1api.ReasonCloudNativePGNotReadable,
			"%s. See `kubectl describe customresourcedefinitions.apiextensions.k8s.io %s` and docs/platform/rbac.md.", message,
			s.Unreadable.Definition()).For(object))
}
