// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
const (
	invalidWindow = 10 * time.Minute
	invalidLimit  = 10000
	invalidPause  = 10 * time.Second
	// invalidStop leaves a tenth of the refusals to other processes at the same IP address.
	invalidStop = invalidLimit * 9 / 10
)

// InvalidRequests counts the refused calls of the last ten minutes. Discord bans an IP address at
// 10,000.
type InvalidRequests struct {
	mu    sync.Mutex
	now   func() time.Time
	times map[int][]time.Time // keyed by status; oldest first
	whole *InvalidRequests    // the count that Share was called on; nil if this count is no share
	share int                 // this count may use 1/share of the refusals that remain in whole
}

// NewInvalidRequests makes an empty count. Only tests pass another clock than time.Now.
func NewInvalidRequests(now func() time.Time) *InvalidRequests {
	return &InvalidRequests{now: now, times: map[int][]time.Time{}}
}

// Share returns a count, such as a tenant's, that may use 1/oneIn of the refusals that remain in i.
// Its refusals also count in i, so that shares never use up all of i.
func (i *InvalidRequests) Share(oneIn int) *InvalidRequests {
	part := NewInvalidRequests(i.now)
	part.whole, part.share = i, oneIn
	return part
}

// Whole returns the count at the root of the shares: i itself if i is no share.
func (i *InvalidRequests) Whole() *InvalidRequests {
	for i.whole != nil {
		i = i.whole
	}
	return i
}

type refusalsKey struct{}

// WithRefusals returns a context for calls that count their refusals in the given count instead of
// the Client's. Both must be shares of one count. Once the given count is used up, only these calls
// stop.
func WithRefusals(ctx context.Context, in *InvalidRequests) context.Context {
	return context.WithValue(ctx, refusalsKey{}, in)
}

func (c *Client) refusalsOf(ctx context.Context) *InvalidRequests {
	if in, ok := ctx.Value(refusalsKey{}).(*InvalidRequests); ok && in != c.opts.Invalid {
		return in
	}
	return c.refusals
}

// Counts returns the number of responses with status 401, 403 and 429 within the last ten minutes.
func (i *InvalidRequests) Counts() (unauthorized, forbidden, tooMany int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	began := i.now().Add(-invalidWindow)
	for status, times := range i.times {
		for len(times) > 0 && times[0].Before(began) {
			times = times[1:]
		}
		i.times[status] = times
	}
	return len(i.times[http.StatusUnauthorized]), len(i.times[http.StatusForbidden]),
		len(i.times[http.StatusTooManyRequests])
}

func (i *InvalidRequests) add(status int) {
	for ; i != nil; i = i.whole {
		i.mu.Lock()
		i.times[status] = append(i.times[status], i.now())
		i.mu.Unlock()
	}
}

// Idle reports whether there was no refusal within the last ten minutes.
func (i *InvalidRequests) Idle() bool {
	unauthorized, forbidden, tooMany := i.Counts()
	return unauthorized+forbidden+tooMany == 0
}

func (i *InvalidRequests) remaining() int {
	unauthorized, forbidden, tooMany := i.Counts()
	all := invalidStop
	if i.whole != nil {
		all = i.whole.remaining() / i.share
	}
	return all - unauthorized - forbidden - tooMany
}

func (i *InvalidRequests) wait() time.Duration {
	if i.remaining() > 0 {
		return 0
	}
	return invalidPause
}
