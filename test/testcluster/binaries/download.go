// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"jutsu.com/operators/test/testcluster/internal/progress"
)

// downloadAll downloads binaries with pinned checksums. It returns a failure only if the source is
// onlyDownload, because other sources then build the binaries.
func (p *provider) downloadAll(ctx context.Context, missing []build) error {
	var all []download
	var unpinned []build
	var errs []error
	for _, b := range missing {
		if d, ok := p.download(b); ok {
			all = append(all, d)
		} else if b.release.url == "" {
			errs = append(errs, fmt.Errorf("%s %s: the project publishes no binary", b.name, b.version))
		} else {
			unpinned = append(unpinned, b)
			errs = append(errs, fmt.Errorf("%s %s: downloads.txt has no checksum of it for %s", b.name, b.version, platform))
		}
	}
	if len(unpinned) > 0 && p.source == auto {
		p.say("downloads.txt has no checksum of %s for %s, so it is built", titles(unpinned), platform)
	}
	if p.source == onlyDownload && len(errs) > 0 {
		return fmt.Errorf("%s=%s: %w", SourceEnv, onlyDownload, errors.Join(errs...))
	}
	err := p.transferAll(ctx, all)
	if ctx.Err() != nil {
		return fmt.Errorf("download: interrupted: %w", context.Cause(ctx))
	}
	if p.source == onlyDownload && err != nil {
		return fmt.Errorf("%s=%s: %w", SourceEnv, onlyDownload, err)
	}
	return nil
}

// transferAll downloads files in parallel. It prints an unreachable host only once.
func (p *provider) transferAll(ctx context.Context, all []download) error {
	if len(all) == 0 {
		return nil
	}
	var titles []string
	for _, d := range all {
		titles = append(titles, d.title)
	}
	p.say("downloading %s, once", strings.Join(titles, ", "))
	var count counter
	stop := progress.Every(p.interval, func(since time.Duration) { p.say("downloaded %s, %v", &count, since) })
	defer stop()
	errs := make([]error, len(all))
	began := time.Now()
	var group sync.WaitGroup
	for i, d := range all {
		group.Go(func() {
			err := p.transfer(ctx, d, &count)
			if err == nil {
				p.say("downloaded %s in %v", d.title, time.Since(began).Round(100*time.Millisecond))
				return
			}
			errs[i] = fmt.Errorf("download %s from %s: %w", d.title, p.address(d.url), err)
			if unreachable := (*hostError)(nil); ctx.Err() == nil && (!errors.As(err, &unreachable) || unreachable.first) {
				p.say("%v", errs[i])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

type counter struct{ done, size atomic.Int64 }

func (c *counter) Write(bytes []byte) (int, error) {
	c.done.Add(int64(len(bytes)))
	return len(bytes), nil
}

func (c *counter) String() string {
	const mega = 1e6
	return fmt.Sprintf("%.1f MB of %.1f MB", float64(c.done.Load())/mega, float64(c.size.Load())/mega)
}

// transfer completes the .part file, which stays after an interruption, and extracts the binary.
func (p *provider) transfer(ctx context.Context, d download, count *counter) error {
	if sum, err := sumOf(d.part); err != nil || sum != d.sum { // another process may have completed it
		err := p.resume(ctx, d, count)
		if status := statusError(0); errors.As(err, &status) && status == http.StatusRequestedRangeNotSatisfiable {
			_ = os.Remove(d.part) // the .part file is too long
			err = p.resume(ctx, d, count)
		}
		if err != nil {
			return err
		}
		sum, err := sumOf(d.part)
		if err != nil {
			return err
		}
		if sum != d.sum {
			_ = os.Remove(d.part)
			return fmt.Errorf("wrong SHA-256 %s, downloads.txt has %s", sum, d.sum)
		}
	}
	if err := install(d); err != nil {
		return err
	}
	_ = os.Remove(d.part) // fails for a plain binary, which install has renamed
	return nil
}

func (p *provider) resume(ctx context.Context, d download, count *counter) (err error) {
	file, err := os.OpenFile(d.part, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	offset, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return p.get(ctx, p.address(d.url), offset, func(from, size int64) (io.Writer, error) {
		count.done.Add(from)
		count.size.Add(max(size, 0))
		if err := file.Truncate(from); err != nil {
			return nil, err
		}
		_, err := file.Seek(from, io.SeekStart)
		return io.MultiWriter(file, count), err
	})
}

func install(d download) error {
	file := d.part
	if d.member != "" {
		var err error
		if file, err = extract(d.part, d.member); err != nil {
			return err
		}
		defer func() { _ = os.Remove(file) }() // needed only after a failure
	}
	if err := os.Chmod(file, 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.target), 0o755); err != nil {
		return err
	}
	return os.Rename(file, d.target)
}

// extract writes a member of a .tar.gz file to a new file in the same folder.
func extract(archive, member string) (path string, err error) {
	from, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }()
	unzipped, err := gzip.NewReader(from)
	if err != nil {
		return "", err
	}
	for entries := tar.NewReader(unzipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("the archive has no %s", member)
		}
		if err != nil {
			return "", err
		}
		if entry.Name == member && entry.Typeflag == tar.TypeReg {
			return writeTemp(filepath.Dir(archive), entries, entry.Size)
		}
	}
}

func writeTemp(folder string, from io.Reader, size int64) (path string, err error) {
	to, err := os.CreateTemp(folder, unfinished)
	if err != nil {
		return "", err
	}
	_, err = io.CopyN(to, from, size)
	if err = errors.Join(err, to.Close()); err != nil {
		_ = os.Remove(to.Name())
		return "", err
	}
	return to.Name(), nil
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
