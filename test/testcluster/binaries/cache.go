// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"jutsu.com/operators/test/testcluster/internal/progress"
)

// unfinished is the prefix of temporary files and folders in the cache.
const unfinished = "building-"

type source string

const (
	auto         source = "auto"
	onlyBuild    source = "build"
	onlyDownload source = "download"
)

type provider struct {
	client
	source   source
	sums     map[string]string // SHA-256 sums of files, keyed by URL
	progress io.Writer
	interval time.Duration // between two lines of progress
}

func newProvider(w io.Writer) (*provider, error) {
	if w == nil {
		w = os.Stderr
	}
	p := &provider{progress: progress.Synchronized(w), interval: progress.Interval, source: auto}
	if value := source(os.Getenv(SourceEnv)); value != "" {
		p.source = value
	}
	if p.source != auto && p.source != onlyBuild && p.source != onlyDownload {
		return nil, fmt.Errorf("%s=%s is unknown; set it to %s, %s or %s", SourceEnv, p.source,
			auto, onlyBuild, onlyDownload)
	}
	var err error
	if p.sums, err = parseSums(downloads); err != nil {
		return nil, err
	}
	p.client, err = newClient()
	return p, err
}

func (p *provider) cached(b build) string {
	if p.source != onlyDownload && exists(b.target) {
		return b.target
	}
	if d, ok := p.download(b); ok && exists(d.target) {
		return d.target
	}
	return ""
}

func (p *provider) provide(ctx context.Context, missing []build) (map[string]string, error) {
	cache := missing[0].cache
	unlock, err := p.lock(ctx, cache)
	if err != nil {
		return nil, err
	}
	defer unlock()

	stale, _ := filepath.Glob(filepath.Join(cache, unfinished+"*")) // the pattern is well-formed
	// These files are from killed processes: only the process with the lock downloads or builds.
	for _, path := range stale {
		_ = os.RemoveAll(path)
	}
	remaining := p.uncached(missing) // another process may have provided some of the binaries
	if p.source != onlyBuild {
		if err := p.downloadAll(ctx, remaining); err != nil {
			return nil, err
		}
		remaining = p.uncached(remaining)
	}
	if len(remaining) > 0 {
		if err := p.buildAll(ctx, remaining); err != nil {
			return nil, err
		}
	}
	paths := map[string]string{}
	for _, b := range missing {
		if d, ok := p.download(b); ok {
			_ = os.Remove(d.part) // left by a failed download whose binary was built
		}
		paths[b.name] = p.cached(b)
	}
	return paths, nil
}

func (p *provider) uncached(builds []build) (missing []build) {
	for _, b := range builds {
		if p.cached(b) == "" {
			missing = append(missing, b)
		}
	}
	return missing
}

func (p *provider) lock(ctx context.Context, cache string) (unlock func(), err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("cache for the binaries: %w", err)
	}
	lock := flock.New(filepath.Join(cache, "lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	if !locked {
		p.say("another process downloads or builds; waiting for it")
		stop := progress.Every(p.interval, func(since time.Duration) {
			p.say("still waiting for another process, %v", since)
		})
		defer stop()
		if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
			return nil, fmt.Errorf("wait for another process that downloads or builds: %w", err)
		}
	}
	return func() { _ = lock.Unlock() }, nil
}

func titles(builds []build) string {
	var names []string
	for _, group := range groups(builds) {
		names = append(names, group[0].title())
	}
	return strings.Join(names, ", ")
}

func (b build) title() string { return b.module + " " + b.version }

func (b build) same(other build) bool { return b.name == other.name }
