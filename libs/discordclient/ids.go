// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// discordEpoch is 2015-01-01 in milliseconds since 1970.
const discordEpoch = 1420070400000

// ClockSkew is the largest expected difference between Discord's clock and the cluster's clocks.
const ClockSkew = time.Minute

// CreatedAt returns the time in an id by Discord's clock, or the zero time for an invalid id.
func CreatedAt(id string) time.Time {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + discordEpoch)
}

// SnowflakeAt returns the smallest id of an object created at t or later; "0" if t is before 2015.
func SnowflakeAt(t time.Time) string {
	ms := t.UnixMilli() - discordEpoch
	if ms < 0 {
		return "0"
	}
	return strconv.FormatUint(uint64(ms)<<22, 10)
}

// CompareIDs compares ids as numbers. A lower id is older.
func CompareIDs(a, b string) int {
	if len(a) != len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return cmp.Compare(a, b)
}

// SortChannels sorts channels of one category as Discord does: voice and stage channels last, then
// by position, then by id.
func SortChannels(channels []*Channel) {
	voice := func(c *Channel) int {
		if IsVoiceLike(c.Type) {
			return 1
		}
		return 0
	}
	slices.SortFunc(channels, func(a, b *Channel) int {
		return cmp.Or(cmp.Compare(voice(a), voice(b)), cmp.Compare(a.Position, b.Position), CompareIDs(a.ID, b.ID))
	})
}
