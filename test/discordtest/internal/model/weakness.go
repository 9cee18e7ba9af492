// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"time"
)

// Weakness makes random REST responses wrong. With the zero value, all responses are right. Rates
// are probabilities from 0 to 1. The same Options.Seed repeats the same errors.
type Weakness struct {
	// Stale is the rate of calls that read old state. For a time after a write (see For), a stale
	// GET returns the state before the write, and a stale PATCH of a new object gets 404.
	Stale float64
	// Missing is the rate of writes that hide a channel or webhook. For a time after the write (see
	// For), GET, PATCH and lists do not find the hidden object, although it exists, as reported in
	// https://github.com/discord/discord-api-docs/issues/8445.
	Missing float64
	// For is the maximum time of wrong reads after a write; the time is random. Default 2 s.
	For time.Duration
	// Unauthorized, Forbidden and ServerErrors are the rates at which a bot's calls get 401, 403 or
	// a 5xx without a reason. Some calls with a 5xx are executed nevertheless. Unauthorized also
	// applies to IDENTIFY, which then gets close code 4004.
	Unauthorized, Forbidden, ServerErrors float64
}

// lag makes reads of an object wrong until a time. A stale read gets the state before the write. If
// missing is true, no read finds the object.
type lag[T any] struct {
	before  *T // state before the write; nil if the write created the object
	missing bool
	until   time.Time
}

// keepLags is the number of lags above which wrote removes expired lags.
const keepLags = 64

// wrote records a write, so that Options.Weakness can make later reads wrong for a moment. The
// parameter before is the state before the write, or nil for a new object.
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

// read returns the state that a client reads of an object. The parameter now is the current state.
// A nil state means that the object does not exist.
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

// WroteWebhook records a write of a webhook, so that Options.Weakness can make later reads wrong
// for a moment. The parameter before is nil for a new webhook.
func (d *Discord) WroteWebhook(g *GuildState, id string, before *Webhook) {
	wrote(d, g.webhookLags, id, before)
}

// ReadChannel is like FindChannel, but Options.Weakness applies: for a moment after a write,
// ReadChannel can return nil or, if stale is true, the channel before the write.
func (d *Discord) ReadChannel(id string, stale bool) (*GuildState, *Channel) {
	for _, g := range d.Guilds {
		if ch := read(d, g.channelLags, id, g.Channels[id], stale); ch != nil {
			return g, ch
		}
	}
	return nil, nil
}

// ReadWebhook is like FindWebhook, but Options.Weakness applies: for a moment after a write,
// ReadWebhook can return nil or, if stale is true, the webhook before the write.
func (d *Discord) ReadWebhook(id string, stale bool) (*GuildState, *Webhook) {
	for _, g := range d.Guilds {
		if w := read(d, g.webhookLags, id, g.Webhooks[id], stale); w != nil {
			return g, w
		}
	}
	return nil, nil
}

// ReadSettings returns the guild in Discord's JSON. If stale is true, it may return the state
// before the last write (Options.Weakness).
func (d *Discord) ReadSettings(g *GuildState, stale bool) map[string]any {
	settings := read(d, g.settingsLags, g.ID, &g.Guild, stale)
	if settings == nil { // Weakness.Missing does not apply to guilds
		settings = &g.Guild
	}
	return (&GuildState{Guild: *settings}).Wire()
}
