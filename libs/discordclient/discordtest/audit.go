package discordtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Actions of the audit log.
const (
	auditGuildUpdate     = 1
	auditChannelCreate   = 10
	auditChannelUpdate   = 11
	auditChannelDelete   = 12
	auditOverwriteCreate = 13
	auditOverwriteUpdate = 14
	auditOverwriteDelete = 15
	auditWebhookCreate   = 50
	auditWebhookUpdate   = 51
	auditWebhookDelete   = 52
)

// reason reads X-Audit-Log-Reason: URL-encoded, 1 to 512 characters.
func (c *call) reason() (string, error) {
	raw := c.r.Header.Get("X-Audit-Log-Reason")
	text, err := url.PathUnescape(raw)
	if err != nil {
		text = raw
	}
	if n := utf8.RuneCountInString(text); n > 512 {
		return "", invalidForm(fieldError{"reason", "BASE_TYPE_MAX_LENGTH", "Must be 512 or fewer in length."})
	}
	return text, nil
}

// log writes an entry that readers see after Options.AuditDelay; members with the intent and VIEW_AUDIT_LOG get it as an
// event then. A fault may lose it.
func (s *Server) log(g *guild, e AuditEntry) {
	e.ID = s.newID()
	if s.faults.loseAudit != 0 {
		s.faults.loseAudit--
		e.Lost = true
		g.audit = append(g.audit, e)
		return
	}
	delay := max(0, s.opts.AuditDelay)
	e.VisibleAt = s.clock.now().Add(delay)
	g.audit = append(g.audit, e)
	tell := func() {
		w := e.wire()
		w["guild_id"] = g.ID
		s.emit(g, "GUILD_AUDIT_LOG_ENTRY_CREATE", w)
	}
	if delay == 0 {
		tell()
		return
	}
	s.clock.after(delay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		tell()
	})
}

// logUpdate is log for the edit of a channel: one entry with the fields that differ, none when none does; overwrites
// have entries of their own.
func (s *Server) logUpdate(g *guild, user string, before, after *Channel, reason string) {
	var changes []Change
	old, now := before.wire(), after.wire()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if key != "permission_overwrites" && !reflect.DeepEqual(old[key], now[key]) {
			changes = append(changes, Change{Key: key, Old: old[key], New: now[key]})
		}
	}
	if len(changes) > 0 {
		s.log(g, AuditEntry{Action: auditChannelUpdate, UserID: user, TargetID: before.ID, Reason: reason, Changes: changes})
	}
	for _, d := range overwriteChanges(before.Overwrites, after.Overwrites) {
		s.log(g, AuditEntry{Action: d.action, UserID: user, TargetID: before.ID, Reason: reason,
			Changes: []Change{{Key: "allow", New: d.Allow}, {Key: "deny", New: d.Deny}},
			Options: map[string]string{"id": d.ID, "type": strconv.Itoa(d.Type)}})
	}
}

// overwriteChange is an overwrite with what happened to it.
type overwriteChange struct {
	Overwrite
	action int
}

// overwriteChanges compares two lists.
func overwriteChanges(before, after []Overwrite) (out []overwriteChange) {
	find := func(list []Overwrite, id string) int {
		return slices.IndexFunc(list, func(o Overwrite) bool { return o.ID == id })
	}
	for _, o := range after {
		switch i := find(before, o.ID); {
		case i < 0:
			out = append(out, overwriteChange{o, auditOverwriteCreate})
		case before[i] != o:
			out = append(out, overwriteChange{o, auditOverwriteUpdate})
		}
	}
	for _, o := range before {
		if find(after, o.ID) < 0 {
			out = append(out, overwriteChange{o, auditOverwriteDelete})
		}
	}
	return out
}

// wire is the entry as Discord tells it.
func (e *AuditEntry) wire() map[string]any {
	w := map[string]any{"id": e.ID, "action_type": e.Action, "user_id": orNull(e.UserID), "target_id": orNull(e.TargetID)}
	if e.Reason != "" {
		w["reason"] = e.Reason
	}
	if len(e.Changes) > 0 {
		w["changes"] = e.Changes
	}
	if len(e.Options) > 0 {
		w["options"] = e.Options
	}
	return w
}

// getAuditLog is GET /guilds/{guild_id}/audit-logs: newest first, or oldest first with `after`.
func (c *call) getAuditLog() (int, any, error) {
	g, err := c.guildWith(PermViewAuditLog)
	if err != nil {
		return 0, nil, err
	}
	limit, err := c.number("limit", 50, 1, 100)
	if err != nil {
		return 0, nil, err
	}
	q := c.r.URL.Query()
	for _, key := range []string{"user_id", "target_id", "before", "after"} {
		if v := q.Get(key); v != "" && !isSnowflake(v) {
			return 0, nil, invalidForm(fieldError{key, "NUMBER_TYPE_COERCE", fmt.Sprintf("Value %q is not snowflake.", v)})
		}
	}
	action, err := c.number("action_type", 0, 0, 1000)
	if err != nil {
		return 0, nil, err
	}
	var found []AuditEntry
	for _, e := range g.audit {
		if !e.Lost && !e.VisibleAt.After(c.now) && (action == 0 || e.Action == action) &&
			matches(q.Get("user_id"), e.UserID) && matches(q.Get("target_id"), e.TargetID) &&
			(q.Get("before") == "" || compareIDs(e.ID, q.Get("before")) < 0) && (q.Get("after") == "" || compareIDs(e.ID, q.Get("after")) > 0) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b AuditEntry) int {
		if q.Get("after") != "" {
			return compareIDs(a.ID, b.ID)
		}
		return compareIDs(b.ID, a.ID)
	})
	return http.StatusOK, c.auditPage(g, found[:min(limit, len(found))]), nil
}

// matches says whether a filter lets a value through.
func matches(filter, value string) bool { return cmp.Or(filter, value) == value }

// auditPage is the answer: the entries with the users and webhooks that they name.
func (c *call) auditPage(g *guild, entries []AuditEntry) map[string]any {
	list, users, hooks := []any{}, map[string]any{}, map[string]any{}
	for _, e := range entries {
		list = append(list, e.wire())
		if u := c.srv.users[e.UserID]; u != nil {
			users[u.ID] = u.wire()
		}
		if w := g.webhooks[e.TargetID]; w != nil {
			hooks[w.ID] = c.srv.webhookWire(w, "")
		}
	}
	page := map[string]any{"audit_log_entries": list, "users": values(users), "webhooks": values(hooks)}
	for _, key := range []string{"integrations", "guild_scheduled_events", "threads", "application_commands", "auto_moderation_rules"} {
		page[key] = []any{}
	}
	return page
}

// values are the values of a map in the order of its keys.
func values(m map[string]any) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}
