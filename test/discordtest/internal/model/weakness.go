// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"time"
)

// Weakness makes random responses wrong. The same seed repeats the same errors. With the zero
// value, all responses are right. Rates are probabilities from 0 to 1.
type Weakness struct {
	// Stale is the rate of stale calls. For a time after a write (see For), a stale GET returns the
	// state before the write, and a stale PATCH of a new object gets 404/10003.
	Stale float64
	// Missing is the rate of writes that hide a channel or webhook. For a time after such a write
	// (see For), GET, PATCH and lists do not find the object, although it exists (seen: #8445).
	Missing float64
	// For is the longest time after a write in which reads are wrong. Each write gets a random time
	// up to For. Default 2 s.
	For time.Duration
	// Unauthorized, Forbidden and ServerErrors are the rates at which a bot's calls get 401, 403 or
	// a 5xx for no reason. Some calls that get a 5xx are executed nevertheless. The rate
	// Unauthorized also applies to IDENTIFY, which then gets 4004.
	Unauthorized, Forbidden, ServerErrors float64
}

// lag makes reads of an object wrong until a time.
type lag[T any] struct {
	before  *T // nil if the write created the object
	missing bool
	until   time.Time
}

// keepLags is the number of lags above which wrote removes expired lags.
const keepLags = 64

// wrote records a write. before is the former state, or nil if the object did not exist.
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

// read returns the state of an object that a client's read gets. now is the current state, or nil
// if the object does not exist.
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

// WroteWebhook records a write of a webhook. before is the state before the write, or nil if the
// webhook did not exist.
func (d *Discord) WroteWebhook(g *GuildState, id string, before *Webhook) {
	wrote(d, g.webhookLags, id, before)
}

// ReadChannel is FindChannel for a read, which may be stale.
func (d *Discord) ReadChannel(id string, stale bool) (*GuildState, *Channel) {
	for _, g := range d.Guilds {
		if ch := read(d, g.channelLags, id, g.Channels[id], stale); ch != nil {
			return g, ch
		}
	}
	return nil, nil
}

// ReadWebhook is FindWebhook for a read, which may be stale.
func (d *Discord) ReadWebhook(id string, stale bool) (*GuildState, *Webhook) {
	for _, g := range d.Guilds {
		if w := read(d, g.webhookLags, id, g.Webhooks[id], stale); w != nil {
			return g, w
		}
	}
	return nil, nil
}

// ReadSettings returns the guild in Discord's JSON for a read, which may be stale.
func (d *Discord) ReadSettings(g *GuildState, stale bool) map[string]any {
	settings := read(d, g.settingsLags, g.ID, &g.Guild, stale)
	if settings == nil { // a guild is never missing
		settings = &g.Guild
	}
	return (&GuildState{Guild: *settings}).Wire()
}
