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

// WithCaller returns a context for the next calls (1 or more) of one caller, such as an object's
// UID. If Discord's 50 calls per second delay the first one, the caller gets a place in the queue.
// Once all its calls fit, turn runs in another goroutine, and the place is reserved for one second.
// With a nil turn, call again within one second after [RateLimited]'s estimate. Without WithCaller,
// equal calls share one place.
func WithCaller(ctx context.Context, id string, calls int, turn func()) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{id, calls, turn})
}

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
