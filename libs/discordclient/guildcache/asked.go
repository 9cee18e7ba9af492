// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"sync"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// maxAnswers limits the cached look-ups. A guild has at most 500 channels and 250 roles, so further
// look-ups are about deleted objects.
const maxAnswers = 1000

type answer struct {
	entry   discordclient.AuditEntry
	found   bool
	retryAt time.Time
	gone    bool
}

type lookups struct {
	mu       sync.Mutex
	answers  map[string]answer
	order    []string // oldest first
	inFlight map[string]bool
}

func (l *lookups) begin(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight[id] {
		return false
	}
	if l.inFlight == nil {
		l.inFlight = map[string]bool{}
	}
	l.inFlight[id] = true
	return true
}

func (l *lookups) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.inFlight, id)
}

func (l *lookups) get(id string) (answer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	got, ok := l.answers[id]
	return got, ok
}

func (l *lookups) add(id string, got answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answers == nil {
		l.answers = map[string]answer{}
	}
	if _, known := l.answers[id]; !known {
		l.order = append(l.order, id)
	}
	l.answers[id] = got
	for len(l.order) > maxAnswers {
		delete(l.answers, l.order[0])
		l.order = l.order[1:]
	}
}
