// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func answer(err error) metav1.Status {
	var status apierrors.APIStatus // not an error itself, so errors.AsType does not take it
	if !errors.As(err, &status) {
		return metav1.Status{}
	}
	return status.Status()
}

// StatusCode returns the HTTP status of the API server's response; 0 without one.
func StatusCode(err error) int { return int(answer(err).Code) }

// StatusDetails returns the details of the API server's response; empty without any.
func StatusDetails(err error) metav1.StatusDetails {
	if d := answer(err).Details; d != nil {
		return *d
	}
	return metav1.StatusDetails{}
}

// Conflict reports whether another client has written the object since it was read, or owns an
// applied field. Retry a conflict without a report. An admission webhook that denies with the code
// 409 names neither the object nor causes: its denial is a refusal.
func Conflict(err error) bool {
	return apierrors.IsConflict(err) &&
		(StatusDetails(err).Name != "" || apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict))
}

// Refused reports whether only a user can make the request succeed. It reads the status code: an
// admission webhook may give any reason.
func Refused(err error) bool {
	switch code := StatusCode(err); code {
	case http.StatusConflict:
		return !Conflict(err) && StatusDetails(err).Name == "" // AlreadyExists names the object
	case http.StatusUnauthorized:
		return denied(err)
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false // a retry may succeed
	default:
		return code >= 400 && code < 500
	}
}

// denied reports whether a ValidatingAdmissionPolicy answered Unauthorized. The API server's own
// Unauthorized names no object, and client-go marks the answer of a proxy.
func denied(err error) bool {
	return StatusDetails(err).Name != "" && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// Redacted reduces an error of the API server to "403 Forbidden": an admission webhook may quote
// the refused Secret. Other errors stay.
func Redacted(err error) error {
	code := StatusCode(err)
	if code == 0 {
		return err
	}
	return fmt.Errorf("%d %s", code, http.StatusText(code))
}
