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
	var status apierrors.APIStatus // errors.AsType does not accept this interface, because it is no error
	if !errors.As(err, &status) {
		return metav1.Status{}
	}
	return status.Status()
}

// StatusCode returns the HTTP status of the API server's response, or 0 without a response.
func StatusCode(err error) int { return int(answer(err).Code) }

// StatusDetails returns the details of the API server's response, which may be empty.
func StatusDetails(err error) metav1.StatusDetails {
	if d := answer(err).Details; d != nil {
		return *d
	}
	return metav1.StatusDetails{}
}

// Conflict reports whether a concurrent write, or a field that another client owns, caused the
// error. If so, retry without a report. A webhook's denial with code 409 is no conflict: it names
// neither the object nor a cause.
func Conflict(err error) bool {
	return apierrors.IsConflict(err) &&
		(StatusDetails(err).Name != "" || apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict))
}

// Refused reports whether only a user can make the request succeed. It uses the status code,
// because an admission webhook may give any reason.
func Refused(err error) bool {
	switch code := StatusCode(err); code {
	case http.StatusConflict:
		// AlreadyExists is no refusal. It names the object; a webhook's denial does not.
		return !Conflict(err) && StatusDetails(err).Name == ""
	case http.StatusUnauthorized:
		return denied(err)
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false // a retry may succeed
	default:
		return code >= 400 && code < 500
	}
}

// denied reports whether a 401 is a denial by a ValidatingAdmissionPolicy, which names the object.
// A 401 for failed authentication names no object. client-go marks a proxy's 401 with
// UnexpectedServerResponse.
func denied(err error) bool {
	return StatusDetails(err).Name != "" && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// Redacted reduces an API error to its status, because a webhook may quote the refused Secret.
func Redacted(err error) error {
	code := StatusCode(err)
	if code == 0 {
		return err
	}
	return fmt.Errorf("%d %s", code, http.StatusText(code))
}
