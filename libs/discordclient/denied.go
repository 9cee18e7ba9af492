// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// While its circumstances stay equal, a call is not repeated for firstDenial after its first
// denial, and for nextDenial after each further denial. The pauses end, because Discord sometimes
// denies a call by mistake.
const (
	firstDenial = time.Minute
	nextDenial  = 9 * time.Minute
)

// denials remembers denied calls, which each event of a guild would otherwise repeat.
type denials struct {
	circumstances func(major string) any // if nil, denials remembers nothing
	now           func() time.Time

	mu    sync.Mutex
	calls map[[sha256.Size]byte]denial
}

type denial struct {
	err           Error
	circumstances any
	since         time.Time
	ttl           time.Duration
}

// remembers reports whether denials of the call are remembered: only of writes and of lists of
// webhooks, because other reads are rare.
func (d *denials) remembers(cl *call) bool {
	return d.circumstances != nil && (cl.mutating() || strings.HasSuffix(cl.route, "/webhooks"))
}

func (d *denials) admit(cl *call) error {
	if !d.remembers(cl) {
		return nil
	}
	cl.circumstances = d.circumstances(cl.major)
	d.mu.Lock()
	defer d.mu.Unlock()
	last, ok := d.calls[cl.digest()]
	if !ok || d.now().Sub(last.since) >= last.ttl || !reflect.DeepEqual(last.circumstances, cl.circumstances) {
		return nil
	}
	last.err.unsent = true
	return &last.err
}

func (d *denials) record(cl *call, err error) {
	if !d.remembers(cl) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now, key := d.now(), cl.digest()
	e, ok := err.(*Error) //nolint:errorlint // nothing wraps it here
	if !ok || e.Class != ClassDenied {
		delete(d.calls, key)
		return
	}
	ttl := firstDenial
	if last, again := d.calls[key]; again && reflect.DeepEqual(last.circumstances, cl.circumstances) {
		ttl = nextDenial
	}
	maps.DeleteFunc(d.calls, func(_ [sha256.Size]byte, old denial) bool { return now.Sub(old.since) > 2*nextDenial })
	d.calls[key] = denial{err: *e, circumstances: cl.circumstances, since: now, ttl: ttl}
}

// permissionFields are the fields whose values can decide a denial. The value of a topic, for
// example, cannot: if Discord denies one topic, it denies every topic.
var permissionFields = []string{"permission_overwrites", "permissions", "parent_id", "type", "features", "channel_id"}

func (c *call) digest() [sha256.Size]byte {
	body := c.body
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil {
		for name := range fields {
			if !slices.Contains(permissionFields, name) {
				fields[name] = nil
			}
		}
		body, _ = json.Marshal(fields) // sorted by name; cannot fail
	}
	return sha256.Sum256([]byte(c.method + " " + c.url + " " + c.reason + " " + string(body)))
}
