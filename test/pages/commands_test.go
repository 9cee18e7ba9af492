// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"regexp"
	"strings"
	"testing"
)

// applied matches a command that overwrites a Secret by kubectl apply or kubectl replace. Such a
// command may remove the Secret's annotations: an apply removes them if an earlier apply had the
// same field manager. Annotations restrict who may use the Secret.
var applied = regexp.MustCompile(`create secret [^|]*\|\s*kubectl (?:apply|replace)`)

func TestCommandsKeepAnnotationsOfSecrets(t *testing.T) {
	for _, page := range append(written(t), "tools/charts/assets/NOTES.txt") {
		if command := applied.FindString(text(t, page)); command != "" {
			t.Errorf("%s: use kubectl patch --type=merge instead of: %s", page, command)
		}
	}
}

// ofBoth matches a command with kinds of both operators. kubectl refuses the whole command if only
// one operator is installed. The pages in docs/learn install both.
var ofBoth = regexp.MustCompile(`kubectl [a-z]+ (?:\S+,)?dojos,\S*discord\S*`)

func TestCommandsNeedOneOperator(t *testing.T) {
	for _, page := range written(t) {
		if command := ofBoth.FindString(text(t, page)); command != "" && !strings.HasPrefix(page, "docs/learn/") {
			t.Errorf("%s: write one command for each operator instead of: %s", page, command)
		}
	}
}
