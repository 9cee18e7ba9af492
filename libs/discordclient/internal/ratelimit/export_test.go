// SPDX-License-Identifier: Apache-2.0

package ratelimit

// Buckets returns the number of buckets that are kept in memory.
func (l *Limiter) Buckets() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.buckets)
}

// Shares returns the number of tenants whose share is kept in memory.
func (l *Limiter) Shares() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.shares)
}
