// SPDX-License-Identifier: Apache-2.0

package images

import (
	"slices"
	"time"
	_ "time/tzdata" // the operator's image has no time zones

	corev1api "jutsu.com/operators/apis/core/v1"
)

// opening returns the start of the open maintenance window, or else of the next window.
func opening(w *corev1api.Window, now time.Time) (at time.Time, open bool, err error) {
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		return at, false, err
	}
	start, err := time.Parse("15:04", w.Start)
	if err != nil {
		return at, false, err
	}
	year, month, day := now.In(zone).Date()
	for d := -1; d <= 7; d++ { // from yesterday, because a window may last until the next day
		at = time.Date(year, month, day+d, start.Hour(), start.Minute(), 0, 0, zone)
		// Noon exists on every day; the start may not exist on a day on which the clocks change.
		on := time.Date(year, month, day+d, 12, 0, 0, 0, zone).Weekday().String()[:3]
		if len(w.Days) > 0 && !slices.Contains(w.Days, corev1api.Weekday(on)) {
			continue
		}
		if end := at.Add(w.Duration.Duration); now.Before(end) {
			return at, !now.Before(at), nil
		}
	}
	return at, false, nil
}
