// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"encoding/json"
	"strings"
	"testing"
)

// Replacer replaces ids in the paths and bodies of a table.
func Replacer(pairs ...string) Filler { return Filler{strings.NewReplacer(pairs...)} }

// Filler replaces texts; see [Replacer].
type Filler struct{ r *strings.Replacer }

// Text fills a path.
func (f Filler) Text(s string) string { return f.r.Replace(s) }

// Body fills the strings of a body.
func (f Filler) Body(t *testing.T, v any) any {
	t.Helper()
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	Check(t, err)
	return f.r.Replace(string(raw))
}
