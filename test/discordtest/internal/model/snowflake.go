// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"strconv"
	"time"
)

// epoch is the first millisecond of snowflakes: 2015-01-01 UTC.
const epoch = 1420070400000

// snowflakes makes growing ids as Discord does: milliseconds since 2015 in the upper 42 bits.
type snowflakes struct{ last uint64 }

func (s *snowflakes) next(now time.Time) string {
	id := SnowflakeAt(now)
	if id <= s.last {
		id = s.last + 1
	}
	s.last = id
	return strconv.FormatUint(id, 10)
}

// SnowflakeAt returns the smallest id that Discord can
// make at time t, for `after=` in audit log queries.
func SnowflakeAt(t time.Time) uint64 {
	return uint64(max(0, t.UnixMilli()-epoch)) << 22
}

// SnowflakeTime returns an id's time of creation, in milliseconds; the zero time for an invalid id.
func SnowflakeTime(id string) time.Time {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + epoch)
}

// IsSnowflake reports whether s has Discord's form of ids: decimal, no sign, no leading zero.
func IsSnowflake(s string) bool {
	n, err := strconv.ParseUint(s, 10, 64)
	return err == nil && strconv.FormatUint(n, 10) == s
}

// CompareIDs orders ids by age. Both must be snowflakes.
func CompareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
