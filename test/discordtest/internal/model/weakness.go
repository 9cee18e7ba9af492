// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"time"
)

// Weakness is how Discord's answers may be wrong without anything being wrong. All of it is random
// from the seed; the zero value is an answer that is always right. Rates are probabilities, 0 to 1.
type Weakness struct {
	// Stale is how often a read within For of a write answers as before it: a GET or a list with
	// what was there then, a PATCH with 404/10003 where nothing was.
	Stale float64
	// Missing is how often a write makes its channel or webhook unknown to GET, PATCH and lists for
	// a moment of up to For, although it exists (seen: #8445).
	Missing float64
	// For is how long after a write reads may be wrong, at most: each write has a random time of
	// its own up to it. Default 2 s.
	For time.Duration
	// Unauthorized, Forbidden and ServerErrors are how often a call of a bot is answered with 401,
	// with 403 and with a 5xx for no reason. Of the 5xx some are carried out all the same. IDENTIFY is
	// refused as often as calls are with 401, by 4004.
	Unauthorized, Forbidden, ServerErrors float64
}

// lag is what reads may get for a while instead of what was written.
type lag[T any] struct {
	before  *T // nil: there was nothing
	missing bool
	until   time.Time
}

// keepLags is how many lags there may be before those that are over are forgotten.
const keepLags = 64

// wrote notes a write, with what was there before it (nil: nothing).
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
	lags[id] = lag[T]{before: before, missing: d.Chance(d.Weakness.Missing), until: now.Add(d.Upto(longest))}
}

// read is what a read gets of a thing that is now as given (nil: not there).
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

// reads are all things that a read gets.
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

// WroteWebhook notes a write of a webhook, with what was there before it (nil: nothing).
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

// ReadSettings is the guild in Discord's JSON for a read, which may be stale.
func (d *Discord) ReadSettings(g *GuildState, stale bool) map[string]any {
	settings := read(d, g.settingsLags, g.ID, &g.Guild, stale)
	if settings == nil { // a guild does not go missing
		settings = &g.Guild
	}
	return (&GuildState{Guild: *settings}).Wire()
}
