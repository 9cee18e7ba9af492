// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"fmt"
	"net/http"
	"time"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// FailBefore answers with a 5xx without doing anything.
func FailBefore(status int) Action {
	return Action{Status: status, Body: gatewayError(status)}
}

// FailAfter does what is asked, then answers with a 5xx.
func FailAfter(status int) Action {
	return Action{Effect: true, Status: status, Body: gatewayError(status)}
}

// GiveUp answers with a 5xx and does what is asked later: a proxy has given up on Discord, but
// Discord goes on.
func GiveUp(status int, late time.Duration) Action {
	return Action{Late: late, Status: status, Body: gatewayError(status)}
}

// DropBefore closes the connection without doing anything.
func DropBefore() Action { return Action{Drop: true} }

// DropAfter does what is asked, then closes the connection without an answer.
func DropAfter() Action { return Action{Effect: true, Drop: true} }

// CutAnswer does what is asked and closes the connection after n bytes of the answer; negative: n
// bytes before its end.
func CutAnswer(n int) Action { return Action{Effect: true, Drop: true, Cut: n} }

// Slow does what is asked and answers late.
func Slow(before, after time.Duration) Action {
	return Action{Effect: true, Before: before, After: after}
}

// Hold does what is asked and keeps the answer back until release is closed.
func Hold(release <-chan struct{}) Action { return Action{Effect: true, Hold: release} }

// RateLimited answers 429 with a scope (user, global, shared) without doing anything.
func RateLimited(after time.Duration, scope string) Action {
	h := http.Header{}
	status, body := (&call.TooMany{After: after, Scope: scope}).Write(h)
	h.Set("Content-Type", "application/json")
	return Action{Status: status, Header: h, Body: string(model.JSON(body))}
}

// Banned answers as Cloudflare does for an address with too many invalid requests: 429 in HTML.
func Banned(left time.Duration) Action {
	a := call.CloudflareBan(left)
	return Action{Status: a.Status, Header: a.Header, Body: string(a.Body)}
}

// BadGateway answers as Cloudflare does when it does not reach Discord: 502 in HTML, without doing
// anything.
func BadGateway() Action {
	return Action{
		Status: http.StatusBadGateway,
		Header: http.Header{"Content-Type": {"text/html; charset=UTF-8"}, "Server": {"cloudflare"}},
		Body: "<html><head><title>502 Bad Gateway</title></head>" +
			"<body><center><h1>502 Bad Gateway</h1></center><hr><center>cloudflare</center></body></html>",
	}
}

// Garbage answers 200 with something that is no JSON, without doing anything.
func Garbage() Action {
	return Action{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"id": "12`,
	}
}

// gatewayError is the body of Discord's 5xx answers.
func gatewayError(status int) string {
	return fmt.Sprintf(`{"message": "%d: %s", "code": 0}`, status, http.StatusText(status))
}
