// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// An instance manager looks at a new DatabaseRole before CloudNativePG's operator has allowed it to
// read the role's password, a tenth of a second later, and then not again for 30 seconds: both
// watch the same object (internal/management/controller/databaserole_controller.go,
// internal/controller/cluster_create.go). Any change of the DatabaseRole makes it look at once.
const (
	// retryAnnotation on a DatabaseRole is when it was last changed for that, in RFC 3339.
	retryAnnotation = "core.jutsu.com/asked-again"
	firstPause      = time.Second
	lastPause       = 8 * time.Second // after the next one CloudNativePG's own retry would come sooner
)

var loginPath = fieldpath.MakePathOrDie("spec", "login")

// actsAnnotation on the DatabaseRole of the second login is where its sessions act as the owner: the UIDs
// of the Cluster and of the Database. In a Cluster that has taken the place of that one CloudNativePG makes
// the role again, and the setting is gone.
const actsAnnotation = "core.jutsu.com/acts-as-owner-in"

// owner writes the role that owns the database, and waits until Postgres has it.
func (w *way) owner() *conditions.Issue { return w.serve(cnpg.Owner) }

// second does the same with the second login, once there has been a rotation.
func (w *way) second() *conditions.Issue { return w.serve(cnpg.Second) }

func (w *way) serve(l cnpg.Login) *conditions.Issue {
	if !w.turn.involves(l) {
		w.retire(l)
		return nil
	}
	issue := w.login(l)
	if issue == nil && l == cnpg.Second {
		issue = w.actAsOwner()
	}
	if l == w.source {
		w.passwordCurrent = issue == nil
	}
	return issue
}

// login writes a password and its role, and waits until Postgres has both. The next login may log in
// once Postgres has its new password, so that a former one is never valid again.
func (w *way) login(l cnpg.Login) *conditions.Issue {
	what := "the role " + l.SQLName(w.dojo)
	login := w.state.Logins[l]
	password := planPassword(w.dojo, w.state, l)
	enabled := l == w.turn.current || password == nil && hasPassword(login)
	role := sync(w.state, login.Role, roleFor(w.dojo, l, enabled, login.Role))
	if l == w.turn.current {
		w.writeLogin(l, password)
		w.writeLogin(l, role)
	} else {
		w.turnLogin(l, password)
		w.turnLogin(l, role)
	}
	if password != nil || role != nil {
		return w.step(corev1api.ReasonCreatingRole, what)
	}
	says := roleSays(login.Role)
	if says.done() && !hasPassword(login) {
		says.current, says.message = false, "" // Postgres still has an older password
	}
	issue := w.waitForPostgres(login.Role, cnpg.RoleKind.Kind, says, l, corev1api.ReasonCreatingRole, what)
	if issue != nil && !issue.IsDegraded() {
		w.retryRole(l, enabled, says, issue)
	}
	return issue
}

func roleSays(role *cnpgv1.DatabaseRole) observed {
	return observed{role.Status.Applied, role.Status.ObservedGeneration == role.Generation, role.Status.Message}
}

// hasPassword reports whether Postgres has the password that is in the Secret.
func hasPassword(login Login) bool {
	return login.Role != nil && login.Secret != nil &&
		login.Role.Status.SecretResourceVersion == login.Secret.GetResourceVersion()
}

// actAsOwner makes the sessions of the second login act as the owner, so that what they create is the
// owner's. Postgres does that for every client, whatever its driver and its pool; the role may set it
// for itself, and CloudNativePG cannot.
func (w *way) actAsOwner() *conditions.Issue {
	role := w.state.Logins[cnpg.Second].Role
	if actsAsOwner(role, &w.state) {
		return nil
	}
	place := placeOf(&w.state)
	step := schema.PlanLogin(w.dojo, w.state.Schema, string(role.UID)+place, w.as(cnpg.Second), w.config.schema())
	if issue := w.run(step); issue != nil {
		return issue
	}
	acting := roleFor(w.dojo, cnpg.Second, role.Spec.Login, role)
	ownership.Annotate(acting, actsAnnotation, place)
	w.turnLogin(cnpg.Second, apply.Write(ownership.FieldOwner, role, acting))
	return w.step(corev1api.ReasonCreatingRole, "the role "+cnpg.Second.SQLName(w.dojo))
}

func actsAsOwner(role *cnpgv1.DatabaseRole, s *State) bool {
	place := placeOf(s)
	return place != "" && role.Annotations[actsAnnotation] == place
}

// placeOf identifies the database in the Cluster as it is; empty where there is none.
func placeOf(s *State) string {
	if s.Cluster == nil || s.Database == nil {
		return ""
	}
	return string(s.Cluster.UID + "/" + s.Database.UID)
}

// turnLogin plans an object of a login of which other fields are desired than before, which no other
// client has changed.
func (w *way) turnLogin(l cnpg.Login, o *apply.Object) {
	if o != nil {
		o.Drift = false
	}
	w.writeLogin(l, o)
}

// retryRole makes CloudNativePG look at the role again where waiting for that would take longer.
func (w *way) retryRole(l cnpg.Login, enabled bool, says observed, waiting *conditions.Issue) {
	role := w.state.Logins[l].Role
	switch wait, retry := untilRetry(role, says, w.state.Now); {
	case !retry:
	case wait > 0:
		waiting.RequeueAfter = min(waiting.RequeueAfter, wait)
	default:
		again := roleFor(w.dojo, l, enabled, role)
		ownership.Annotate(again, retryAnnotation, w.state.Now.UTC().Format(time.RFC3339))
		w.turnLogin(l, apply.Write(ownership.FieldOwner, role, again))
	}
}

// untilRetry is how long until CloudNativePG should look again at a role whose password it may not
// read: a second after the role was created, then after twice the time each; false where that is no
// use.
func untilRetry(role *cnpgv1.DatabaseRole, says observed, now time.Time) (wait time.Duration, retry bool) {
	if says.applied == nil || *says.applied || !strings.Contains(says.message, " is forbidden: ") {
		return 0, false
	}
	created, last := role.CreationTimestamp.Time, role.CreationTimestamp.Time
	if at, err := time.Parse(time.RFC3339, role.Annotations[retryAnnotation]); err == nil {
		last = latest(last, at)
	}
	pause := max(firstPause, last.Sub(created))
	return last.Add(pause).Sub(now), pause <= lastPause
}

// roleFor is a login, with what the live one records: when CloudNativePG was last made to look at it
// again, and where it acts as the owner.
func roleFor(d *corev1api.Dojo, l cnpg.Login, enabled bool, live *cnpgv1.DatabaseRole) *unstructured.Unstructured {
	spec := map[string]any{
		"cluster":                   map[string]any{"name": cnpg.ClusterName(d)},
		"name":                      l.SQLName(d),
		"comment":                   fmt.Sprintf("owner of the database of Dojo %s/%s", d.Namespace, d.Name),
		"passwordSecret":            map[string]any{"name": l.ObjectName(d)},
		"databaseRoleReclaimPolicy": cnpg.ReclaimPolicy(d),
	}
	switch {
	case enabled:
		spec["login"] = true
	case live != nil && live.Spec.Login && !apply.OwnedFields(ownership.FieldOwner, live).Has(loginPath):
		spec["login"] = false // of another client; else it goes with our field, since the type does not show a false one
	}
	if l == cnpg.Second {
		spec["comment"] = fmt.Sprintf("second login of Dojo %s/%s", d.Namespace, d.Name)
		spec["inRoles"] = []any{cnpg.SQLName(d)}
	}
	role := ownership.Data(d, cnpg.RoleKind.GroupVersionKind, l.ObjectName(d), spec)
	if live != nil {
		for _, key := range []string{retryAnnotation, actsAnnotation} {
			if value := live.Annotations[key]; value != "" {
				ownership.Annotate(role, key, value)
			}
		}
	}
	return role
}
