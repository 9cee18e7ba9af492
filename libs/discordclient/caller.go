// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"net/http"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

type callerKey struct{}

type caller struct {
	id    string
	calls int
	turn  func()
}

// WithCaller returns a context for the calls of one caller, such as a Kubernetes object, by its UID.
// Where Discord's limit of calls of all kinds holds one back, the caller has a place in the line: it does
// not have to ask again and again. When the number of calls, 1 or more, that it is about to make fits into
// the limit, turn is called, once and from another goroutine, and the place is kept for a second more.
// With a nil turn the caller has to come by itself, within a second after the time that [RateLimited]
// names, which is an estimate. Without a caller, equal calls have one place together.
func WithCaller(ctx context.Context, id string, calls int, turn func()) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{id, calls, turn})
}

// limited is what the limiter needs to know about the call: creates and deletes are urgent.
func (c *call) limited(ctx context.Context) ratelimit.Call {
	by, ok := ctx.Value(callerKey{}).(caller)
	if !ok {
		by = caller{id: c.method + " " + c.url, calls: 1}
	}
	return ratelimit.Call{
		Route: c.method + " " + c.route, Major: c.major, Hidden: c.hidden,
		Urgent: c.method == http.MethodPost || c.method == http.MethodDelete,
		Caller: by.id, More: max(by.calls-1, 0), Turn: by.turn,
	}
}
