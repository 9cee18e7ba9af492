// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"maps"
	"slices"
	"time"
)

const keepWindows = 10_000

// Windows counts events per bot, bucket, channel or IP address. Callers must lock model.Discord.
type Windows struct {
	all     map[string]*Window
	sliding bool
}

// Window counts the events from Start to End. A sliding window starts with its oldest event.
type Window struct {
	Start, End time.Time
	Used       int

	events []time.Time // times of the events; only for a sliding window
}

// NewWindows returns an empty set of fixed windows, or of sliding windows.
func NewWindows(sliding bool) *Windows { return &Windows{all: map[string]*Window{}, sliding: sliding} }

// Current returns the window of a key, or a new window if the key's last window has ended.
func (l *Windows) Current(key string, r Rate, now time.Time) *Window {
	w := l.all[key]
	if w == nil || !now.Before(w.End) {
		if len(l.all) > keepWindows {
			maps.DeleteFunc(l.all, func(_ string, w *Window) bool { return !now.Before(w.End) })
		}
		w = &Window{Start: now, End: now.Add(r.Per)}
		l.all[key] = w
	}
	if l.sliding {
		w.slide(r, now)
	}
	return w
}

func (w *Window) slide(r Rate, now time.Time) {
	w.events = slices.DeleteFunc(w.events, func(t time.Time) bool { return !now.Before(t.Add(r.Per)) })
	w.Used, w.Start = len(w.events), now
	if w.Used > 0 {
		w.Start = w.events[0]
	}
}

// Take counts one event if the window has room. Otherwise it returns the time to wait, and false.
func (l *Windows) Take(key string, r Rate, now time.Time) (wait time.Duration, ok bool) {
	if r.N == 0 {
		return 0, true
	}
	w := l.Current(key, r, now)
	if w.Used >= r.N {
		return r.Per - now.Sub(w.Start), false
	}
	w.Used++
	if l.sliding {
		w.events, w.End = append(w.events, now), now.Add(r.Per)
	}
	return 0, true
}

// Full returns the time for which a window stays full, or zero. It does not count an event.
func (l *Windows) Full(key string, r Rate, now time.Time) time.Duration {
	if w := l.Current(key, r, now); r.N > 0 && w.Used >= r.N {
		return r.Per - now.Sub(w.Start)
	}
	return 0
}
