// SPDX-License-Identifier: Apache-2.0

package login

import (
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Input is what a plan for a login rests on beside its State.
type Input struct {
	cnpg.Input
	Login cnpg.Login
	// Cluster and Place are where Postgres runs: the Cluster, and the UIDs of it and of the Database.
	Cluster *cnpgv1.Cluster
	Place   string
	// Behind is why pods may still have the former login; empty where none has.
	Behind string
}

// Plan writes a login that is in use or prepared and waits until Postgres has it, or retires it.
func Plan(d *corev1api.Dojo, s State, in Input) cnpg.Step {
	if !RotationOf(d, s).Involves(in.Login) {
		return retire(d, s, in)
	}
	step := serve(d, s, in)
	step.PasswordCurrent = step.Blocks == nil && in.Login == Source(d, s, in.Place) &&
		(in.Login == cnpg.Owner || actsAsOwner(s.Logins[in.Login].Role, in.Place))
	return step
}

// serve writes a password and its role, and waits until Postgres has both. The next login may log in
// once Postgres has its new password, so that a former one is never valid again.
func serve(d *corev1api.Dojo, s State, in Input) cnpg.Step {
	l, login := in.Login, s.Logins[in.Login]
	current := l == RotationOf(d, s).Current
	password := cnpg.After(d, l, PlanPassword(d, s, in))
	enabled := current || password == nil && hasPassword(login)
	role := cnpg.After(d, l, cnpg.Sync(in.Input, login.Role, For(d, l, enabled, login.Role)))
	if !current {
		password, role = rotated(password), rotated(role)
	}
	step := cnpg.Write(password, role)
	what := "the role " + l.SQLName(d)
	if len(step.Apply) > 0 {
		step.Blocks = cnpg.Waiting(corev1api.ReasonCreatingRole, what)
		return step
	}
	reported := report(login.Role)
	if reported.Done() && !hasPassword(login) {
		reported.Current, reported.Message = false, "" // Postgres still has an older password
	}
	step.Blocks = cnpg.Pending{
		Object: login.Role, Kind: cnpg.RoleKind.Kind, Report: reported, Reason: corev1api.ReasonCreatingRole, What: what,
		Cluster: in.Cluster, Password: login.Secret,
	}.Wait(in.Input)
	if step.Blocks != nil && !step.Blocks.IsDegraded() {
		step.Apply = retry(d, in, login.Role, enabled, reported, step.Blocks)
	}
	return step
}

// rotated marks an object that a rotation changes: no other client has changed it.
func rotated(o *apply.Object) *apply.Object {
	if o != nil {
		o.Drift = false
	}
	return o
}

// retry makes CloudNativePG look at the role again where waiting for that would take longer.
func retry(
	d *corev1api.Dojo, in Input, role *cnpgv1.DatabaseRole, enabled bool, reported cnpg.Report, waiting *conditions.Issue,
) []*apply.Object {
	wait, useful := untilRetry(role, reported, in.Now)
	if !useful {
		return nil
	}
	if wait > 0 {
		waiting.RequeueAfter = min(waiting.RequeueAfter, wait)
		return nil
	}
	again := For(d, in.Login, enabled, role)
	ownership.Annotate(again, RetryAnnotation, in.Now.UTC().Format(time.RFC3339))
	return cnpg.Write(rotated(cnpg.After(d, in.Login, apply.Write(ownership.FieldOwner, role, again)))).Apply
}

// NeedsStatement returns what identifies the SQL statement that makes the sessions of the second login
// act as the owner, so that what they create is the owner's; empty where it has run or is not due.
// Postgres does that for every client, whatever its driver and its pool; CloudNativePG cannot.
func NeedsStatement(d *corev1api.Dojo, s State, place string) string {
	role := s.Logins[cnpg.Second].Role
	if !RotationOf(d, s).Involves(cnpg.Second) || actsAsOwner(role, place) {
		return ""
	}
	return string(role.UID) + place
}

// RecordStatement records on the role of the second login where the statement has run.
func RecordStatement(d *corev1api.Dojo, s State, place string) cnpg.Step {
	role := s.Logins[cnpg.Second].Role
	acting := For(d, cnpg.Second, role.Spec.Login, role)
	ownership.Annotate(acting, ActsAnnotation, place)
	step := cnpg.Write(rotated(cnpg.After(d, cnpg.Second, apply.Write(ownership.FieldOwner, role, acting))))
	step.Blocks = cnpg.Waiting(corev1api.ReasonCreatingRole, "the role "+cnpg.Second.SQLName(d))
	return step
}

func actsAsOwner(role *cnpgv1.DatabaseRole, place string) bool {
	return place != "" && role.Annotations[ActsAnnotation] == place
}
