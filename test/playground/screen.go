// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// screen shows rows: on a terminal as a table that is drawn over in place, elsewhere as a line for
// each change.
type screen struct {
	out      *os.File
	terminal bool
	last     []row
	drawn    []string // lines of the table that are on the terminal
}

func newScreen(out *os.File) *screen {
	return &screen{out: out, terminal: term.IsTerminal(int(out.Fd()))}
}

// table shows how all objects are now.
func (s *screen) table(rows []row) {
	if !s.terminal {
		s.changes(rows)
		return
	}
	width, _, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 {
		width = 120
	}
	s.last = rows
	lines := renderTable(rows, width, time.Now())
	if slices.Equal(s.drawn, lines) {
		return
	}
	up := ""
	if len(s.drawn) > 0 {
		up = fmt.Sprintf("\x1b[%dA\x1b[J", len(s.drawn)) // back to the table's first line, and clear what is below
	}
	_, _ = fmt.Fprint(s.out, up, strings.Join(lines, "\n"), "\n")
	s.drawn = lines
}

// changes prints, a line each and with the time, what is different since the last call of table or
// changes.
func (s *screen) changes(rows []row) {
	for _, line := range changedLines(s.last, rows) {
		say(s.out, "%s  %s", time.Now().Format(time.TimeOnly), line)
	}
	s.last = rows
}
