// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net/http"
	"net/url"
	"time"
)

// Request is a REST call that arrived. Secrets are not in it: no Authorization, and "[token]" where
// a webhook's would be.
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
	// BotID is the bot user that called; empty for none or an unknown token.
	BotID string
	// Status of the answer; 0 when the connection was cut or the call is still on.
	Status int
}
