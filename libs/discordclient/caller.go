// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"net/http"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

type (
	callerKey struct{}
	tenantKey struct{}
)

type caller struct {
	id          string
	calls       int
	notifyReady func()
}

// WithCaller returns a context for the next calls of the caller with this id, such as an object's
// UID. If [Options].GlobalPerSecond delays the first call, the caller is queued. Once all its calls
// are allowed, they are reserved for one second, and notifyReady runs in another goroutine. Without
// notifyReady, wait for [RateLimited].After, and retry within a second. Without WithCaller, calls
// with the same method and URL share one place in the queue.
func WithCaller(ctx context.Context, id string, calls int, notifyReady func()) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{id, calls, notifyReady})
}

// WithTenant returns a context for the calls of one tenant, such as a Kubernetes namespace. Waiting
// tenants are served fairly. A tenant that [Options].Owner rejects may make at most half of the
// calls. Calls without a tenant may use the whole limit.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// limited returns the limiter's description of a call. Creates and deletes are urgent: a fifth of
// the calls per second is reserved for them.
func (c *Client) limited(ctx context.Context, cl *call) ratelimit.Call {
	by, ok := ctx.Value(callerKey{}).(caller)
	if !ok {
		by = caller{id: cl.method + " " + cl.url, calls: 1}
	}
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return ratelimit.Call{
		Route: cl.method + " " + cl.route, Major: cl.major, Hidden: cl.hidden,
		Urgent: cl.method == http.MethodPost || cl.method == http.MethodDelete,
		Tenant: tenant, Limited: tenant != "" && !c.opts.Owner(tenant),
		Caller: by.id, More: max(by.calls-1, 0), NotifyReady: by.notifyReady,
	}
}
