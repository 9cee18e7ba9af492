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
	// invalidStop is where we stop by ourselves: others may share the address.
	invalidStop    = invalidLimit * 9 / 10
	invalidSlots   = 60
	invalidSlotLen = invalidWindow / invalidSlots
)

// InvalidRequests counts the refusals of the last ten minutes by status. Discord counts them by
// address, so all clients of a process should share one, see [Options]. It is safe for concurrent
// use.
type InvalidRequests struct {
	mu    sync.Mutex
	now   func() time.Time
	slots [invalidSlots]struct {
		slot   int64
		counts [3]int // 401, 403, 429
	}
}

// NewInvalidRequests makes an empty count. now is time.Now but in tests.
func NewInvalidRequests(now func() time.Time) *InvalidRequests { return &InvalidRequests{now: now} }

// Counts returns how many answers with each of the three statuses came in the last ten minutes.
func (i *InvalidRequests) Counts() (unauthorized, forbidden, tooMany int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	current := i.slot()
	var sum [3]int
	for _, s := range &i.slots {
		if s.slot > current-invalidSlots {
			for j, n := range s.counts {
				sum[j] += n
			}
		}
	}
	return sum[0], sum[1], sum[2]
}

func (i *InvalidRequests) slot() int64 { return i.now().UnixNano() / int64(invalidSlotLen) }

// add counts a refusal.
func (i *InvalidRequests) add(status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	current := i.slot()
	s := &i.slots[current%invalidSlots]
	if s.slot != current {
		s.slot, s.counts = current, [3]int{}
	}
	switch status {
	case http.StatusUnauthorized:
		s.counts[0]++
	case http.StatusForbidden:
		s.counts[1]++
	case http.StatusTooManyRequests:
		s.counts[2]++
	}
}

// wait is 0 while calls may be made, else how long to wait for older refusals to be forgotten.
func (i *InvalidRequests) wait() time.Duration {
	if a, b, c := i.Counts(); a+b+c < invalidStop {
		return 0
	}
	return invalidSlotLen
}
