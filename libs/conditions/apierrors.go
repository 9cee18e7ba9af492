// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// answer is the API server's answer, empty where the error is none.
func answer(err error) metav1.Status {
	var status apierrors.APIStatus // is no error itself, so that errors.AsType does not take it
	if !errors.As(err, &status) {
		return metav1.Status{}
	}
	return status.Status()
}

// StatusCode is the HTTP status of the API server's answer, 0 where the error is none.
func StatusCode(err error) int { return int(answer(err).Code) }

// StatusDetails is what the API server's answer says beside its message, empty where there is
// nothing.
func StatusDetails(err error) metav1.StatusDetails {
	if d := answer(err).Details; d != nil {
		return *d
	}
	return metav1.StatusDetails{}
}

// Conflict reports whether another client has written the object since it was read, or owns a field
// that an apply sets. It is retried without a report. The API server names the object or the
// causes; an admission webhook that denies with the same code names neither, and is a refusal.
func Conflict(err error) bool {
	return apierrors.IsConflict(err) &&
		(StatusDetails(err).Name != "" || apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict))
}

// Refused reports whether the API server has refused a request in a way that a retry does not
// change until a user has acted. The status code decides: an admission webhook may give any reason,
// or none.
func Refused(err error) bool {
	switch code := StatusCode(err); code {
	case http.StatusConflict:
		return !Conflict(err) && StatusDetails(err).Name == "" // with a name: AlreadyExists
	case http.StatusUnauthorized:
		return denied(err)
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false // these may pass
	default:
		return code >= 400 && code < 500
	}
}

// denied reports whether a ValidatingAdmissionPolicy has answered Unauthorized: it names the object
// and gives its message as a cause. An API server that does not know the client names none, and
// client-go marks the answer of a proxy.
func denied(err error) bool {
	return StatusDetails(err).Name != "" && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// Redacted is an error of the API server without its text, "403 Forbidden": an admission webhook
// may quote the Secret that it refuses, in its message and in its reason. An error that is no
// answer is returned as it is.
func Redacted(err error) error {
	code := StatusCode(err)
	if code == 0 {
		return err
	}
	return fmt.Errorf("%d %s", code, http.StatusText(code))
}
