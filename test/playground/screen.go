// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen redraws a table on a terminal. On other outputs, it prints one line per change.
type screen struct {
	out      *os.File
	terminal bool
	last     []row
	drawn    []string // the table's lines on the terminal
	pinned   string   // text that stays below the changes on a terminal
}

func newScreen(out *os.File) *screen {
	return &screen{out: out, terminal: term.IsTerminal(int(out.Fd()))}
}

func (s *screen) table(rows []row) {
	if !s.terminal {
		s.changes(rows)
		return
	}
	s.last = rows
	lines := renderTable(rows, s.width(), time.Now())
	if slices.Equal(s.drawn, lines) {
		return
	}
	_, _ = fmt.Fprint(s.out, erase(len(s.drawn)), strings.Join(lines, "\n"), "\n")
	s.drawn = lines
}

// pin prints a text. On a terminal, the text remains below all later changes.
func (s *screen) pin(text string) {
	_, _ = fmt.Fprint(s.out, text)
	s.pinned = text
}

func (s *screen) changes(rows []row) {
	var text strings.Builder
	for _, line := range changedLines(s.last, rows) {
		_, _ = fmt.Fprintf(&text, "%s  %s\n", time.Now().Format(time.TimeOnly), line)
	}
	s.last = rows
	switch {
	case text.Len() == 0:
	case s.terminal:
		_, _ = fmt.Fprint(s.out, erase(height(s.pinned, s.width())), text.String(), s.pinned)
	default:
		_, _ = fmt.Fprint(s.out, text.String())
	}
}

func (s *screen) width() int {
	width, _, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 {
		return 120
	}
	return width
}

func erase(lines int) string {
	if lines == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", lines)
}

// height counts the lines of a text on a terminal, which wraps long lines.
func height(text string, width int) (lines int) {
	for line := range strings.Lines(text) {
		lines += max(1, (utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))+width-1)/width)
	}
	return lines
}
