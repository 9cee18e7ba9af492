// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"strconv"
	"time"
)

// epoch is 2015-01-01 UTC in Unix milliseconds, the start of time in snowflakes.
const epoch = 1420070400000

type snowflakes struct{ last uint64 }

func (s *snowflakes) next(now time.Time) string {
	id := SnowflakeAt(now)
	if id <= s.last {
		id = s.last + 1
	}
	s.last = id
	return strconv.FormatUint(id, 10)
}

// SnowflakeAt returns the smallest id that an object created at t can have, for `after=` in audit
// log queries.
func SnowflakeAt(t time.Time) uint64 {
	return uint64(max(0, t.UnixMilli()-epoch)) << 22
}

// SnowflakeTime returns the millisecond of an id's creation, or the zero time for an invalid id.
func SnowflakeTime(id string) time.Time {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + epoch)
}

// IsSnowflake reports whether s is a decimal number of at most 63 bits, without sign and leading
// zeros. Source for 63 bits: https://github.com/discord/discord-api-docs/issues/3733
func IsSnowflake(s string) bool {
	n, err := strconv.ParseUint(s, 10, 63)
	return err == nil && strconv.FormatUint(n, 10) == s
}

// CompareIDs compares two snowflakes by age. It is negative if a is older than b.
func CompareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
