package postgres

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/conditions"
)

// database writes the database and waits until Postgres has it.
func (w *way) database() *conditions.Issue {
	const what = "the database"
	live := w.state.Database
	if o := sync(w.state, live, databaseFor(w.dojo)); o != nil {
		w.write(o)
		return w.step(corev1api.ReasonCreatingDatabase, what)
	}
	says := observed{live.Status.Applied, live.Status.ObservedGeneration == live.Generation, live.Status.Message}
	return w.waitForPostgres(live, databaseKind.Kind, says, corev1api.ReasonCreatingDatabase, what)
}

func databaseFor(d *corev1api.Dojo) *unstructured.Unstructured {
	return ownership.Data(d, databaseKind.GroupVersionKind, ObjectName(d), map[string]any{
		"cluster":               map[string]any{"name": ClusterName(d)},
		"name":                  sqlName(d),
		"owner":                 sqlName(d),
		"databaseReclaimPolicy": reclaimPolicy(d),
	})
}
