// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

type journal struct {
	began time.Time

	mu    sync.Mutex
	out   io.Writer
	file  *os.File
	lines []string
	count map[string]int
}

func newJournal(out io.Writer, path string) (*journal, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &journal{began: time.Now(), out: out, file: file, count: map[string]int{}}, nil
}

func (j *journal) did(a action, what string, err error) {
	result := a.kind.name
	if err != nil {
		what = "could not: " + firstLine(err.Error())
		result = "could not"
	}
	j.say("  %-24s %s", a, what)
	j.mu.Lock()
	defer j.mu.Unlock()
	if result != "could not" {
		j.count[a.kind.name]++
	}
}

func (j *journal) say(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	line := fmt.Sprintf("%7.1f s  ", time.Since(j.began).Seconds()) + fmt.Sprintf(format, args...)
	j.lines = append(j.lines, line)
	_, _ = fmt.Fprintln(j.out, line)
	_, _ = fmt.Fprintf(j.file, "%s %s\n", time.Now().UTC().Format("15:04:05.000"), line)
}

func (j *journal) tail(n int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines[max(0, len(j.lines)-n):], "\n")
}

func (j *journal) summary() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var parts []string
	all := 0
	for name, n := range j.count {
		parts = append(parts, fmt.Sprintf("%d %s", n, name))
		all += n
	}
	slices.Sort(parts)
	return fmt.Sprintf("%d actions: %s", all, strings.Join(parts, ", "))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
