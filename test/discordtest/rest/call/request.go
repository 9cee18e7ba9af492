// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net/http"
	"net/url"
	"time"
)

// Request is a recorded REST call, without Authorization header and webhook tokens.
type Request struct {
	Time time.Time
	// Route is "METHOD /template", "* /template" for an unknown method, "* /" for an unknown path.
	Method, Route string
	// Path includes the API version but not the host.
	Path  string
	Query url.Values

	Header http.Header
	Body   []byte
	// BotID is the user id of the calling bot, or empty without a valid token.
	BotID string
	// Status is the HTTP status of the response, even if a fault then cuts or drops the response.
	// It is 0 for a running call, and for a call that a fault drops instead of executing it.
	Status int
}
