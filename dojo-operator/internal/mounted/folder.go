// SPDX-License-Identifier: Apache-2.0

// Package mounted reads the files of a mounted ConfigMap again and again.
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

// reloadInterval is short against the minute in which a kubelet updates a mounted ConfigMap.
const reloadInterval = 10 * time.Second

// maxFiles and maxFile in bytes bound the memory of a mistake.
const (
	maxFiles = 64
	maxFile  = 64 << 10
)

// Folder holds the value of a folder's files, and reads them again while it runs.
type Folder[T any] struct {
	path    string
	parse   func(files map[string][]byte) T
	current atomic.Pointer[T]
	changed chan struct{}
}

// Read reads a folder. "" and a folder that does not exist have no files.
func Read[T any](path string, parse func(files map[string][]byte) T) (*Folder[T], error) {
	f := &Folder[T]{path: path, parse: parse, changed: make(chan struct{}, 1)}
	_, err := f.reload()
	return f, err
}

// Fixed returns a value that never changes, which needs no Start.
func Fixed[T any](value T) *Folder[T] {
	f := &Folder[T]{changed: make(chan struct{}, 1)}
	f.current.Store(&value)
	return f
}

// Current returns the value, which the caller must not change.
func (f *Folder[T]) Current() T { return *f.current.Load() }

// Changed receives after a change. Several changes may be one.
func (f *Folder[T]) Changed() <-chan struct{} { return f.changed }

// NeedLeaderElection is false: a new leader has the current presets.
func (f *Folder[T]) NeedLeaderElection() bool { return false }

// Start reads the folder again and again. While that fails, the former presets stay.
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
			logf.FromContext(ctx).Error(err, "read the files of "+f.path+"; the former ones stay in use")
		}
		if !changed {
			continue
		}
		select {
		case f.changed <- struct{}{}:
		default: // one is pending
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
		if strings.HasPrefix(entry.Name(), ".") { // the kubelet's own
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
