// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"jutsu.com/operators/libs/testcluster/process"
)

// unfinished is the prefix of folders in the cache that hold a build in progress.
const unfinished = "building-"

// build is one binary to be built into the cache.
type build struct {
	binary
	name    string
	version string
	hash    string
	source  string // folder of the module that pins it
	cache   string // folder of all cached binaries
	target  string // path of the finished binary
}

// buildAll builds one after the other, which on few cores is faster than all at once. A lock in the
// cache folder makes other processes wait, and then find the work done.
func buildAll(ctx context.Context, builds []build, progress io.Writer) error {
	cache := builds[0].cache
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("testcluster: cache for the binaries: %w", err)
	}
	lock := flock.New(filepath.Join(cache, "lock"))
	if locked, err := lock.TryLock(); err != nil {
		return fmt.Errorf("testcluster: lock the cache: %w", err)
	} else if !locked {
		say(progress, "another process is building; waiting for it")
		if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("testcluster: wait for another process that builds: %w", err)
		}
	}
	defer func() { _ = lock.Unlock() }()

	stale, _ := filepath.Glob(filepath.Join(cache, unfinished+"*")) // the pattern is well-formed
	// of a build that was killed: we hold the lock, so no other process builds
	for _, folder := range stale {
		_ = os.RemoveAll(folder)
	}
	for i, b := range builds {
		if exists(b.target) { // built while we waited
			continue
		}
		say(progress, "building %s %s (%d of %d), about %v on two cores, only once", b.name, b.version, i+1, len(builds),
			b.cold)
		began := time.Now()
		if err := b.run(ctx, progress); err != nil {
			return err
		}
		say(progress, "built %s in %v", b.name, time.Since(began).Round(time.Second))
	}
	return nil
}

// run builds into a folder that goes away with this process, and moves the finished binary to its
// place in one step.
func (b build) run(ctx context.Context, progress io.Writer) (err error) {
	folder, err := os.MkdirTemp(b.cache, unfinished)
	if err != nil {
		return fmt.Errorf("testcluster: build %s: %w", b.name, err)
	}
	reaper, err := process.NewReaper(folder)
	if err != nil {
		_ = os.RemoveAll(folder)
		return fmt.Errorf("testcluster: build %s: %w", b.name, err)
	}
	defer func() {
		if cleanErr := reaper.Clean(); err == nil {
			err = cleanErr
		}
	}()
	output := filepath.Join(folder, b.name)
	if err := b.compile(ctx, output, reaper, progress); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.target), 0o755); err != nil {
		return fmt.Errorf("testcluster: build %s: %w", b.name, err)
	}
	if err := os.Rename(output, b.target); err != nil {
		return fmt.Errorf("testcluster: build %s: %w", b.name, err)
	}
	return nil
}

func (b build) compile(ctx context.Context, output string, reaper *process.Reaper, progress io.Writer) error {
	cmd := exec.Command("go", "build", "-mod=readonly", "-trimpath", "-ldflags="+b.ldflags(), "-tags="+b.tags, "-o",
		output, b.pkg)
	cmd.Dir = b.source
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
		"GOTMPDIR="+filepath.Dir(output)) // so that the go command leaves nothing behind either
	p, err := process.Start("go build", output+".log", cmd, reaper)
	if err != nil {
		return fmt.Errorf("testcluster: build %s: %w", b.name, err)
	}
	began, tick := time.Now(), time.NewTicker(30*time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.Kill()
			return fmt.Errorf("testcluster: build %s: interrupted: %w", b.name, context.Cause(ctx))
		case <-tick.C:
			say(progress, "still building %s, %v of about %v", b.name, time.Since(began).Round(time.Second), b.cold)
		case <-p.Exited():
			if p.ExitCode() != 0 {
				return fmt.Errorf("testcluster: build %s %s in %s: %w", b.name, b.version, b.source, p.Err())
			}
			return nil
		}
	}
}

// ldflags leave symbols out and write the version into the binary: without it Kubernetes calls
// itself v0.0.0-master, which version-gated clients cannot parse.
func (b build) ldflags() string {
	flags := []string{"-s", "-w"}
	for _, variable := range b.stamp {
		flags = append(flags, "-X", variable+"="+b.version)
		major, rest, _ := strings.Cut(strings.TrimPrefix(b.version, "v"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		prefix := strings.TrimSuffix(variable, "gitVersion")
		flags = append(flags, "-X", prefix+"gitMajor="+major, "-X", prefix+"gitMinor="+minor)
	}
	return strings.Join(flags, " ")
}

// synchronized lets goroutines share a writer that is not made for it.
type synchronized struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *synchronized) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(line)
}

// say writes a line of progress, unless w is nil.
func say(w io.Writer, format string, args ...any) {
	if w != nil {
		_, _ = fmt.Fprintf(w, "testcluster: "+format+"\n", args...)
	}
}
