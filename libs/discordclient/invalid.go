// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
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
	// invalidShare is the part of what is left of that, one in so many, that a bot may use up. So
	// bots that are refused all the time never use up everything, however many they are, and those
	// that are refused now and then go on.
	invalidShare = 20
)

// InvalidRequests counts the refusals of the last ten minutes by status. Discord counts them by
// address, so all clients of a process should share one, see [Options]. It is safe for concurrent
// use.
type InvalidRequests struct {
	mu    sync.Mutex
	now   func() time.Time
	times map[int][]time.Time // by status, oldest first
}

// NewInvalidRequests makes an empty count. now is time.Now but in tests.
func NewInvalidRequests(now func() time.Time) *InvalidRequests {
	return &InvalidRequests{now: now, times: map[int][]time.Time{}}
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

// add counts a refusal.
func (i *InvalidRequests) add(status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.times[status] = append(i.times[status], i.now())
}

func (i *InvalidRequests) total() int {
	unauthorized, forbidden, tooMany := i.Counts()
	return unauthorized + forbidden + tooMany
}

// countRefusal counts a refusal, or a call of which it is not known whether it was refused.
func (c *Client) countRefusal(status int) {
	c.refusals.add(status)
	c.opts.Invalid.add(status)
}

// pause is 0 while the bot may make calls, else how long to wait for older refusals to be
// forgotten.
func (c *Client) pause() time.Duration {
	if c.refusals.total()*invalidShare < invalidStop-c.opts.Invalid.total() {
		return 0
	}
	return invalidPause
}
