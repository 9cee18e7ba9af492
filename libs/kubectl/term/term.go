// SPDX-License-Identifier: Apache-2.0

// Package term formats text for a terminal: colours, tables, trees, times and ages.
package term

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Style adds terminal colours to text. The zero value adds none.
type Style struct{ Colour bool }

// StyleOf returns a Style that adds colours if out is a terminal, unless NO_COLOR
// (https://no-color.org) or TERM=dumb is set.
func StyleOf(out io.Writer, env func(string) string) Style {
	return Style{Colour: IsTerminal(out) && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func (s Style) paint(code, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Good paints the text of a healthy state.
func (s Style) Good(text string) string { return s.paint("32", text) }

// Busy paints the text of a state that ends without a user's help.
func (s Style) Busy(text string) string { return s.paint("33", text) }

// Bad paints the text of a problem that a user must fix.
func (s Style) Bad(text string) string { return s.paint("1;31", text) }

// Dim paints less important text.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Bold paints a heading.
func (s Style) Bold(text string) string { return s.paint("1", text) }

var painted = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Width returns the number of characters of a text without its colours.
func Width(text string) int { return utf8.RuneCountInString(painted.ReplaceAllString(text, "")) }

// Table aligns columns, with gap spaces between them. No line ends with a space.
func Table(rows [][]string, gap int) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-Width(cell)+gap))
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

// Node is a line of a tree, with its children.
type Node struct {
	Name     string
	Cells    []string
	Children []Node
}

// Tree draws a tree, one line per node.
func Tree(root Node) string { return Table(lines(root, "", ""), 3) }

func lines(n Node, first, next string) [][]string {
	rows := [][]string{append([]string{first + n.Name}, n.Cells...)}
	for i, child := range n.Children {
		if i == len(n.Children)-1 {
			rows = append(rows, lines(child, next+"└─ ", next+"   ")...)
		} else {
			rows = append(rows, lines(child, next+"├─ ", next+"│  ")...)
		}
	}
	return rows
}

// Wrap breaks a text at spaces to fit width. Later lines begin with spaces as wide as indent.
func Wrap(text, indent string, width int) string {
	var out strings.Builder
	line, empty := indent, true
	for _, word := range strings.Fields(text) {
		if !empty && Width(line)+1+Width(word) > width {
			out.WriteString(line + "\n")
			line, empty = strings.Repeat(" ", Width(indent)), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	if !empty {
		out.WriteString(line + "\n")
	}
	return out.String()
}

// Age returns the time since at, such as "3d" or "4m", or "unknown" if at is zero.
func Age(at, now time.Time) string {
	if at.IsZero() {
		return "unknown"
	}
	return duration.HumanDuration(max(now.Sub(at), 0))
}

// Moment returns a UTC time, such as "02:51", with the date unless today. The zero time is "never".
func Moment(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	switch {
	case at.IsZero():
		return "never"
	case at.Format(time.DateOnly) == now.Format(time.DateOnly):
		return at.Format("15:04")
	case at.Year() == now.Year():
		return at.Format("2 Jan 15:04")
	}
	return at.Format("2 Jan 2006 15:04")
}

// Exact returns a time in UTC to the second, such as "24 Nov 2026 02:45:00 UTC".
func Exact(at time.Time) string { return at.UTC().Format("2 Jan 2006 15:04:05 UTC") }

// Count returns a number with its noun in the right form, such as "1 pod" or "2 pods".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Forest draws trees as the children of a root that is not shown, one line per node.
func Forest(nodes []Node) string { return Table(lines(Node{Children: nodes}, "", "")[1:], 3) }

// Printable replaces control and format characters by spaces, to disable foreign escape sequences.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}
