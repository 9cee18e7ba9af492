// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"sync"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

// maxAnswers bounds what is remembered of a guild's channels, and of its roles. Discord allows 500 of
// the former, so the rest are gone.
const maxAnswers = 1000

// answer is what Discord said when it was asked about the create of one channel or role.
type answer struct {
	entry discordclient.AuditEntry
	found bool
	// again is when to ask again, where there was no entry.
	again time.Time
	gone  bool
}

// asked remembers the answers by id, so that none is asked for again. It is safe for concurrent use.
type asked struct {
	mu      sync.Mutex
	answers map[string]answer
	order   []string // oldest first
	now     map[string]bool
}

// begin reserves an id for one caller; it reports false while another one asks about it.
func (a *asked) begin(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now[id] {
		return false
	}
	if a.now == nil {
		a.now = map[string]bool{}
	}
	a.now[id] = true
	return true
}

func (a *asked) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.now, id)
}

func (a *asked) get(id string) (answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	got, ok := a.answers[id]
	return got, ok
}

// add remembers an answer and drops the oldest beyond the bound.
func (a *asked) add(id string, got answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers == nil {
		a.answers = map[string]answer{}
	}
	if _, known := a.answers[id]; !known {
		a.order = append(a.order, id)
	}
	a.answers[id] = got
	for len(a.order) > maxAnswers {
		delete(a.answers, a.order[0])
		a.order = a.order[1:]
	}
}
