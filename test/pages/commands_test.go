// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"regexp"
	"strings"
	"testing"
)

// An apply or replace of a Secret may remove annotations that restrict the use of the Secret.
var applied = regexp.MustCompile(`create secret [^|]*\|\s*kubectl (?:apply|replace)`)

func TestCommandsKeepAnnotationsOfSecrets(t *testing.T) {
	for _, page := range append(written(t), "tools/charts/assets/NOTES.txt") {
		if command := applied.FindString(text(t, page)); command != "" {
			t.Errorf("%s: use kubectl patch --type=merge instead of: %s", page, command)
		}
	}
}

// kubectl refuses these commands if only one operator is installed. docs/learn installs both.
var ofBoth = regexp.MustCompile(`kubectl [a-z]+ (?:\S+,)?dojos,\S*discord\S*`)

func TestCommandsNeedOneOperator(t *testing.T) {
	for _, page := range written(t) {
		if command := ofBoth.FindString(text(t, page)); command != "" && !strings.HasPrefix(page, "docs/learn/") {
			t.Errorf("%s: write one command for each operator instead of: %s", page, command)
		}
	}
}
