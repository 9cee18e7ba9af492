// SPDX-License-Identifier: Apache-2.0

package guilds

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// AuditLog is GET /guilds/{guild_id}/audit-logs: newest first, or oldest first with `after`.
func AuditLog(c *call.Call) (int, any, error) {
	g, err := c.GuildWith(model.PermViewAuditLog)
	if err != nil {
		return 0, nil, err
	}
	limit, err := c.Number("limit", 50, 1, 100)
	if err != nil {
		return 0, nil, err
	}
	q := c.Request.URL.Query()
	for _, key := range []string{"user_id", "target_id", "before", "after"} {
		if err := call.CheckID(key, cmp.Or(q.Get(key), "0")); err != nil {
			return 0, nil, err
		}
	}
	action, err := c.Number("action_type", 0, 0, 1000)
	if err != nil {
		return 0, nil, err
	}
	target := q.Get("target_id")
	if c.Options.IgnoreTargetID {
		target = ""
	}
	fits := func(e *model.AuditEntry) bool {
		return !e.Lost && !e.VisibleAt.After(c.Now) && c.Now.Sub(model.SnowflakeTime(e.ID)) < model.AuditKept &&
			(action == 0 || e.Action == action) && matches(q.Get("user_id"), e.UserID) && matches(target, e.TargetID) &&
			(q.Get("before") == "" || model.CompareIDs(e.ID, q.Get("before")) < 0) &&
			(q.Get("after") == "" || model.CompareIDs(e.ID, q.Get("after")) > 0)
	}
	var found []model.AuditEntry
	for i := 0; i < len(g.Audit) && len(found) < limit; i++ { // g.Audit is ordered by age
		e := &g.Audit[i]
		if q.Get("after") == "" {
			e = &g.Audit[len(g.Audit)-1-i]
		}
		if fits(e) {
			found = append(found, *e)
		}
	}
	return http.StatusOK, auditPage(c, g, found), nil
}

func matches(filter, value string) bool { return cmp.Or(filter, value) == value }

func auditPage(c *call.Call, g *model.GuildState, entries []model.AuditEntry) map[string]any {
	list, users, hooks := []any{}, map[string]any{}, map[string]any{}
	for _, e := range entries {
		list = append(list, e.Wire())
		if u := c.Discord.Users[e.UserID]; u != nil {
			users[u.ID] = u.Wire()
		}
		if w := g.Webhooks[e.TargetID]; w != nil {
			hooks[w.ID] = c.Discord.WebhookWire(w, "")
		}
	}
	page := map[string]any{"audit_log_entries": list, "users": values(users), "webhooks": values(hooks)}
	for _, key := range []string{
		"integrations", "guild_scheduled_events", "threads", "application_commands", "auto_moderation_rules",
	} {
		page[key] = []any{}
	}
	return page
}

func values(m map[string]any) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}
