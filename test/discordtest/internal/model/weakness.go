// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"time"
)

// Weakness makes Discord's responses wrong at random, by the seed. The zero value makes none. Rates
// are probabilities, 0 to 1.
type Weakness struct {
	// Stale is the rate of reads within For of a write that answer as before it: a GET or a list
	// with the old state, a PATCH of a new object with 404/10003.
	Stale float64
	// Missing is the rate of writes whose channel or webhook is unknown to GET, PATCH and lists for
	// up to For, although it exists (seen: #8445).
	Missing float64
	// For is the longest time after a write with wrong reads; each write has a random one. Default
	// 2 s.
	For time.Duration
	// Unauthorized, Forbidden and ServerErrors are the rates of a bot's calls that get 401, 403 or
	// a 5xx for no reason. Some of the 5xx have their effect. IDENTIFY is refused by 4004 at the
	// rate of 401.
	Unauthorized, Forbidden, ServerErrors float64
}

// lag is the wrong value for reads after a write.
type lag[T any] struct {
	before  *T // nil: it did not exist
	missing bool
	until   time.Time
}

// keepLags bounds the lags before ended ones are removed.
const keepLags = 64

// wrote records a write and the former state (nil: none).
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

// read returns a read's value of an object whose current state is now (nil: none).
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

// WroteWebhook records a write of a webhook and the former state (nil: none).
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
	if settings == nil { // a guild does not go missing
		settings = &g.Guild
	}
	return (&GuildState{Guild: *settings}).Wire()
}
