// SPDX-License-Identifier: Apache-2.0

package migrations

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	var many []string
	for range MaxFiles + 1 {
		many = append(many, "1_a.sql")
	}
	for want, names := range map[string][]string{
		"": {"1_tables.sql", "20261120_add-index.sql", "003_c.sql"},
		"must have a name of the form NUMBER_TEXT.sql":   {"tables.sql"},
		"must be at least 1":                             {"0_tables.sql"},
		"have the same number":                           {"1_a.sql", "001_b.sql"},
		"more than 1000":                                 many,
		"x must have a name of the form NUMBER_TEXT.sql": {"1_a.sql", "x"},
	} {
		err := Check(names)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.3q: %v, want %q", names, err, want)
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	files := map[string]string{"1_a.sql": "x", "2_b.sql": "y"}
	before := DigestOf(files)
	for name, change := range map[string]func(map[string]string){
		"content": func(f map[string]string) { f["1_a.sql"] = "z" },
		"name":    func(f map[string]string) { delete(f, "1_a.sql"); f["1_c.sql"] = "x" },
		"more":    func(f map[string]string) { f["3_c.sql"] = "" },
		"fewer":   func(f map[string]string) { delete(f, "2_b.sql") },
	} {
		changed := map[string]string{"1_a.sql": "x", "2_b.sql": "y"}
		change(changed)
		if DigestOf(changed) == before {
			t.Errorf("%s: the same digest", name)
		}
	}
}

func TestParseReport(t *testing.T) {
	t.Parallel()
	if n, last := ParseReport(Report(4, "20261120_add-index") + "\n"); n != 4 || last != "20261120_add-index" {
		t.Errorf("%d %q", n, last)
	}
	for _, text := range []string{"", "4", "4 a b", "x a", "4 " + strings.Repeat("a", 129), "4 a;b"} {
		if n, last := ParseReport(text); n != 0 || last != "" {
			t.Errorf("%q: %d %q", text, n, last)
		}
	}
}
