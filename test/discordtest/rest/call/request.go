// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net/http"
	"net/url"
	"time"
)

// Request is a received REST call without secrets: it has no
// Authorization header, and "[token]" in place of a webhook's token.
type Request struct {
	// Time is the time of arrival on the simulator's clock.
	Time time.Time
	// Route is "METHOD /template". Unknown paths have the route "* /".
	Method, Route string
	// Path has the version but not the host.
	Path  string
	Query url.Values
	// Header lacks Authorization.
	Header http.Header
	Body   []byte
	// BotID is the id of the calling bot user. It is empty without a token, or with an unknown one.
	BotID string
	// Status is the status of the response. It is 0 during the call, and if the connection was cut.
	Status int
}
