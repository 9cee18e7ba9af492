package discordtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"time"
)

// limiter counts calls in windows: per bot, per bucket, per channel and per address. The server's lock guards it.
type limiter struct {
	limits  *Limits
	windows map[string]*window
	banned  map[string]time.Time // by address: until when
}

// keepWindows is how many windows there may be before those that are over are forgotten.
const keepWindows = 10_000

// window counts what happens from its start to its end.
type window struct {
	start, end time.Time
	used       int
}

// newLimiter starts with nothing used.
func newLimiter(l *Limits) *limiter {
	return &limiter{limits: l, windows: map[string]*window{}, banned: map[string]time.Time{}}
}

// look is the window of a key as it is now: a new one when the old one is over.
func (l *limiter) look(key string, r Rate, now time.Time) *window {
	w := l.windows[key]
	if w == nil || !now.Before(w.end) {
		if len(l.windows) > keepWindows {
			maps.DeleteFunc(l.windows, func(_ string, w *window) bool { return !now.Before(w.end) })
		}
		w = &window{start: now, end: now.Add(r.Per)}
		l.windows[key] = w
	}
	return w
}

// take counts one call, unless the window is full: then it says for how long.
func (l *limiter) take(key string, r Rate, now time.Time) (wait time.Duration, ok bool) {
	if r.N == 0 {
		return 0, true
	}
	w := l.look(key, r, now)
	if w.used >= r.N {
		return r.Per - now.Sub(w.start), false
	}
	w.used++
	return 0, true
}

// full says how long a window stays full; zero when there is room. It counts nothing.
func (l *limiter) full(key string, r Rate, now time.Time) time.Duration {
	if w := l.look(key, r, now); r.N > 0 && w.used >= r.N {
		return r.Per - now.Sub(w.start)
	}
	return 0
}

// admit counts a REST call against the global limit and its bucket, and writes the bucket's headers.
func (l *limiter) admit(h http.Header, rt *route, who, major string, now time.Time) error {
	if !rt.noGlobal {
		if wait, ok := l.take("global/"+who, l.limits.Global, now); !ok {
			return &tooMany{after: wait, scope: "global"}
		}
	}
	name := cmp.Or(l.limits.Buckets[rt.String()], rt.String())
	rate, ok := l.limits.Routes[name]
	if !ok {
		rate = l.limits.Default
	}
	if rate.N == 0 {
		return nil
	}
	bucket := bucketHash(name)
	key := "bucket/" + who + "/" + bucket + "/" + major
	wait, ok := l.take(key, rate, now)
	w := l.windows[key]
	reset := rate.Per - now.Sub(w.start)
	h.Set("X-RateLimit-Limit", strconv.Itoa(rate.N))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(rate.N-w.used))
	h.Set("X-RateLimit-Reset", fmt.Sprintf("%.3f", float64(now.Add(reset).UnixMilli())/1000))
	h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", reset.Seconds()))
	h.Set("X-RateLimit-Bucket", bucket)
	if !ok {
		return &tooMany{after: wait, scope: "user"}
	}
	return nil
}

// bucketHash is the opaque name of a route's bucket; the major parameter is not in it.
func bucketHash(route string) string {
	sum := sha256.Sum256([]byte(route))
	return hex.EncodeToString(sum[:16])
}

// judge counts an answer that Discord holds against the address, 401, 403 and 429 that is not shared, whether a rule or a
// fault has given it, and bans the address when there are too many.
func (l *limiter) judge(addr string, a answer, now time.Time) {
	switch {
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
	case a.status == http.StatusTooManyRequests && a.header.Get("X-RateLimit-Scope") != "shared":
	default:
		return
	}
	if _, ok := l.take("invalid/"+addr, l.limits.Invalid, now); !ok {
		l.banned[addr] = now.Add(l.limits.Ban)
	}
}

// write puts the 429 into an answer: the header in whole seconds, the body with the fraction.
func (e *tooMany) write(h http.Header) (status int, body any) {
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.after.Seconds()))))
	h.Set("X-RateLimit-Scope", e.scope)
	if e.scope == "global" {
		h.Set("X-RateLimit-Global", "true")
	}
	return http.StatusTooManyRequests, map[string]any{
		"message": e.Error(), "retry_after": math.Ceil(e.after.Seconds()*1000) / 1000, "global": e.scope == "global", "code": e.code,
	}
}
