// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// heading matches a heading such as "## [0.1.0] - 2026-01-31" (https://keepachangelog.com).
var heading = regexp.MustCompile(`^## \[?([^\]\s]+)\]?(?: - (\d{4}-\d{2}-\d{2}))?\s*$`)

const unreleased = "Unreleased"

func section(changelog, version string) (text, date string) {
	var lines []string
	inside := false
	for line := range strings.Lines(changelog) {
		if found := heading.FindStringSubmatch(strings.TrimRight(line, "\n")); found != nil {
			if inside = found[1] == version; inside {
				date = found[2]
			}
			continue
		}
		if inside {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "")), date
}

func notes(changelog, version string) (string, error) {
	name := strings.TrimPrefix(version, "v")
	text, date := section(changelog, name)
	switch {
	case text == "":
		return "", fmt.Errorf("it says nothing of %s: write what is new under \"## [%s] - YEAR-MONTH-DAY\"", version, name)
	case date == "":
		return "", fmt.Errorf("it does not say when %s is released: write \"## [%s] - YEAR-MONTH-DAY\"", version, name)
	}
	return text + "\n", nil
}
