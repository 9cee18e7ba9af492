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

// WithCaller returns a context for the next calls (1 or more) of one caller, such as an object's
// UID. If [Options].GlobalPerSecond or its tenant's share delays the first one, the caller gets a
// place in the call queue. Once all its calls fit, notifyReady runs in another goroutine, and the
// place is reserved for one second. With a nil notifyReady, call again within one second after
// [RateLimited]'s estimate. Without WithCaller, equal calls share one place.
func WithCaller(ctx context.Context, id string, calls int, notifyReady func()) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{id, calls, notifyReady})
}

// WithTenant returns a context for the calls of one of the tenants that share the bot, such as a
// Kubernetes namespace. While calls wait for [Options].GlobalPerSecond, tenants take turns. A tenant
// that [Options].Owner does not report makes at most half of the calls. Calls without a tenant are the
// bot's own.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// limited returns the description of a call for the limiter: creates and deletes are urgent.
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
