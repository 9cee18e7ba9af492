package discordtest

import (
	"net/http"
	"slices"
)

// route is one REST route: the template is Discord's own.
type route struct {
	method, template string
	// open routes need no Authorization.
	open bool
	// noGlobal routes do not count against the 50 calls per second.
	noGlobal bool
	handle   func(*call) (status int, body any, err error)
}

// String is "METHOD /template", the name by which limits, faults and recorded requests know it.
func (r *route) String() string { return r.method + " " + r.template }

// table is every REST route that the simulator knows.
func table() []*route {
	const (
		guild, channels    = "/guilds/{guild_id}", "/guilds/{guild_id}/channels"
		channel, overwrite = "/channels/{channel_id}", "/channels/{channel_id}/permissions/{overwrite_id}"
		webhook, secret    = "/webhooks/{webhook_id}", "/webhooks/{webhook_id}/{webhook_token}" //nolint:gosec // G101: a path template, no credential
	)
	return []*route{
		{method: "GET", template: "/gateway", open: true, handle: (*call).getGateway},
		{method: "GET", template: "/gateway/bot", handle: (*call).getGatewayBot},
		{method: "GET", template: "/users/@me", handle: (*call).getMe},
		{method: "GET", template: "/users/@me/guilds", handle: (*call).getMyGuilds},
		{method: "DELETE", template: "/users/@me/guilds/{guild_id}", handle: (*call).leaveGuild},
		{method: "GET", template: "/applications/@me", handle: (*call).getApplication},
		{method: "GET", template: "/oauth2/applications/@me", handle: (*call).getApplication},

		{method: "POST", template: "/guilds", handle: (*call).createGuild},
		{method: "GET", template: guild, handle: (*call).getGuild},
		{method: "PATCH", template: guild, handle: (*call).editGuild},
		{method: "DELETE", template: guild, handle: (*call).deleteGuild},
		{method: "GET", template: guild + "/roles", handle: (*call).getRoles},
		{method: "GET", template: guild + "/members/{user_id}", handle: (*call).getMember},
		{method: "GET", template: guild + "/audit-logs", handle: (*call).getAuditLog},
		{method: "GET", template: guild + "/webhooks", handle: (*call).getGuildWebhooks},

		{method: "GET", template: channels, handle: (*call).getChannels},
		{method: "POST", template: channels, handle: (*call).createChannel},
		{method: "PATCH", template: channels, handle: (*call).moveChannels},
		{method: "GET", template: channel, handle: (*call).getChannel},
		{method: "PATCH", template: channel, handle: (*call).editChannel},
		{method: "DELETE", template: channel, handle: (*call).deleteChannel},
		{method: "PUT", template: overwrite, handle: (*call).putOverwrite},
		{method: "DELETE", template: overwrite, handle: (*call).deleteOverwrite},

		{method: "POST", template: channel + "/webhooks", handle: (*call).createWebhook},
		{method: "GET", template: channel + "/webhooks", handle: (*call).getChannelWebhooks},
		{method: "GET", template: webhook, handle: (*call).getWebhook},
		{method: "PATCH", template: webhook, handle: (*call).editWebhook},
		{method: "DELETE", template: webhook, handle: (*call).deleteWebhook},
		{method: "GET", template: secret, open: true, handle: (*call).getWebhookWithToken},
		{method: "PATCH", template: secret, open: true, handle: (*call).editWebhookWithToken},
		{method: "DELETE", template: secret, open: true, handle: (*call).deleteWebhookWithToken},
		{method: "POST", template: secret, open: true, noGlobal: true, handle: (*call).executeWebhook},
		{method: "GET", template: secret + "/messages/{message_id}", open: true, handle: (*call).getWebhookMessage},
		{method: "PATCH", template: secret + "/messages/{message_id}", open: true, handle: (*call).editWebhookMessage},
		{method: "DELETE", template: secret + "/messages/{message_id}", open: true, handle: (*call).deleteWebhookMessage},

		{method: "GET", template: channel + "/messages", handle: (*call).getMessages},
		{method: "POST", template: channel + "/messages", handle: (*call).createMessage},
		{method: "GET", template: channel + "/messages/{message_id}", handle: (*call).getMessage},
		{method: "DELETE", template: channel + "/messages/{message_id}", handle: (*call).deleteMessage},
	}
}

// Routes are the names of all REST routes that the simulator answers, "METHOD /template", sorted.
func Routes() []string {
	var out []string
	for _, r := range table() {
		out = append(out, r.String())
	}
	slices.Sort(out)
	return out
}

// routes puts the table, the Gateway and the page on one handler. API v10, v9 and no version at all (as in webhook URLs)
// behave the same on these routes.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, prefix := range []string{"/api/v10", "/api/v9", "/api"} {
		known := map[string]bool{}
		for _, rt := range table() {
			mux.HandleFunc(rt.method+" "+prefix+rt.template, s.serve(rt))
			if !known[rt.template] {
				known[rt.template] = true
				mux.HandleFunc(prefix+rt.template, s.serve(&route{method: "*", template: rt.template, open: true,
					handle: func(*call) (int, any, error) { return 0, nil, errMethod }}))
			}
		}
	}
	mux.HandleFunc("/api/", s.serve(&route{method: "*", template: "/", open: true,
		handle: func(*call) (int, any, error) { return 0, nil, errNotFound }}))
	mux.HandleFunc("GET /gateway", s.gateway.serve)
	mux.HandleFunc("GET /gateway/", s.gateway.serve)
	s.pageRoutes(mux)
	return mux
}
