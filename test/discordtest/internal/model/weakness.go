// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"time"
)

// Weakness makes random REST responses wrong. Rates are probabilities from 0 to 1.
type Weakness struct {
	// Stale is the rate of calls that read the state before recent writes; see For.
	Stale float64
	// Missing is the rate of writes that hide a channel or webhook from GET, PATCH and lists, as in
	// https://github.com/discord/discord-api-docs/issues/8445. See For.
	Missing float64
	// For is the maximum time of wrong reads after a write; the time is random. Default 2 s.
	For time.Duration
	// Unauthorized, Forbidden and ServerErrors are the rates of 401, 403 and 5xx without a reason.
	// Some calls with a 5xx are executed. Unauthorized also applies to IDENTIFY (4004).
	Unauthorized, Forbidden, ServerErrors float64
}

// lag makes reads of an object wrong until a time. If missing is true, the object is not found;
// otherwise, reads may be stale.
type lag[T any] struct {
	before  *T // state before the write; nil if the write created the object
	missing bool
	until   time.Time
}

const keepLags = 64

// wrote records a write, so that later reads can be wrong. before is the former state, nil
// for a new object.
func wrote[T any](d *Discord, lags map[string]lag[T], id string, before *T) {
	if d.Weakness.Stale == 0 && d.Weakness.Missing == 0 {
		return
	}
	now := d.Clock.Now()
	if len(lags) > keepLags {
		maps.DeleteFunc(lags, func(_ string, l lag[T]) bool { return !now.Before(l.until) })
	}
	longest := d.Weakness.For
	if longest == 0 {
		longest = 2 * time.Second
	}
	lags[id] = lag[T]{before: before, missing: d.Chance(d.Weakness.Missing), until: now.Add(d.UpTo(longest))}
}

func read[T any](d *Discord, lags map[string]lag[T], id string, now *T, stale bool) *T {
	switch l, ok := lags[id]; {
	case !ok || !d.Clock.Now().Before(l.until):
		return now
	case l.missing:
		return nil
	case stale:
		return l.before
	}
	return now
}

func reads[T any](d *Discord, lags map[string]lag[T], now map[string]*T, stale bool) map[string]*T {
	out := maps.Clone(now)
	for id := range lags {
		if got := read(d, lags, id, now[id], stale); got != nil {
			out[id] = got
		} else {
			delete(out, id)
		}
	}
	return out
}

// WroteWebhook records a write for Options.Weakness. before is nil for a new webhook.
func (d *Discord) WroteWebhook(g *GuildState, id string, before *Webhook) {
	wrote(d, g.webhookLags, id, before)
}

// ReadChannel is FindChannel, but Options.Weakness can make its result wrong.
func (d *Discord) ReadChannel(id string, stale bool) (*GuildState, *Channel) {
	for _, g := range d.Guilds {
		if ch := read(d, g.channelLags, id, g.Channels[id], stale); ch != nil {
			return g, ch
		}
	}
	return nil, nil
}

// ReadWebhook is FindWebhook, but Options.Weakness can make its result wrong.
func (d *Discord) ReadWebhook(id string, stale bool) (*GuildState, *Webhook) {
	for _, g := range d.Guilds {
		if w := read(d, g.webhookLags, id, g.Webhooks[id], stale); w != nil {
			return g, w
		}
	}
	return nil, nil
}

// ReadSettings returns the guild in Discord's JSON, before the last write if stale is true.
func (d *Discord) ReadSettings(g *GuildState, stale bool) map[string]any {
	settings := read(d, g.settingsLags, g.ID, &g.Guild, stale)
	if settings == nil { // Weakness.Missing does not apply to guilds
		settings = &g.Guild
	}
	return (&GuildState{Guild: *settings}).Wire()
}
