// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"maps"
	"slices"
	"strings"

	"jutsu.com/operators/test/discordtest/rest/call"
)

// The lock of model.Discord guards the recorder.
type recorder struct {
	keep   int
	all    []*call.Request
	counts map[string]int
}

func (rc *recorder) add(c *call.Call, rt *route) *call.Request {
	rec := &call.Request{
		Time: c.Discord.Clock.Now(), Method: c.Request.Method, Route: rt.String(), Path: c.Request.URL.Path,
		Query: c.Request.URL.Query(), Header: c.Request.Header.Clone(), Body: c.Body,
	}
	rec.Header.Del("Authorization")
	if b := c.Discord.BotOf(c.Request.Header.Get("Authorization")); b != nil {
		rec.BotID = b.UserID
	}
	if t := c.Path("webhook_token"); t != "" {
		rec.Path = strings.Replace(rec.Path, t, "[token]", 1)
	}
	rc.all = append(rc.all, rec)
	if len(rc.all) > rc.keep {
		rc.all = slices.Delete(rc.all, 0, len(rc.all)-rc.keep)
	}
	rc.counts[rec.Route]++
	return rec
}

// Requests returns the newest REST calls, oldest first.
func (h *Handler) Requests() []call.Request {
	h.discord.Lock()
	defer h.discord.Unlock()
	out := make([]call.Request, 0, len(h.recorder.all))
	for _, r := range h.recorder.all {
		out = append(out, *r)
	}
	return out
}

// RequestsOf returns the recorded REST calls of the bot with this user id, oldest first.
func (h *Handler) RequestsOf(botID string) []call.Request {
	h.discord.Lock()
	defer h.discord.Unlock()
	var out []call.Request
	for _, r := range h.recorder.all {
		if r.BotID == botID {
			out = append(out, *r)
		}
	}
	return out
}

// RequestCounts returns the number of calls of each route; the keys are "METHOD /template".
func (h *Handler) RequestCounts() map[string]int {
	h.discord.Lock()
	defer h.discord.Unlock()
	return maps.Clone(h.recorder.counts)
}

// ResetRequests forgets the recorded calls and sets all counts to zero.
func (h *Handler) ResetRequests() {
	h.discord.Lock()
	defer h.discord.Unlock()
	h.recorder.all, h.recorder.counts = nil, map[string]int{}
}
