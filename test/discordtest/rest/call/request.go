// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net/http"
	"net/url"
	"time"
)

// Request is a received REST call, without secrets: no Authorization, and "[token]" instead of a
// webhook's.
type Request struct {
	// Time of arrival on the simulator's clock.
	Time time.Time
	// Method and Route, "METHOD /template"; unknown paths have "* /".
	Method, Route string
	// Path without the host, with version.
	Path  string
	Query url.Values
	// Header without Authorization.
	Header http.Header
	Body   []byte
	// BotID is the calling bot user; empty for none or an unknown token.
	BotID string
	// Status of the response; 0 during the call and for a cut connection.
	Status int
}
