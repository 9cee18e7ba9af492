// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// columns is the width at which kubectl explain wraps each line of a description.
const columns = 76

var (
	// verbatim matches lines of lists and examples, which are not joined with other lines.
	verbatim = regexp.MustCompile(`^(\s|[-*] |\d+\. )`)
	// word matches a quotation of several words as one word, so that it stays on one line.
	word = regexp.MustCompile("(?:\"[^\"\n]{1,60}\"|`[^`\n]{1,60}`|\\S)+")
)

// wrap changes only paragraphs with a line longer than columns, and splits no word.
func wrap(text string) string {
	var wrapped, paragraph []string
	flush := func() {
		wrapped = append(wrapped, fill(paragraph)...)
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t")
		if line == "" || verbatim.MatchString(line) {
			flush()
		}
		paragraph = append(paragraph, line)
		// A sentence ends or a list begins, so the next line stays separate.
		if line == "" || strings.HasSuffix(line, ".") || strings.HasSuffix(line, ":") {
			flush()
		}
	}
	flush()
	return strings.Join(wrapped, "\n")
}

func fill(paragraph []string) []string {
	long := false
	for _, line := range paragraph {
		long = long || utf8.RuneCountInString(line) > columns
	}
	if !long {
		return paragraph
	}
	text := strings.Join(paragraph, " ")
	indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	var lines []string
	current := ""
	for _, w := range word.FindAllString(text, -1) {
		switch {
		case current == "":
			current = indent + w
		case utf8.RuneCountInString(current)+1+utf8.RuneCountInString(w) > columns:
			lines = append(lines, current)
			current = indent + w
		default:
			current += " " + w
		}
	}
	return append(lines, current)
}
