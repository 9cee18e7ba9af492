// SPDX-License-Identifier: Apache-2.0

package ratelimit

// Buckets is how many buckets are kept in memory.
func (l *Limiter) Buckets() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.buckets)
}
