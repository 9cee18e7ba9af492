package conditions

import (
	"errors"
	"fmt"
	"net/http"
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

// StatusCode is the HTTP status of the API server's answer, 0 where the error is none.
func StatusCode(err error) int {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return 0
	}
	return int(answer.Status().Code)
}

// Refused reports whether the API server has answered that it will not have what it was asked for, so that trying again is of no use until a person has
// changed something. The status code says so: an admission webhook may give any reason, or none.
func Refused(err error) bool {
	switch code := StatusCode(err); code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false // these may pass
	default:
		return code >= 400 && code < 500
	}
}

// Wordless is an error of the API server without its words, "403 Forbidden": an admission webhook may quote the Secret that it refuses, in its message and
// in its reason. An error that is no answer is returned as it is.
func Wordless(err error) error {
	code := StatusCode(err)
	if code == 0 {
		return err
	}
	return fmt.Errorf("%d %s", code, http.StatusText(code))
}

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
