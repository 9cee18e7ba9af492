// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"encoding/json"
	"strings"
	"testing"
)

// Replacer returns a Filler. In pairs, each placeholder is followed by its replacement.
func Replacer(pairs ...string) Filler { return Filler{strings.NewReplacer(pairs...)} }

// Filler replaces placeholders in the paths and bodies of a test table. [Replacer] creates it.
type Filler struct{ r *strings.Replacer }

// Text replaces the placeholders in a path.
func (f Filler) Text(s string) string { return f.r.Replace(s) }

// Body encodes v as JSON and replaces the placeholders. It returns nil if v is nil.
func (f Filler) Body(t *testing.T, v any) any {
	t.Helper()
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	Check(t, err)
	return f.r.Replace(string(raw))
}
