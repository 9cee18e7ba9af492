// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"time"
)

// ParseMoment reads the moment of a restore: RFC 3339, "2026-11-24 02:45", "24 Nov 02:45", "02:45"
// (the last time that it was so late) or "10m" (so long ago). Without a time zone it is UTC.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	now = now.UTC()
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		return now.Add(-ago).Truncate(time.Second), nil
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04",
		"2 Jan 2006 15:04:05", "2 Jan 2006 15:04",
	} {
		if at, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return at.UTC(), nil
		}
	}
	for _, layout := range []string{"2 Jan 15:04:05", "2 Jan 15:04"} {
		if at, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			at = at.AddDate(now.Year()-at.Year(), 0, 0)
			if at.After(now) {
				at = at.AddDate(-1, 0, 0)
			}
			return at, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if at, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			today := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
			if today.After(now) {
				today = today.AddDate(0, 0, -1)
			}
			return today, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: say 02:45, \"24 Nov 02:45\", \"2026-11-24 02:45:00\", "+
		"2026-11-24T02:45:00Z, or 10m for ten minutes ago; without a time zone it is UTC", text)
}
