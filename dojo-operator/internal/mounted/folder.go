// SPDX-License-Identifier: Apache-2.0

// Package mounted reads the files of a mounted ConfigMap periodically.
package mounted

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// reloadInterval is short compared to the minute that a kubelet takes to update mounted files.
const reloadInterval = 10 * time.Second

// maxFiles and maxFile (bytes) limit the memory if a wrong folder is mounted.
const (
	maxFiles = 64
	maxFile  = 64 << 10
)

// Folder has a value that is parsed from the files in a folder. Start reads the files periodically.
type Folder[T any] struct {
	path    string
	parse   func(files map[string][]byte) T
	current atomic.Pointer[T]
	changed chan struct{}
}

// Read parses the files in a folder. An empty path or a missing folder has no files.
func Read[T any](path string, parse func(files map[string][]byte) T) (*Folder[T], error) {
	f := &Folder[T]{path: path, parse: parse, changed: make(chan struct{}, 1)}
	_, err := f.reload()
	return f, err
}

// Fixed returns a Folder with a constant value. It works without Start.
func Fixed[T any](value T) *Folder[T] {
	f := &Folder[T]{changed: make(chan struct{}, 1)}
	f.current.Store(&value)
	return f
}

// Current returns the latest value. The caller must not change it.
func (f *Folder[T]) Current() T { return *f.current.Load() }

// Changed returns a channel that gets an item after one or several changes.
func (f *Folder[T]) Changed() <-chan struct{} { return f.changed }

// NeedLeaderElection returns false: a standby needs the current value when it becomes the leader.
func (f *Folder[T]) NeedLeaderElection() bool { return false }

// Start reads the folder periodically. If a read fails, the former value stays.
func (f *Folder[T]) Start(ctx context.Context) error {
	ticker := time.NewTicker(reloadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		changed, err := f.reload()
		if err != nil {
			logf.FromContext(ctx).Error(err, "read the files of "+f.path+"; the former files stay in use")
		}
		if !changed {
			continue
		}
		select {
		case f.changed <- struct{}{}:
		default: // a change is already pending
		}
	}
}

func (f *Folder[T]) reload() (changed bool, err error) {
	files, err := read(f.path)
	if err != nil {
		return false, err
	}
	next := f.parse(files)
	before := f.current.Swap(&next)
	return before == nil || !reflect.DeepEqual(*before, next), nil
}

func read(folder string) (map[string][]byte, error) {
	if folder == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") { // an entry of the kubelet, such as ..data
			continue
		}
		if len(files) == maxFiles {
			return nil, errors.New("more than 64 files in " + folder)
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name())) //nolint:gosec // G304: the platform's folder
		if err != nil {
			return nil, err
		}
		if len(text) > maxFile {
			return nil, errors.New("more than 64 KiB in " + entry.Name())
		}
		files[entry.Name()] = text
	}
	return files, nil
}
