// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Unreadable is the issue with kinds of CloudNativePG that are installed and cannot be read; nil where
// there are none.
func Unreadable(d *corev1api.Dojo, s State, cfg Config) *conditions.Issue {
	if s.Unreadable == nil {
		return nil
	}
	object := "CustomResourceDefinition " + s.Unreadable.Definition()
	message := fmt.Sprintf("The kind %s of CloudNativePG is installed and cannot be read: "+
		"the API server does not serve it, or does not permit it", s.Unreadable.Kind)
	return conditions.WaitUntil(s.Now, d.WaitingSince(object, s.Now), cfg.ProgressDeadline,
		conditions.Progressing(corev1api.ReasonCloudNativePGNotReadable, "%s.", message).For(object),
		conditions.Degraded(corev1api.ReasonCloudNativePGNotReadable,
			"%s. See `kubectl describe crd %s` and docs/rbac.md.", message, s.Unreadable.Definition()).For(object))
}

// InUse is the issue with a Cluster that is to be deleted and in which others have databases; nil
// where there are none.
func InUse(d *corev1api.Dojo, s State) *conditions.Issue {
	return cluster.InUse(d, s.Cluster, s.ClusterUsers)
}

// Keep plans that the data outlives the Dojo, where it should not have before: the policies and the
// owner of the password are put back. The plan has an issue until they are.
func Keep(d *corev1api.Dojo, s State) (p apply.Plan) {
	if d.Spec.Postgres == nil || cnpg.Reclaims(d) {
		return p
	}
	if holdsIn(d, s.Database) {
		p.Add(sync(s, s.Database, databaseFor(d, schema.Recorded(s.Database))))
	}
	for l, login := range s.Logins {
		l := cnpg.Login(l)
		if holdsRole(d, login.Role) {
			p.Add(sync(s, login.Role, roleFor(d, l, login.Role.Spec.Login, login.Role)))
		}
		if ownership.Holds(d, login.Secret) && login.Secret.DeletionTimestamp == nil {
			p.Add(planKept(d, s, l))
		}
	}
	if p.Apply != nil {
		p.Report(conditions.Progressing(corev1api.ReasonDeletingDatabase,
			"The Dojo is being deleted, and its data is kept. Waiting until all of it is marked to be."))
	}
	return p
}

// Kept reports whether the data outlives the Dojo without anything left to do.
func Kept(d *corev1api.Dojo, s State) bool {
	return !cnpg.Reclaims(d) && s.Unreadable == nil && Keep(d, s).Apply == nil
}

// Drop plans the deletion of the data, one object after the other. A Cluster of the Dojo's own goes
// first: with it CloudNativePG releases what is in it, even where it is hibernated or broken. In one of
// others, the other way round hangs: a database with open sessions is not dropped, a role that owns
// something neither. The plan has an issue until all are gone. Data that the Dojo did not want to use is
// not its own to delete.
func Drop(d *corev1api.Dojo, s State, cfg Config) apply.Plan {
	own := d.Spec.Postgres.Cluster != nil
	switch {
	case bootstrap.Mismatch(d, s.Cluster) != nil:
		return apply.Plan{}
	case own && ownership.Holds(d, s.Schedule):
		return drop(s, cfg, cnpg.ScheduleKind.Kind, s.Schedule, "", nil)
	case own && ownership.Holds(d, s.Pooler.Pooler):
		return drop(s, cfg, cnpg.PoolerKind.Kind, s.Pooler.Pooler, "", nil)
	case own && ownership.Holds(d, s.Cluster):
		return drop(s, cfg, cnpg.ClusterKind.Kind, s.Cluster, "", nil)
	case holdsIn(d, s.Database):
		if issue := cannotDrop(d, s); issue != nil {
			return apply.Plan{Issues: []conditions.Issue{*issue}}
		}
		return drop(s, cfg, cnpg.DatabaseKind.Kind, s.Database, s.Database.Status.Message,
			databaseFor(d, schema.Recorded(s.Database)))
	case s.Cluster != nil && !s.has(cnpg.DatabaseKind):
		return apply.Plan{Issues: []conditions.Issue{*lacks(cnpg.DatabaseKind, fmt.Sprintf(
			"the database %s in the Cluster %s/%s cannot be deleted", cnpg.SQLName(d), d.Namespace, s.Cluster.Name),
			"or set the reclaimPolicy to Retain")}}
	}
	for _, l := range []cnpg.Login{cnpg.Second, cnpg.Owner} {
		if role := s.Logins[l].Role; holdsRole(d, role) {
			return drop(s, cfg, cnpg.RoleKind.Kind, role, role.Status.Message, roleFor(d, l, role.Spec.Login, role))
		}
	}
	return apply.Plan{}
}

// holdsIn reports whether a Database is the Dojo's, and in the Cluster that the Dojo asks for. CloudNativePG moves none:
// one in another Cluster is what a former Dojo of the name has retained.
func holdsIn(d *corev1api.Dojo, db *cnpgv1.Database) bool {
	return ownership.Holds(d, db) && db.Spec.ClusterRef.Name == cnpg.ClusterName(d)
}

// holdsRole is holdsIn for a DatabaseRole.
func holdsRole(d *corev1api.Dojo, role *cnpgv1.DatabaseRole) bool {
	return ownership.Holds(d, role) && role.Spec.ClusterRef.Name == cnpg.ClusterName(d)
}

// lacks is the issue with a kind without which the data cannot be deleted as the spec says, while there is a
// Cluster.
func lacks(kind optional.Kind, what, otherwise string) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonCloudNativePGNotInstalled,
		"This cluster does not have the kind %s of CloudNativePG, so that %s. Install it again "+
			"(https://cloudnative-pg.io), %s.", kind.Kind, what, otherwise)
}

// cannotDrop is the issue with a Cluster in which nothing can be dropped; nil where it can.
func cannotDrop(d *corev1api.Dojo, s State) *conditions.Issue {
	if s.Cluster == nil || !cnpg.Hibernates(s.Cluster) {
		return nil
	}
	return conditions.Degraded(corev1api.ReasonClusterHibernated,
		"The Cluster %s/%s is hibernated, so that no database in it can be deleted. "+
			"Resume it with `kubectl annotate cluster %s %s-`, or set the reclaimPolicy to Retain.",
		d.Namespace, s.Cluster.Name, s.Cluster.Name, cnpg.HibernationAnnotation)
}

// drop plans the deletion of an object, with the policy that desired has, which may have changed a
// moment ago.
func drop(
	s State, cfg Config, kind string, live client.Object, says string, desired *unstructured.Unstructured,
) (p apply.Plan) {
	since := s.Now
	if deleted := live.GetDeletionTimestamp(); deleted != nil {
		since = deleted.Time
	} else if desired != nil {
		p.Add(sync(s, live, desired))
	}
	if live.GetDeletionTimestamp() == nil && p.Apply == nil {
		p.Delete = []apply.Deletion{apply.Delete(kind, live)}
	}
	what := fmt.Sprintf("the %s %s to be deleted", kind, live.GetName())
	if says != "" {
		what += "; CloudNativePG reports: " + says
	}
	p.Report(cnpg.Deleting(s.Now, since, cfg.Deadline, what, fmt.Sprintf("See `kubectl describe %s %s`, "+
		"and whether CloudNativePG runs and Postgres can be reached; with the reclaimPolicy Retain the data stays.",
		strings.ToLower(kind), live.GetName())))
	return p
}
