// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
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

// role writes the password and the role that owns the database, and waits until Postgres has both.
func (w *way) role() *conditions.Issue {
	const what = "the role"
	live := w.state.Role
	password, role := planPassword(w.dojo, w.state), sync(w.state, live, roleFor(w.dojo, live))
	w.write(password)
	w.write(role)
	if password != nil || role != nil {
		return w.step(corev1api.ReasonCreatingRole, what)
	}
	says := observed{live.Status.Applied, live.Status.ObservedGeneration == live.Generation, live.Status.Message}
	if says.done() && live.Status.SecretResourceVersion != w.state.Secret.GetResourceVersion() {
		says.current, says.message = false, "" // Postgres still has an older password
	}
	issue := w.waitForPostgres(live, cnpg.RoleKind.Kind, says, corev1api.ReasonCreatingRole, what)
	if issue != nil && !issue.IsDegraded() {
		w.retryRole(says, issue)
	}
	w.passwordCurrent = issue == nil
	return issue
}

// retryRole makes CloudNativePG look at the role again where waiting for that would take longer.
func (w *way) retryRole(says observed, waiting *conditions.Issue) {
	switch wait, retry := untilRetry(w.state.Role, says, w.state.Now); {
	case !retry:
	case wait > 0:
		waiting.RequeueAfter = min(waiting.RequeueAfter, wait)
	default:
		again := roleFor(w.dojo, w.state.Role)
		again.SetAnnotations(map[string]string{retryAnnotation: w.state.Now.UTC().Format(time.RFC3339)})
		o := apply.Write(ownership.FieldOwner, w.state.Role, again)
		o.Drift = false // the annotation is new, not changed
		w.write(o)
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

// roleFor is the role, with the live one's record of when CloudNativePG was last made to look at it
// again.
func roleFor(d *corev1api.Dojo, live *cnpgv1.DatabaseRole) *unstructured.Unstructured {
	role := ownership.Data(d, cnpg.RoleKind.GroupVersionKind, cnpg.ObjectName(d), map[string]any{
		"cluster":                   map[string]any{"name": cnpg.ClusterName(d)},
		"name":                      cnpg.SQLName(d),
		"comment":                   fmt.Sprintf("owner of the database of Dojo %s/%s", d.Namespace, d.Name),
		"login":                     true,
		"passwordSecret":            map[string]any{"name": cnpg.ObjectName(d)},
		"databaseRoleReclaimPolicy": reclaimPolicy(d),
	})
	if live != nil && live.Annotations[retryAnnotation] != "" {
		role.SetAnnotations(map[string]string{retryAnnotation: live.Annotations[retryAnnotation]})
	}
	return role
}
