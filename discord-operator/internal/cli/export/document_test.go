// SPDX-License-Identifier: Apache-2.0

package export

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// Any Unicode text from Discord survives toYAML and a YAML parser unchanged.
func TestToYAML(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		written, err := toYAML(map[string]string{"text": text})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		differs := func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' || strings.ContainsRune("\u2028\u2029\ufeff", r)
		}
		if strings.ContainsFunc(string(written), differs) {
			t.Fatalf("%q is written with characters that YAML readers treat differently:\n%q", text, written)
		}
		var read map[string]string
		if err := yaml.Unmarshal(written, &read); err != nil || read["text"] != text {
			t.Fatalf("%q became %q (%v) by way of\n%s", text, read["text"], err, written)
		}
	}
	for block := rune(0); block < 0x10000; block += 0x100 {
		if block >= 0xd800 && block < 0xe000 {
			continue // surrogates are no characters
		}
		var text strings.Builder
		for r := block; r < block+0x100; r++ {
			text.WriteString("a" + string(r) + "b")
		}
		check(t, text.String())
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "text")) })
}
