// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"slices"
	"strings"

	"jutsu.com/operators/test/discordtest/rest/call"
	"jutsu.com/operators/test/discordtest/rest/channels"
	"jutsu.com/operators/test/discordtest/rest/guilds"
	"jutsu.com/operators/test/discordtest/rest/messages"
	"jutsu.com/operators/test/discordtest/rest/roles"
	"jutsu.com/operators/test/discordtest/rest/users"
	"jutsu.com/operators/test/discordtest/rest/webhooks"
)

type route struct {
	method, template string
	// An open route needs no Authorization header.
	open bool
	// Calls of a noGlobal route do not count for the global limit.
	noGlobal bool
	handle   func(*call.Call) (status int, body any, err error)
}

// String returns "METHOD /template", which names the route in limits, faults and recorded calls.
func (r *route) String() string { return r.method + " " + r.template }

func (r *route) ids() (keys []string) {
	for part := range strings.SplitSeq(r.template, "/") {
		if strings.HasSuffix(part, "_id}") {
			keys = append(keys, strings.Trim(part, "{}"))
		}
	}
	return keys
}

func table() []*route {
	const (
		guild, list        = "/guilds/{guild_id}", "/guilds/{guild_id}/channels"
		channel, overwrite = "/channels/{channel_id}", "/channels/{channel_id}/permissions/{overwrite_id}"
		role, memberRole   = guild + "/roles/{role_id}", guild + "/members/{user_id}/roles/{role_id}"
		webhook            = "/webhooks/{webhook_id}"
		withToken          = "/webhooks/{webhook_id}/{webhook_token}" //nolint:gosec // G101: a path template, no credential
	)
	return []*route{
		{method: "GET", template: "/gateway", open: true, handle: users.Gateway},
		{method: "GET", template: "/gateway/bot", handle: users.GatewayBot},
		{method: "GET", template: "/users/@me", handle: users.Me},
		{method: "GET", template: "/users/@me/guilds", handle: users.Guilds},
		{method: "DELETE", template: "/users/@me/guilds/{guild_id}", handle: users.LeaveGuild},
		{method: "GET", template: "/applications/@me", handle: users.Application},
		{method: "GET", template: "/oauth2/applications/@me", handle: users.Application},

		{method: "GET", template: guild, handle: guilds.Get},
		{method: "PATCH", template: guild, handle: guilds.Edit},
		{method: "DELETE", template: guild, handle: guilds.Delete},
		{method: "GET", template: guild + "/members/{user_id}", handle: guilds.Member},
		{method: "GET", template: guild + "/audit-logs", handle: guilds.AuditLog},
		{method: "GET", template: guild + "/webhooks", handle: webhooks.ListOfGuild},

		{method: "GET", template: guild + "/roles", handle: roles.List},
		{method: "POST", template: guild + "/roles", handle: roles.Create},
		{method: "PATCH", template: guild + "/roles", handle: roles.Move},
		{method: "GET", template: role, handle: roles.Get},
		{method: "PATCH", template: role, handle: roles.Edit},
		{method: "DELETE", template: role, handle: roles.Delete},
		{method: "PUT", template: memberRole, handle: roles.Give},
		{method: "DELETE", template: memberRole, handle: roles.Take},

		{method: "GET", template: list, handle: channels.List},
		{method: "POST", template: list, handle: channels.Create},
		{method: "PATCH", template: list, handle: channels.Move},
		{method: "GET", template: channel, handle: channels.Get},
		{method: "PATCH", template: channel, handle: channels.Edit},
		{method: "DELETE", template: channel, handle: channels.Delete},
		{method: "PUT", template: overwrite, handle: channels.PutOverwrite},
		{method: "DELETE", template: overwrite, handle: channels.DeleteOverwrite},

		{method: "POST", template: channel + "/webhooks", handle: webhooks.Create},
		{method: "GET", template: channel + "/webhooks", handle: webhooks.ListOfChannel},
		{method: "GET", template: webhook, handle: webhooks.Get},
		{method: "PATCH", template: webhook, handle: webhooks.Edit},
		{method: "DELETE", template: webhook, handle: webhooks.Delete},
		{method: "GET", template: withToken, open: true, handle: webhooks.GetWithToken},
		{method: "PATCH", template: withToken, open: true, handle: webhooks.EditWithToken},
		{method: "DELETE", template: withToken, open: true, handle: webhooks.DeleteWithToken},
		{method: "POST", template: withToken, open: true, noGlobal: true, handle: messages.ExecuteWebhook},
		{method: "GET", template: withToken + "/messages/{message_id}", open: true, handle: messages.GetWebhookMessage},
		{method: "PATCH", template: withToken + "/messages/{message_id}", open: true, handle: messages.EditWebhookMessage},
		{method: "DELETE", template: withToken + "/messages/{message_id}", open: true, handle: messages.DeleteWebhookMessage},

		{method: "GET", template: channel + "/messages", handle: messages.List},
		{method: "POST", template: channel + "/messages", handle: messages.Create},
		{method: "GET", template: channel + "/messages/{message_id}", handle: messages.Get},
		{method: "DELETE", template: channel + "/messages/{message_id}", handle: messages.Delete},
	}
}

// Routes returns all REST routes in the form "METHOD /template", sorted.
func Routes() []string {
	var out []string
	for _, r := range table() {
		out = append(out, r.String())
	}
	slices.Sort(out)
	return out
}

// Mount adds the routes for API v10, v9 and no version (as in webhook URLs) to a mux.
func (h *Handler) Mount(mux *http.ServeMux) {
	unknown := func(template string, err error) http.HandlerFunc {
		return h.serve(&route{method: "*", template: template, open: true,
			handle: func(*call.Call) (int, any, error) { return 0, nil, err }})
	}
	for _, prefix := range []string{"/api/v10", "/api/v9", "/api"} {
		known := map[string]bool{}
		for _, rt := range table() {
			mux.HandleFunc(rt.method+" "+prefix+rt.template, h.serve(rt))
			if !known[rt.template] {
				known[rt.template] = true
				mux.HandleFunc(prefix+rt.template, unknown(rt.template, call.ErrMethod))
			}
		}
	}
	mux.HandleFunc("/api/", unknown("/", call.ErrNotFound))
}
