package postgres

import (
	"fmt"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// deletionRetry is when a Dojo that is being deleted with its data is reconciled again: no event
// shows that a pod has ended.
const deletionRetry = time.Second

// reclaimPolicy is the policy in CloudNativePG's words.
func reclaimPolicy(d *corev1api.Dojo) string {
	if Reclaims(d) {
		return string(cnpgv1.DatabaseReclaimDelete)
	}
	return string(cnpgv1.DatabaseReclaimRetain)
}

// Reclaims reports whether the data is deleted with the Dojo.
func Reclaims(d *corev1api.Dojo) bool {
	return d.Spec.Postgres != nil && d.Spec.Postgres.ReclaimPolicy == corev1api.ReclaimDelete
}

// Drop plans the deletion of the data, one object after the other, since the other way round it
// hangs: a database with open sessions is not dropped, a role that owns something neither, and
// without its Cluster nothing is. The plan has an issue until all are gone.
func Drop(d *corev1api.Dojo, s State) apply.Plan {
	own := d.Spec.Postgres.Cluster != nil
	switch {
	case ownership.Holds(d, s.Database):
		return drop(s, cnpg.DatabaseKind.Kind, s.Database, s.Database.Status.Message, databaseFor(d, schema.Recorded(s.Database)))
	case ownership.Holds(d, s.Role):
		return drop(s, cnpg.RoleKind.Kind, s.Role, s.Role.Status.Message, roleFor(d, s.Role))
	case own && ownership.Holds(d, s.Schedule):
		return drop(s, cnpg.ScheduleKind.Kind, s.Schedule, "", nil)
	case own && ownership.Holds(d, s.Cluster):
		return drop(s, cnpg.ClusterKind.Kind, s.Cluster, "", nil)
	}
	return apply.Plan{}
}

// drop plans the deletion of an object, with the policy that desired has, which may have changed a
// moment ago.
func drop(s State, kind string, live client.Object, says string, desired *unstructured.Unstructured) (p apply.Plan) {
	if live.GetDeletionTimestamp() == nil {
		if desired != nil {
			p.Add(sync(s, live, desired))
		}
		if p.Apply == nil {
			p.Delete = []apply.Deletion{apply.Delete(kind, live)}
		}
	}
	what := fmt.Sprintf("the %s %s to be deleted", kind, live.GetName())
	if says != "" {
		what += "; CloudNativePG reports: " + says
	}
	p.Report(Deleting(what))
	return p
}

// Deleting is the issue with a Dojo that is being deleted with its data, and what it waits for.
func Deleting(what string) *conditions.Issue {
	return conditions.Progressing(corev1api.ReasonDeletingDatabase,
		"The Dojo is being deleted with its data. Waiting for %s.", what).After(deletionRetry)
}
