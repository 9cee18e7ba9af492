// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"
)

// The API server would refuse the whole status if a name were too long.
func TestLongNameIsTruncated(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Jujutsu High":           "Jujutsu High",
		strings.Repeat("ü", 256): strings.Repeat("ü", 256),
		strings.Repeat("ü", 257): strings.Repeat("ü", 256),
	} {
		if got := truncated(name); got != want {
			t.Errorf("%s becomes %s", name, got)
		}
	}
}
