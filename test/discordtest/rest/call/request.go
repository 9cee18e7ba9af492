// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net/http"
	"net/url"
	"time"
)

// Request is a recorded REST call without secrets. It has no Authorization header, and its path has
// "[token]" in place of a webhook's token.
type Request struct {
	// Time is the time of arrival on the simulator's clock.
	Time time.Time
	// Route is "METHOD /template", "* /template" for an unknown method, "* /" for an unknown path.
	Method, Route string
	// Path includes the API version but not the host.
	Path  string
	Query url.Values
	// Header lacks Authorization.
	Header http.Header
	Body   []byte
	// BotID is the user id of the calling bot, or empty without a valid token.
	BotID string
	// Status is the HTTP status of the response, even if a fault then cuts the response off. It is
	// 0 before the response, and if a fault closes the connection without executing the call.
	Status int
}
