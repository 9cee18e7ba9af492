package discordtest

import (
	"net/http"
	"strings"
)

// gatewayURL is where websockets connect to.
func (s *Server) gatewayURL() string { return "ws" + strings.TrimPrefix(s.url, "http") + "/gateway" }

// getGateway is GET /gateway.
func (c *call) getGateway() (int, any, error) {
	return http.StatusOK, map[string]any{"url": c.srv.gatewayURL()}, nil
}

// getGatewayBot is GET /gateway/bot: with how many sessions may still be started today.
func (c *call) getGatewayBot() (int, any, error) {
	l := c.srv.opts.Limits
	total, used, reset := l.SessionStarts.N, 0, 0
	if total == 0 {
		total = 1000
	} else {
		w := c.srv.limits.look("starts/"+c.bot.UserID, l.SessionStarts, c.now)
		used, reset = w.used, int((l.SessionStarts.Per - c.now.Sub(w.start)).Milliseconds())
	}
	return http.StatusOK, map[string]any{"url": c.srv.gatewayURL(), "shards": 1, "session_start_limit": map[string]any{
		"total": total, "remaining": max(0, total-used), "reset_after": reset, "max_concurrency": max(1, l.Identify.N)}}, nil
}

// getMe is GET /users/@me.
func (c *call) getMe() (int, any, error) {
	w := c.bot.user.wire()
	w["mfa_enabled"], w["locale"], w["verified"], w["email"] = !c.bot.OwnerWithout2FA, "en-US", true, nil
	return http.StatusOK, w, nil
}

// getMyGuilds is GET /users/@me/guilds: by age, a page at a time.
func (c *call) getMyGuilds() (int, any, error) {
	limit, err := c.number("limit", 200, 1, 200)
	if err != nil {
		return 0, nil, err
	}
	q, out := c.r.URL.Query(), []any{}
	for _, g := range c.srv.sortedGuilds() {
		if g.members[c.bot.UserID] == nil || q.Get("after") != "" && compareIDs(g.ID, q.Get("after")) <= 0 ||
			q.Get("before") != "" && compareIDs(g.ID, q.Get("before")) >= 0 {
			continue
		}
		w := map[string]any{"id": g.ID, "name": g.Name, "icon": orNull(g.Icon), "banner": orNull(g.Banner), "owner": g.OwnerID == c.bot.UserID,
			"permissions": g.guildPermissions(c.bot.UserID), "features": append([]string{}, g.Features...)}
		if c.flag("with_counts") {
			w["approximate_member_count"], w["approximate_presence_count"] = len(g.members), 1
		}
		out = append(out, w)
	}
	if q.Get("before") != "" && len(out) > limit { // the page that ends there, not the first one
		out = out[len(out)-limit:]
	}
	return http.StatusOK, out[:min(limit, len(out))], nil
}

// leaveGuild is DELETE /users/@me/guilds/{guild_id}.
func (c *call) leaveGuild() (int, any, error) {
	g, err := c.guild()
	if err != nil {
		return 0, nil, err
	}
	c.srv.removeMember(g, c.bot.UserID)
	return http.StatusNoContent, nil, nil
}

// getApplication is GET /applications/@me and its older name.
func (c *call) getApplication() (int, any, error) {
	owner := &User{ID: "1", Name: "owner"}
	return http.StatusOK, map[string]any{
		"id": c.bot.ApplicationID, "name": c.bot.Name, "icon": nil, "description": "", "type": nil, "bot": c.bot.user.wire(),
		"bot_public": true, "bot_require_code_grant": false, "verify_key": strings.Repeat("0", 64), "flags": 0, "flags_new": "0",
		"redirect_uris": []any{}, "interactions_endpoint_url": nil, "role_connections_verification_url": nil, "owner": owner.wire(),
		"approximate_guild_count": c.srv.guildsOf(c.bot.UserID), "approximate_user_install_count": 0, "approximate_user_authorization_count": 0,
		"explicit_content_filter": 0, "team": nil, "eligible_oauth2_scopes": []any{},
	}, nil
}

// getRoles is GET /guilds/{guild_id}/roles.
func (c *call) getRoles() (int, any, error) {
	g, err := c.guild()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, g.wire()["roles"], nil
}

// getMember is GET /guilds/{guild_id}/members/{user_id}.
func (c *call) getMember() (int, any, error) {
	g, err := c.guild()
	if err != nil {
		return 0, nil, err
	}
	m, u := g.members[c.r.PathValue("user_id")], c.srv.users[c.r.PathValue("user_id")]
	switch {
	case u == nil:
		return 0, nil, errUnknownUser
	case m == nil:
		return 0, nil, errUnknownMember
	}
	return http.StatusOK, m.wire(u), nil
}
