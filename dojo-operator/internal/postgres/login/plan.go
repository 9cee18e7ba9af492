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

// Input is the input of a plan for a login.
type Input struct {
	cnpg.Input
	Login cnpg.Login
	// DatabaseID consists of the UIDs of the Cluster and the Database.
	Cluster    *cnpgv1.Cluster
	DatabaseID string
	// Outdated says why pods may still have the former login; "" if none has it.
	Outdated string
}

// Plan retires an unused login. It enables any other login, and blocks until Postgres has the role.
func Plan(dojo *corev1api.Dojo, s State, in Input) cnpg.Step {
	if !RotationOf(dojo, s).Involves(in.Login) {
		return retire(dojo, s, in)
	}
	step := enable(dojo, s, in)
	step.PasswordCurrent = step.Blocks == nil && in.Login == Source(dojo, s, in.DatabaseID) &&
		(in.Login == cnpg.Owner || actsAsOwner(s.Logins[in.Login].Role, in.DatabaseID))
	return step
}

// enable lets the next login log in only with its new password, never with an old password.
func enable(dojo *corev1api.Dojo, s State, in Input) cnpg.Step {
	l, login := in.Login, s.Logins[in.Login]
	current := l == RotationOf(dojo, s).Current
	password := cnpg.After(dojo, l, PlanPassword(dojo, s, in))
	enabled := current || password == nil && hasPassword(login)
	role := cnpg.After(dojo, l, cnpg.Sync(in.Input, login.Role, For(dojo, l, enabled, login.Role)))
	if !current {
		password, role = rotated(password), rotated(role)
	}
	step := cnpg.Write(password, role)
	what := "the role " + l.SQLName(dojo)
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
		step.Apply = retry(dojo, in, login.Role, enabled, reported, step.Blocks)
	}
	return step
}

func rotated(o *apply.Object) *apply.Object {
	if o != nil {
		o.Drift = false
	}
	return o
}

func retry(
	dojo *corev1api.Dojo, in Input, role *cnpgv1.DatabaseRole, enabled bool, reported cnpg.Report,
	waiting *conditions.Issue,
) []*apply.Object {
	wait, useful := untilRetry(role, reported, in.Now)
	if !useful {
		return nil
	}
	if wait > 0 {
		waiting.RequeueAfter = min(waiting.RequeueAfter, wait)
		return nil
	}
	again := For(dojo, in.Login, enabled, role)
	ownership.Annotate(again, RetryAnnotation, in.Now.UTC().Format(time.RFC3339))
	return cnpg.Write(rotated(cnpg.After(dojo, in.Login, apply.Write(ownership.FieldOwner, role, again)))).Apply
}

// NeedsStatement identifies the SQL that the second login needs to act as the owner; "" if none.
func NeedsStatement(dojo *corev1api.Dojo, s State, databaseID string) string {
	role := s.Logins[cnpg.Second].Role
	if !RotationOf(dojo, s).Involves(cnpg.Second) || actsAsOwner(role, databaseID) {
		return ""
	}
	return string(role.UID) + databaseID
}

// RecordStatement records in the DatabaseRole that the SQL of [NeedsStatement] has run.
func RecordStatement(dojo *corev1api.Dojo, s State, databaseID string) cnpg.Step {
	role := s.Logins[cnpg.Second].Role
	acting := For(dojo, cnpg.Second, role.Spec.Login, role)
	ownership.Annotate(acting, ActsAnnotation, databaseID)
	step := cnpg.Write(rotated(cnpg.After(dojo, cnpg.Second, apply.Write(ownership.FieldOwner, role, acting))))
	step.Blocks = cnpg.Waiting(corev1api.ReasonCreatingRole, "the role "+cnpg.Second.SQLName(dojo))
	return step
}

func actsAsOwner(role *cnpgv1.DatabaseRole, databaseID string) bool {
	return databaseID != "" && role.Annotations[ActsAnnotation] == databaseID
}
