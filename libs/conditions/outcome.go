package conditions

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// conflictRetry is how long a lost race waits for the cache to catch up.
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

// answer is what the API server has answered, empty where the error is no answer.
func answer(err error) metav1.Status {
	var status apierrors.APIStatus // is no error itself, so that errors.AsType does not take it
	if !errors.As(err, &status) {
		return metav1.Status{}
	}
	return status.Status()
}

// StatusCode is the HTTP status of the API server's answer, 0 where the error is none.
func StatusCode(err error) int { return int(answer(err).Code) }

// StatusDetails is what the API server's answer says beside its message, empty where the error is none or nothing is said.
func StatusDetails(err error) metav1.StatusDetails {
	if d := answer(err).Details; d != nil {
		return *d
	}
	return metav1.StatusDetails{}
}

// LostRace reports whether a write came too late: somebody else has written the object since it was read, or has a field that an apply asks for. Trying
// again soon on what is there by then is the answer to that, and nobody need hear of it. The API server names the object then, or the causes; an
// admission webhook that denies with the same code names neither, and is a refusal.
func LostRace(err error) bool {
	return apierrors.IsConflict(err) && (StatusDetails(err).Name != "" || apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict))
}

// Refused reports whether the API server has answered that it will not have what it was asked for, so that trying again is of no use until a person has
// changed something. The status code says so: an admission webhook may give any reason, or none.
func Refused(err error) bool {
	switch code := StatusCode(err); code {
	case http.StatusConflict:
		return !LostRace(err) && StatusDetails(err).Name == "" // with a name: somebody was faster to create it
	case http.StatusUnauthorized:
		return denied(err)
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false // these may pass
	default:
		return code >= 400 && code < 500
	}
}

// denied tells a ValidatingAdmissionPolicy with the reason Unauthorized, which names the object and gives its message as a cause, from an API server that
// does not know who asks, and from a proxy before it, whose answers client-go marks.
func denied(err error) bool {
	return StatusDetails(err).Name != "" && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
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
// reconciler: they are retried when they say so, or by a watch. A lost race is retried quietly. Anything
// else is transient and returned, so that the queue backs off.
func Result(outcome error) (reconcile.Result, error) {
	if w, ok := errors.AsType[*Waiting](outcome); ok {
		return reconcile.Result{RequeueAfter: w.Retry}, nil
	}
	if t, ok := errors.AsType[*Terminal](outcome); ok {
		return reconcile.Result{RequeueAfter: t.Retry}, nil
	}
	if LostRace(outcome) {
		return reconcile.Result{RequeueAfter: conflictRetry}, nil
	}
	return reconcile.Result{}, outcome
}
