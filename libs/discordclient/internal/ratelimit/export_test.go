// SPDX-License-Identifier: Apache-2.0

package ratelimit

func (l *Limiter) Buckets() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.buckets)
}

func (l *Limiter) Shares() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.shares)
}
