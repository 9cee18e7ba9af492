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

// CloudNativePG may at first be forbidden to read a new role's password. It retries after 30
// seconds, or when the role changes (internal/management/controller/databaserole_controller.go).
const (
	// RetryAnnotation has the time of the last retry, in RFC 3339. Its change causes the retry.
	RetryAnnotation = "core.jutsu.com/asked-again"
	firstPause      = time.Second
	lastPause       = 8 * time.Second // longer pauses are useless: CloudNativePG's own retry comes sooner
)

var loginPath = fieldpath.MakePathOrDie("spec", "login")

// ActsAnnotation identifies the database in which the second login acts as the owner.
const ActsAnnotation = "core.jutsu.com/acts-as-owner-in"

func report(role *cnpgv1.DatabaseRole) cnpg.Report {
	return cnpg.Report{
		Applied: role.Status.Applied, Current: role.Status.ObservedGeneration == role.Generation,
		Message: role.Status.Message,
	}
}

func hasPassword(login Login) bool {
	return login.Role != nil && login.Secret != nil &&
		login.Role.Status.SecretResourceVersion == login.Secret.GetResourceVersion()
}

// untilRetry returns the time until the next retry, and whether a retry is useful. Retries are
// useful when the role is 1, 2, 4, 8 and 16 seconds old.
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

// For returns the desired DatabaseRole of a login. It keeps the live RetryAnnotation and
// ActsAnnotation.
func For(dojo *corev1api.Dojo, l cnpg.Login, enabled bool, live *cnpgv1.DatabaseRole) *unstructured.Unstructured {
	spec := map[string]any{
		"cluster":                   map[string]any{"name": cnpg.ClusterName(dojo)},
		"name":                      l.SQLName(dojo),
		"comment":                   fmt.Sprintf("owner of the database of Dojo %s/%s", dojo.Namespace, dojo.Name),
		"passwordSecret":            map[string]any{"name": l.ObjectName(dojo)},
		"databaseRoleReclaimPolicy": cnpg.ReclaimPolicy(dojo),
	}
	switch {
	case enabled:
		spec["login"] = true
	case live != nil && live.Spec.Login && !apply.OwnedFields(ownership.FieldOwner, live).Has(loginPath):
		spec["login"] = false // only if another client set true: otherwise omitting the field is enough
	}
	if l == cnpg.Second {
		spec["comment"] = fmt.Sprintf("second login of Dojo %s/%s", dojo.Namespace, dojo.Name)
		spec["inRoles"] = []any{cnpg.SQLName(dojo)}
	}
	role := ownership.Data(dojo, cnpg.RoleKind.GroupVersionKind, l.ObjectName(dojo), spec)
	if live != nil {
		for _, key := range []string{RetryAnnotation, ActsAnnotation} {
			if value := live.Annotations[key]; value != "" {
				ownership.Annotate(role, key, value)
			}
		}
	}
	return role
}
