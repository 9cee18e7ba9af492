// SPDX-License-Identifier: Apache-2.0

package login

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
	"jutsu.com/operators/libs/apply"
)

// An instance manager looks at a new DatabaseRole before CloudNativePG's operator has allowed it to
// read the role's password, a tenth of a second later, and then not again for 30 seconds: both
// watch the same object (internal/management/controller/databaserole_controller.go,
// internal/controller/cluster_create.go). Any change of the DatabaseRole makes it look at once.
const (
	// RetryAnnotation on a DatabaseRole is when it was last changed for that, in RFC 3339.
	RetryAnnotation = "core.jutsu.com/asked-again"
	firstPause      = time.Second
	lastPause       = 8 * time.Second // after the next one CloudNativePG's own retry would come sooner
)

var loginPath = fieldpath.MakePathOrDie("spec", "login")

// ActsAnnotation on the DatabaseRole of the second login is where its sessions act as the owner: the UIDs
// of the Cluster and of the Database. In a Cluster that has taken the place of that one CloudNativePG makes
// the role again, and the setting is gone.
const ActsAnnotation = "core.jutsu.com/acts-as-owner-in"

func report(role *cnpgv1.DatabaseRole) cnpg.Report {
	return cnpg.Report{
		Applied: role.Status.Applied, Current: role.Status.ObservedGeneration == role.Generation,
		Message: role.Status.Message,
	}
}

// hasPassword reports whether Postgres has the password that is in the Secret.
func hasPassword(login Login) bool {
	return login.Role != nil && login.Secret != nil &&
		login.Role.Status.SecretResourceVersion == login.Secret.GetResourceVersion()
}

// untilRetry is how long until CloudNativePG should look again at a role whose password it may not
// read: a second after the role was created, then after twice the time each; false where that is no
// use.
func untilRetry(role *cnpgv1.DatabaseRole, reported cnpg.Report, now time.Time) (wait time.Duration, retry bool) {
	if reported.Applied == nil || *reported.Applied || !strings.Contains(reported.Message, " is forbidden: ") {
		return 0, false
	}
	created, last := role.CreationTimestamp.Time, role.CreationTimestamp.Time
	if at, err := time.Parse(time.RFC3339, role.Annotations[RetryAnnotation]); err == nil {
		last = cnpg.Latest(last, at)
	}
	pause := max(firstPause, last.Sub(created))
	return last.Add(pause).Sub(now), pause <= lastPause
}

// For is the DatabaseRole of a login, with what the live one records: when CloudNativePG was last made to look at it
// again, and where it acts as the owner.
func For(d *corev1api.Dojo, l cnpg.Login, enabled bool, live *cnpgv1.DatabaseRole) *unstructured.Unstructured {
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
		for _, key := range []string{RetryAnnotation, ActsAnnotation} {
			if value := live.Annotations[key]; value != "" {
				ownership.Annotate(role, key, value)
			}
		}
	}
	return role
}
