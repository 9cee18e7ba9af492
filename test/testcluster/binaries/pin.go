// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"jutsu.com/operators/test/testcluster/project"
)

var platforms = []string{"linux/amd64", "linux/arm64"}

const sumsHeader = "# SHA-256 sums of official releases; `testcluster pin` writes this file, doc.go describes it.\n"

// Pin writes the checksums of official releases to downloads.txt. It computes a checksum that the
// project does not publish, and skips a missing file (404). After any other failure, it writes
// nothing.
func Pin(ctx context.Context, w io.Writer) error {
	p, err := newProvider(w)
	if err != nil {
		return fmt.Errorf("testcluster: %w", err)
	}
	path, err := project.Path("test", "testcluster", "binaries", "downloads.txt")
	if err != nil {
		return fmt.Errorf("testcluster: %w", err)
	}
	var releases []release
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if table[name].release.url == "" {
			continue
		}
		b, err := newBuild(name)
		if err != nil {
			return fmt.Errorf("testcluster: %w", err)
		}
		for _, platform := range platforms {
			releases = append(releases, b.release.of(b.version, platform))
		}
	}
	text, err := p.pin(ctx, releases)
	if err != nil {
		return fmt.Errorf("testcluster: %w", err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("testcluster: %w", err)
	}
	p.say("wrote %s; `make testcluster` uses it", path)
	return nil
}

func (p *provider) pin(ctx context.Context, releases []release) ([]byte, error) {
	lines := []string{}
	for _, r := range releases {
		sum, err := p.published(ctx, r)
		if status := statusError(0); errors.As(err, &status) && status == http.StatusNotFound {
			p.say("no checksum for %s: %v", r.url, err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("checksum of %s: %w", r.url, err)
		}
		p.say("%s  %s", sum, r.url)
		lines = append(lines, sum+"  "+r.url+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[2*sha256.Size:], b[2*sha256.Size:]) })
	return []byte(sumsHeader + strings.Join(lines, "")), nil
}

func (p *provider) published(ctx context.Context, r release) (string, error) {
	if r.sums == "" {
		hash := sha256.New()
		err := p.get(ctx, p.address(r.url), 0, func(int64, int64) (io.Writer, error) { return hash, nil })
		return hex.EncodeToString(hash.Sum(nil)), err
	}
	var list bytes.Buffer
	err := p.get(ctx, p.address(r.sums), 0, func(int64, int64) (io.Writer, error) { return &list, nil })
	if err != nil {
		return "", err
	}
	return findSum(list.String(), r.url)
}

var sumOnly = regexp.MustCompile(`^[0-9a-f]{64}$`)

// findSum returns a file's checksum from the output of sha256sum, or from a text with only a
// checksum.
func findSum(list, url string) (string, error) {
	file := url[strings.LastIndexByte(url, '/')+1:]
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !sumOnly.MatchString(fields[0]) {
			continue
		}
		if len(fields) == 1 || strings.TrimPrefix(fields[1], "*") == file {
			return fields[0], nil
		}
	}
	return "", fmt.Errorf("no SHA-256 sum of %s in %.200q", file, list)
}
