// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"encoding/json"
	"strings"
	"testing"
)

// Replacer returns a Filler that replaces the first text of each pair by the second.
func Replacer(pairs ...string) Filler { return Filler{strings.NewReplacer(pairs...)} }

// Filler fills placeholders in the paths and bodies of a test table; see [Replacer].
type Filler struct{ r *strings.Replacer }

// Text replaces the placeholders in a path.
func (f Filler) Text(s string) string { return f.r.Replace(s) }

// Body returns a body in JSON with the placeholders replaced; nil for no body.
func (f Filler) Body(t *testing.T, v any) any {
	t.Helper()
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	Check(t, err)
	return f.r.Replace(string(raw))
}
