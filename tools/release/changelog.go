package main

import (
	"fmt"
	"regexp"
	"strings"
)

// heading begins a version's part of a changelog in the form of https://keepachangelog.com: ## [0.1.0] - 2026-01-31
var heading = regexp.MustCompile(`^## \[?([^\]\s]+)\]?(?: - (\d{4}-\d{2}-\d{2}))?\s*$`)

// notes returns what a changelog says of a version (v1.2.3).
func notes(changelog, version string) (string, error) {
	var part []string
	inside, dated := false, false
	for line := range strings.Lines(changelog) {
		if found := heading.FindStringSubmatch(strings.TrimRight(line, "\n")); found != nil {
			inside = "v"+found[1] == version
			dated = dated || (inside && found[2] != "")
			continue
		}
		if inside {
			part = append(part, line)
		}
	}
	text := strings.TrimSpace(strings.Join(part, ""))
	switch {
	case text == "":
		return "", fmt.Errorf("it says nothing of %s: write what is new under \"## [%s] - YEAR-MONTH-DAY\"", version, strings.TrimPrefix(version, "v"))
	case !dated:
		return "", fmt.Errorf("it does not say when %s is released: write \"## [%s] - YEAR-MONTH-DAY\"", version, strings.TrimPrefix(version, "v"))
	}
	return text + "\n", nil
}
