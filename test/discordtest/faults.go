// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"fmt"
	"net/http"
	"time"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// FailBefore answers with the given 5xx status and does not execute the call.
func FailBefore(status int) Action {
	return Action{Status: status, Body: gatewayError(status)}
}

// FailAfter executes the call and then answers with the given 5xx status.
func FailAfter(status int) Action {
	return Action{Effect: true, Status: status, Body: gatewayError(status)}
}

// GiveUp answers with the given 5xx status at once, and executes the call when the duration `late`
// has passed.
func GiveUp(status int, late time.Duration) Action {
	return Action{Late: late, Status: status, Body: gatewayError(status)}
}

// DropBefore closes the connection and does not execute the call.
func DropBefore() Action { return Action{Drop: true} }

// DropAfter executes the call and closes the connection without a response.
func DropAfter() Action { return Action{Effect: true, Drop: true} }

// CutAnswer executes the call, and closes the connection after n bytes of the response. If n is
// negative, the last -n bytes are missing.
func CutAnswer(n int) Action { return Action{Effect: true, Drop: true, Cut: n} }

// Slow delays the execution by `before`. After the execution, it delays the response by `after`.
func Slow(before, after time.Duration) Action {
	return Action{Effect: true, Before: before, After: after}
}

// Hold executes the call and delays the response until release is closed.
func Hold(release <-chan struct{}) Action { return Action{Effect: true, Hold: release} }

// RateLimited answers 429 and does not execute the call. The client may call again after the
// duration `after`. The scope is user, global or shared.
func RateLimited(after time.Duration, scope string) Action {
	h := http.Header{}
	status, body := (&call.TooMany{After: after, Scope: scope}).Write(h)
	h.Set("Content-Type", "application/json")
	return Action{Status: status, Header: h, Body: string(model.JSON(body))}
}

// Banned answers with Cloudflare's HTML 429 for an IP address that stays banned for the time left.
// It does not execute the call.
func Banned(left time.Duration) Action {
	a := call.CloudflareBan(left)
	return Action{Status: a.Status, Header: a.Header, Body: string(a.Body)}
}

// BadGateway answers with Cloudflare's HTML 502 and does not execute the call.
func BadGateway() Action {
	return Action{
		Status: http.StatusBadGateway,
		Header: http.Header{"Content-Type": {"text/html; charset=UTF-8"}, "Server": {"cloudflare"}},
		Body: "<html><head><title>502 Bad Gateway</title></head>" +
			"<body><center><h1>502 Bad Gateway</h1></center><hr><center>cloudflare</center></body></html>",
	}
}

// Garbage answers 200 with invalid JSON and does not execute the call.
func Garbage() Action {
	return Action{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"id": "12`,
	}
}

func gatewayError(status int) string {
	return fmt.Sprintf(`{"message": "%d: %s", "code": 0}`, status, http.StatusText(status))
}
