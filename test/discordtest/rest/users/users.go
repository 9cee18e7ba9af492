// SPDX-License-Identifier: Apache-2.0

// Package users has the routes of the calling bot: its user, guilds, application and Gateway URL.
package users

import (
	"net/http"
	"strings"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Gateway is GET /gateway.
func Gateway(c *call.Call) (int, any, error) {
	return http.StatusOK, map[string]any{"url": c.Discord.GatewayURL()}, nil
}

// GatewayBot is GET /gateway/bot, with the number of sessions that the bot may still start.
func GatewayBot(c *call.Call) (int, any, error) {
	l := c.Options.Limits
	total, used, reset := l.SessionStarts.N, 0, 0
	if total == 0 {
		total = 1000
	} else {
		w := c.Windows.Current("starts/"+c.Bot.UserID, l.SessionStarts, c.Now)
		used, reset = w.Used, int((l.SessionStarts.Per - c.Now.Sub(w.Start)).Milliseconds())
	}
	return http.StatusOK, map[string]any{
		"url": c.Discord.GatewayURL(), "shards": shards(c),
		"session_start_limit": map[string]any{
			"total": total, "remaining": max(0, total-used), "reset_after": reset, "max_concurrency": max(1, l.Identify.N),
		},
	}, nil
}

// shardSize is Discord's recommended number of guilds per shard.
const shardSize = 1000

// shards returns the recommended number of shards: 1 for fewer than Limits.GuildsPerSession guilds.
func shards(c *call.Call) int {
	guilds, most := c.Discord.GuildsOf(c.Bot.UserID), c.Options.Limits.GuildsPerSession
	if most == 0 || guilds < most {
		return 1
	}
	size := min(shardSize, most)
	return (guilds + size - 1) / size
}

// Me is GET /users/@me.
func Me(c *call.Call) (int, any, error) {
	w := c.Bot.User.Wire()
	w["mfa_enabled"], w["locale"], w["verified"], w["email"] = !c.Bot.OwnerWithout2FA, "en-US", true, nil
	return http.StatusOK, w, nil
}

// Guilds is GET /users/@me/guilds. It returns one page of the bot's guilds, oldest first.
func Guilds(c *call.Call) (int, any, error) {
	limit, err := c.Number("limit", 200, 1, 200)
	if err != nil {
		return 0, nil, err
	}
	q, out := c.Request.URL.Query(), []any{}
	for _, g := range c.Discord.SortedGuilds() {
		switch {
		case g.Members[c.Bot.UserID] == nil,
			q.Get("after") != "" && model.CompareIDs(g.ID, q.Get("after")) <= 0,
			q.Get("before") != "" && model.CompareIDs(g.ID, q.Get("before")) >= 0:
			continue
		}
		w := map[string]any{
			"id": g.ID, "name": g.Name, "icon": model.OrNull(g.Icon), "banner": model.OrNull(g.Banner),
			"owner": g.OwnerID == c.Bot.UserID, "permissions": g.GuildPermissions(c.Bot.UserID),
			"features": append([]string{}, g.Features...),
		}
		if c.Flag("with_counts") {
			w["approximate_member_count"], w["approximate_presence_count"] = len(g.Members), 1
		}
		out = append(out, w)
	}
	if q.Get("before") != "" && len(out) > limit { // keep the guilds next to the id in `before`
		out = out[len(out)-limit:]
	}
	return http.StatusOK, out[:min(limit, len(out))], nil
}

// LeaveGuild is DELETE /users/@me/guilds/{guild_id}.
func LeaveGuild(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	c.Discord.RemoveMember(g, c.Bot.UserID)
	return http.StatusNoContent, nil, nil
}

// Application is GET /applications/@me and its older path, GET /oauth2/applications/@me.
func Application(c *call.Call) (int, any, error) {
	owner := &model.User{ID: "1", Name: "owner"}
	return http.StatusOK, map[string]any{
		"id": c.Bot.ApplicationID, "name": c.Bot.Name, "icon": nil, "description": "", "type": nil, "bot": c.Bot.User.Wire(),
		"bot_public": true, "bot_require_code_grant": false, "verify_key": strings.Repeat("0", 64),
		"flags": 0, "flags_new": "0", "owner": owner.Wire(), "team": nil,
		"redirect_uris": []any{}, "interactions_endpoint_url": nil, "role_connections_verification_url": nil,
		"approximate_guild_count": c.Discord.GuildsOf(c.Bot.UserID), "approximate_user_install_count": 0,
		"approximate_user_authorization_count": 0, "explicit_content_filter": 0, "eligible_oauth2_scopes": []any{},
	}, nil
}
