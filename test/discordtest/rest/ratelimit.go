// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"jutsu.com/operators/test/discordtest/rest/call"
)

// admit applies the global limit and the route's limit, and sets the X-RateLimit headers.
func (h *Handler) admit(c *call.Call, rt *route, who string) error {
	limits := h.opts.Limits
	if !rt.noGlobal {
		if wait, ok := h.windows.Take("global/"+who, limits.Global, c.Now); !ok {
			return &call.TooMany{After: wait, Scope: "global"}
		}
	}
	name := cmp.Or(limits.Buckets[rt.String()], rt.String())
	rate, ok := limits.Routes[name]
	if !ok {
		rate = limits.Default
	}
	if rate.N == 0 {
		return nil
	}
	bucket := bucketHash(name)
	key := "bucket/" + who + "/" + bucket + "/" + major(c.Request)
	wait, ok := h.windows.Take(key, rate, c.Now)
	w := h.windows.Current(key, rate, c.Now)
	reset := rate.Per - c.Now.Sub(w.Start)
	c.Header.Set("X-RateLimit-Limit", strconv.Itoa(rate.N))
	c.Header.Set("X-RateLimit-Remaining", strconv.Itoa(rate.N-w.Used))
	c.Header.Set("X-RateLimit-Reset", fmt.Sprintf("%.3f", float64(c.Now.Add(reset).UnixMilli())/1000))
	c.Header.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", reset.Seconds()))
	c.Header.Set("X-RateLimit-Bucket", bucket)
	if !ok {
		return &call.TooMany{After: wait, Scope: "user"}
	}
	return nil
}

// major returns Discord's major parameter: each webhook, channel or guild has its own window.
func major(r *http.Request) string {
	for _, name := range []string{"webhook_id", "channel_id", "guild_id"} {
		if v := r.PathValue(name); v != "" {
			return v + "/" + r.PathValue("webhook_token")
		}
	}
	return ""
}

// bucketHash returns X-RateLimit-Bucket, which is the same for all major parameters.
func bucketHash(route string) string {
	sum := sha256.Sum256([]byte(route))
	return hex.EncodeToString(sum[:16])
}

// countInvalid counts the 401, 403 and 429 responses to an IP address, except a 429 with scope
// shared. A response above Limits.Invalid bans the address.
func (h *Handler) countInvalid(addr string, a call.Answer, now time.Time) {
	switch {
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden:
	case a.Status == http.StatusTooManyRequests && a.Header.Get("X-RateLimit-Scope") != "shared":
	default:
		return
	}
	if _, ok := h.windows.Take("invalid/"+addr, h.opts.Limits.Invalid, now); !ok {
		h.banned[addr] = now.Add(h.opts.Limits.Ban)
	}
}
