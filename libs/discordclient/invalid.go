// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Discord bans an address that got 10,000 refusals (401, 403, 429) within ten minutes. Source:
// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans.
const (
	invalidWindow = 10 * time.Minute
	invalidLimit  = 10000
	invalidPause  = 10 * time.Second
	// invalidStop is where we stop by ourselves: others may share the address.
	invalidStop = invalidLimit * 9 / 10
)

// InvalidRequests counts the refusals of the last ten minutes by status. Discord counts them by
// address, so all clients of a process should share one, see [Options]. It is safe for concurrent
// use.
type InvalidRequests struct {
	mu    sync.Mutex
	now   func() time.Time
	times map[int][]time.Time // by status, oldest first
	whole *InvalidRequests    // of which this is a part; nil for the whole
	share int                 // one in so many of what is left of the whole may be used up
}

// NewInvalidRequests makes an empty count. now is time.Now but in tests.
func NewInvalidRequests(now func() time.Time) *InvalidRequests {
	return &InvalidRequests{now: now, times: map[int][]time.Time{}}
}

// Share returns a count of those who may use up one in so many of the refusals that all others
// leave. So those that are refused all the time never use up everything, however many they are, and
// who is refused now and then goes on.
func (i *InvalidRequests) Share(oneIn int) *InvalidRequests {
	part := NewInvalidRequests(i.now)
	part.whole, part.share = i, oneIn
	return part
}

// Whole is the count that this is a share of, directly or not.
func (i *InvalidRequests) Whole() *InvalidRequests {
	for i.whole != nil {
		i = i.whole
	}
	return i
}

type refusalsKey struct{}

// WithRefusals returns a context for calls whose refusals count in another share than that of
// [Options], such as one for the tenant that causes them. While that one is used up the calls are not
// sent; those of others are. Both must be shares of the same count.
func WithRefusals(ctx context.Context, in *InvalidRequests) context.Context {
	return context.WithValue(ctx, refusalsKey{}, in)
}

// refusalsOf is where the refusals of a call count: those of a call without a share, and of one with
// the Client's own, in the part of that which is left to this bot.
func (c *Client) refusalsOf(ctx context.Context) *InvalidRequests {
	if in, ok := ctx.Value(refusalsKey{}).(*InvalidRequests); ok && in != c.opts.Invalid {
		return in
	}
	return c.refusals
}

// Counts returns how many answers with each of the three statuses came in the last ten minutes.
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

// add counts a refusal, or a call of which it is not known whether it was refused.
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

// left is how many refusals there may still be.
func (i *InvalidRequests) left() int {
	unauthorized, forbidden, tooMany := i.Counts()
	all := invalidStop
	if i.whole != nil {
		all = i.whole.left() / i.share
	}
	return all - unauthorized - forbidden - tooMany
}

// wait is 0 while calls may be made, else how long to wait for older refusals to be forgotten.
func (i *InvalidRequests) wait() time.Duration {
	if i.left() > 0 {
		return 0
	}
	return invalidPause
}
