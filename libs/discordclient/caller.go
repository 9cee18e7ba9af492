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

// WithCaller returns a context for the next calls (1 or more) of one caller. The id identifies the
// caller, for example by an object's UID. If [Options].GlobalPerSecond, or a tenant's half of it,
// delays the first call, the caller gets a place in a queue. Once all its calls are allowed,
// notifyReady runs in another goroutine, and the calls stay reserved for one second. If notifyReady
// is nil, retry within one second after the time in [RateLimited]. Without WithCaller, calls with
// the same method and URL share one place.
func WithCaller(ctx context.Context, id string, calls int, notifyReady func()) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{id, calls, notifyReady})
}

// WithTenant returns a context for the calls of one tenant. Tenants, such as Kubernetes namespaces,
// share one bot. If calls have to wait for [Options].GlobalPerSecond, the limiter serves the
// tenants in turn. A tenant for which [Options].Owner returns false may make at most half of the
// calls. Calls without a tenant are the bot's own and may use the whole limit.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// limited describes a call for the rate limiter. Creates and deletes are urgent: edits and reads
// leave a fifth of the limit to them.
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
