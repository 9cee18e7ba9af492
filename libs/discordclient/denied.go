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

// How long a call is not repeated that Discord has not permitted, the first time and further times:
// Discord has been seen to refuse what it permits, and counts every refusal.
const (
	firstDenial = time.Minute
	nextDenial  = 9 * time.Minute
)

// denials are the calls that Discord has not permitted. The object of one is reconciled for every
// event of its guild, most of which change nothing about that. It is safe for concurrent use.
type denials struct {
	circumstances func(major string) any // nil: none is remembered
	now           func() time.Time

	mu    sync.Mutex
	calls map[[sha256.Size]byte]denial
}

type denial struct {
	err   Error
	under any // circumstances
	since time.Time
	life  time.Duration
}

// remembers reports whether a call is remembered. A refused read may be one that is in doubt, which is
// read again to know; but webhooks are read for their objects alone.
func (d *denials) remembers(cl *call) bool {
	return d.circumstances != nil && (cl.mutating() || strings.HasSuffix(cl.route, "/webhooks"))
}

// admit refuses a call as Discord did under the same circumstances.
func (d *denials) admit(cl *call) error {
	if !d.remembers(cl) {
		return nil
	}
	cl.under = d.circumstances(cl.major)
	d.mu.Lock()
	defer d.mu.Unlock()
	last, ok := d.calls[cl.digest()]
	if !ok || d.now().Sub(last.since) >= last.life || !reflect.DeepEqual(last.under, cl.under) {
		return nil
	}
	last.err.unsent = true
	return &last.err
}

// record takes note of how a call ended that was sent.
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
	life := firstDenial
	if last, again := d.calls[key]; again && reflect.DeepEqual(last.under, cl.under) {
		life = nextDenial
	}
	maps.DeleteFunc(d.calls, func(_ [sha256.Size]byte, old denial) bool { return now.Sub(old.since) > 2*nextDenial })
	d.calls[key] = denial{err: *e, under: cl.under, since: now, life: life}
}

// deciding are the fields by whose values Discord decides whether a call is permitted. Of all others
// counts that the call has them: a refused topic is refused whatever it says.
var deciding = []string{"permission_overwrites", "permissions", "parent_id", "type", "features", "channel_id"}

// digest distinguishes calls by the object that they are for, which the reason names, and by what
// their permission depends on.
func (c *call) digest() [sha256.Size]byte {
	body := c.body
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil {
		for name := range fields {
			if !slices.Contains(deciding, name) {
				fields[name] = nil
			}
		}
		body, _ = json.Marshal(fields) // in the order of the names; what was read can be written
	}
	return sha256.Sum256([]byte(c.method + " " + c.url + " " + c.reason + " " + string(body)))
}
