// SPDX-License-Identifier: Apache-2.0

// Package migrations checks and identifies SQL files for goose (https://github.com/pressly/goose).
package migrations

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// Suffix is the end of a migration file's name.
	Suffix = ".sql"
	// MaxFiles is the maximum number of migration files of a Dojo.
	MaxFiles = 1000
	// MaxSize is the maximum size of all files together, in bytes.
	MaxSize = 4 << 20
)

var form = regexp.MustCompile(`^([0-9]{1,18})_[-._a-zA-Z0-9]+\.sql$`)

// Version returns the number of a file NUMBER_TEXT.sql. It refuses other names and numbers below 1,
// because goose could silently skip such a file.
func Version(name string) (int64, error) {
	parts := form.FindStringSubmatch(name)
	if parts == nil {
		return 0, fmt.Errorf("the file %s must have a name of the form NUMBER_TEXT.sql, as goose requires; TEXT has only "+
			"letters, digits, '-', '_' and '.'", name)
	}
	version, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || version < 1 {
		return 0, fmt.Errorf("the number of the file %s must be at least 1", name)
	}
	return version, nil
}

// Check returns an error for more than MaxFiles names, and for names that goose cannot order.
func Check(names []string) error {
	if len(names) > MaxFiles {
		return fmt.Errorf("there are %d files, more than %d", len(names), MaxFiles)
	}
	known := map[int64]string{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		version, err := Version(name)
		if err != nil {
			return err
		}
		if other := known[version]; other != "" {
			return fmt.Errorf("the files %s and %s have the same number", other, name)
		}
		known[version] = name
	}
	return nil
}

// Hash identifies the content of a file.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Digest identifies files by their names and the hashes of their contents.
func Digest(hashes map[string]string) string {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		fmt.Fprintf(&lines, "%s %s\n", hashes[name], name)
	}
	return Hash(lines.String())
}

// DigestOf returns the [Digest] of files, from their contents.
func DigestOf(files map[string]string) string {
	hashes := map[string]string{}
	for name, text := range files {
		hashes[name] = Hash(text)
	}
	return Digest(hashes)
}

var report = regexp.MustCompile(`^([0-9]{1,7}) ([-._a-zA-Z0-9]{1,128})$`)

// Report returns dojo-migrate's termination message: a count, and the name of the last migration.
func Report(count int, last string) string { return fmt.Sprintf("%d %s", count, last) }

// ParseReport returns the values of [Report]; 0 and "" for any other text.
func ParseReport(text string) (count int32, last string) {
	parts := report.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return 0, ""
	}
	n, _ := strconv.ParseInt(parts[1], 10, 32)
	return int32(n), parts[2]
}
