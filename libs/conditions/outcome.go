package conditions

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// conflictRetry is how long a lost optimistic lock waits for the cache to catch up.
const conflictRetry = 200 * time.Millisecond

// Waiting is an outcome: something expected is not there yet. The object is Progressing.
type Waiting struct {
	// Reason is a CamelCase word for machines, out of the kind's documented list.
	Reason string
	// Message tells people what is waited for, by name.
	Message string
	// Retry is when to look again; zero when a watch brings the object back.
	Retry time.Duration
}

// Error makes Waiting an outcome that passes through error returns.
func (w *Waiting) Error() string { return w.Reason + ": " + w.Message }

// Terminal is an outcome: a person must act. The object is Degraded.
type Terminal struct {
	// Reason is a CamelCase word for machines, out of the kind's documented list.
	Reason string
	// Message tells people what is wrong and what to do about it.
	Message string
	// Retry is when to look again; zero when a watch on the thing at fault brings the object back.
	Retry time.Duration
}

// Error makes Terminal an outcome that passes through error returns.
func (t *Terminal) Error() string { return t.Reason + ": " + t.Message }

// Result turns an outcome into what controller-runtime is told. Waiting and Terminal are not failures of the
// reconciler: they are retried when they say so, or by a watch. A lost optimistic lock is retried quietly. Anything
// else is transient and returned, so that the queue backs off.
func Result(outcome error) (reconcile.Result, error) {
	if w, ok := errors.AsType[*Waiting](outcome); ok {
		return reconcile.Result{RequeueAfter: w.Retry}, nil
	}
	if t, ok := errors.AsType[*Terminal](outcome); ok {
		return reconcile.Result{RequeueAfter: t.Retry}, nil
	}
	if apierrors.IsConflict(outcome) {
		return reconcile.Result{RequeueAfter: conflictRetry}, nil
	}
	return reconcile.Result{}, outcome
}
