// SPDX-License-Identifier: Apache-2.0

package model

import (
	"testing"
	"time"
)

func TestSnowflakes(t *testing.T) {
	t.Parallel()
	var s snowflakes
	now := time.Date(2026, 8, 1, 12, 0, 0, 5e6, time.UTC)
	a, b, c := s.next(now), s.next(now), s.next(now.Add(-time.Hour))
	if CompareIDs(a, b) >= 0 || CompareIDs(b, c) >= 0 || !SnowflakeTime(a).Equal(now) || !IsSnowflake(a) {
		t.Errorf("%s %s %s at %s", a, b, c, SnowflakeTime(a))
	}
	for _, bad := range []string{"", "x", "-1", "01", "1.5", "9223372036854775808"} {
		if IsSnowflake(bad) || !SnowflakeTime("x").IsZero() {
			t.Errorf("%q counts as an id", bad)
		}
	}
}
