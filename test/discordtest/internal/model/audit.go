// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Action types of audit log entries.
const (
	auditGuildUpdate     = 1
	AuditChannelCreate   = 10
	auditChannelUpdate   = 11
	AuditChannelDelete   = 12
	AuditOverwriteCreate = 13
	AuditOverwriteUpdate = 14
	AuditOverwriteDelete = 15
	AuditMemberRoles     = 25
	AuditRoleCreate      = 30
	AuditRoleUpdate      = 31
	AuditRoleDelete      = 32
	AuditWebhookCreate   = 50
	AuditWebhookUpdate   = 51
	AuditWebhookDelete   = 52
)

// AuditKept is the time after which Discord deletes audit log entries.
const AuditKept = 45 * 24 * time.Hour

// AuditEntry is an audit log entry. Clients see it from VisibleAt on, unless it is Lost.
type AuditEntry struct {
	ID, UserID, TargetID, Reason string
	Action                       int
	Changes                      []Change
	Options                      map[string]string
	VisibleAt                    time.Time
	Lost                         bool
}

// Change is the old and the new value of one field in an audit log entry.
type Change struct {
	Key string `json:"key"`
	New any    `json:"new_value,omitempty"`
	Old any    `json:"old_value,omitempty"`
}

// Log writes an audit log entry and its event, unless Options.Compatible is set. Both become
// visible after Options.AuditDelay plus a random time up to Options.AuditJitter, or never if
// LoseAudit is not 0.
func (d *Discord) Log(g *GuildState, e AuditEntry) {
	if d.opts.Compatible {
		return
	}
	e.ID = d.NewID()
	if d.LoseAudit != 0 {
		d.LoseAudit--
		e.Lost = true
		g.Audit = append(g.Audit, e)
		return
	}
	delay := max(0, d.opts.AuditDelay)
	if d.opts.AuditJitter > 0 {
		delay += d.UpTo(d.opts.AuditJitter)
	}
	e.VisibleAt = d.Clock.Now().Add(delay)
	g.Audit = append(g.Audit, e)
	publish := func() {
		w := e.Wire()
		w["guild_id"] = g.ID
		d.Emit(g, "GUILD_AUDIT_LOG_ENTRY_CREATE", w)
	}
	if delay == 0 {
		publish()
		return
	}
	d.After(delay, publish)
}

// Fill adds n visible entries without events, as if a user had created n channels.
func (d *Discord) Fill(g *GuildState, user string, n int) {
	for range n {
		id := d.NewID()
		g.Audit = append(g.Audit, AuditEntry{
			ID: d.NewID(), Action: AuditChannelCreate, UserID: user, TargetID: id, VisibleAt: d.Clock.Now(),
			Changes: []Change{{Key: "name", New: "ticket-" + id}, {Key: "type", New: TypeText}},
		})
	}
}

// LogUpdate writes one entry with a channel's changed fields, and one per changed overwrite.
func (d *Discord) LogUpdate(g *GuildState, user string, before, after *Channel, reason string) {
	var changes []Change
	old, now := before.Wire(), after.Wire()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if key != "permission_overwrites" && !reflect.DeepEqual(old[key], now[key]) {
			changes = append(changes, Change{Key: key, Old: old[key], New: now[key]})
		}
	}
	if len(changes) > 0 {
		d.Log(g, AuditEntry{Action: auditChannelUpdate, UserID: user, TargetID: before.ID, Reason: reason, Changes: changes})
	}
	for _, o := range overwriteChanges(before.Overwrites, after.Overwrites) {
		d.Log(g, OverwriteEntry(o.action, user, before.ID, reason, o.Overwrite))
	}
}

// OverwriteEntry returns the audit log entry for a changed overwrite.
func OverwriteEntry(action int, user, channel, reason string, o Overwrite) AuditEntry {
	return AuditEntry{
		Action: action, UserID: user, TargetID: channel, Reason: reason,
		Changes: []Change{{Key: "allow", New: o.Allow}, {Key: "deny", New: o.Deny}},
		Options: map[string]string{"id": o.ID, "type": strconv.Itoa(o.Type)},
	}
}

type overwriteChange struct {
	Overwrite
	action int
}

func overwriteChanges(before, after []Overwrite) (out []overwriteChange) {
	find := func(list []Overwrite, id string) int {
		return slices.IndexFunc(list, func(o Overwrite) bool { return o.ID == id })
	}
	for _, o := range after {
		switch i := find(before, o.ID); {
		case i < 0:
			out = append(out, overwriteChange{o, AuditOverwriteCreate})
		case before[i] != o:
			out = append(out, overwriteChange{o, AuditOverwriteUpdate})
		}
	}
	for _, o := range before {
		if find(after, o.ID) < 0 {
			out = append(out, overwriteChange{o, AuditOverwriteDelete})
		}
	}
	return out
}

// Wire returns the entry in Discord's JSON.
func (e *AuditEntry) Wire() map[string]any {
	w := map[string]any{"id": e.ID, "action_type": e.Action, "user_id": OrNull(e.UserID), "target_id": OrNull(e.TargetID)}
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
