// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net/http"
	"net/url"
	"time"
)

// Request is a received REST call without secrets. It has no Authorization header, and its path has
// "[token]" instead of a webhook's token.
type Request struct {
	// Time is the time of arrival on the simulator's clock.
	Time time.Time
	// Route is "METHOD /template". Unknown paths have the route "* /".
	Method, Route string
	// Path includes the API version but not the host.
	Path  string
	Query url.Values
	// Header lacks Authorization.
	Header http.Header
	Body   []byte
	// BotID is the id of the calling bot user. It is empty if the call has no token or an unknown
	// token.
	BotID string
	// Status is the status of the response. It is 0 until the response is sent, and stays 0 if the
	// connection was cut.
	Status int
}
