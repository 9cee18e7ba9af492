// SPDX-License-Identifier: Apache-2.0

// Package progress prints lines that show a waiting user the progress of a download or a build.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Interval is the time between two lines about a download or a build.
const Interval = 10 * time.Second

// Say writes a line, unless w is nil.
func Say(w io.Writer, format string, args ...any) {
	if w != nil {
		_, _ = fmt.Fprintf(w, "testcluster: "+format+"\n", args...)
	}
}

// Synchronized returns a writer that goroutines may use concurrently.
func Synchronized(w io.Writer) io.Writer {
	if _, ok := w.(*synchronized); ok || w == nil {
		return w
	}
	return &synchronized{w: w}
}

type synchronized struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *synchronized) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(line)
}

// Every calls report at each interval until stop is called. stop waits for a running report.
func Every(interval time.Duration, report func(since time.Duration)) (stop func()) {
	began, tick, done := time.Now(), time.NewTicker(interval), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				report(time.Since(began).Round(time.Second))
			}
		}
	})
	return func() {
		tick.Stop()
		close(done)
		all.Wait()
	}
}
