// SPDX-License-Identifier: Apache-2.0

package sizes

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

// Store holds the presets of a folder, and reads them again while it runs.
type Store struct {
	folder  string
	current atomic.Pointer[Presets]
	changed chan struct{}
}

// NewStore reads the folder. "" and a folder that does not exist have no files.
func NewStore(folder string) (*Store, error) {
	s := &Store{folder: folder, changed: make(chan struct{}, 1)}
	_, err := s.reload()
	return s, err
}

// Fixed returns a store of presets that never change, which needs no Start.
func Fixed(presets Presets) *Store {
	s := &Store{changed: make(chan struct{}, 1)}
	s.current.Store(&presets)
	return s
}

// Current returns the presets, which the caller must not change. A nil store has those built in.
func (s *Store) Current() Presets {
	if s == nil {
		return BuiltIn()
	}
	return *s.current.Load()
}

// Changed receives after a change. Several changes may be one.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// NeedLeaderElection is false: a new leader has the current presets.
func (s *Store) NeedLeaderElection() bool { return false }

// Start reads the folder again and again. While that fails, the former presets stay.
func (s *Store) Start(ctx context.Context) error {
	ticker := time.NewTicker(reloadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		changed, err := s.reload()
		if err != nil {
			logf.FromContext(ctx).Error(err, "read the sizes of databases; the former ones stay in use")
		}
		if !changed {
			continue
		}
		select {
		case s.changed <- struct{}{}:
		default: // one is pending
		}
	}
}

func (s *Store) reload() (changed bool, err error) {
	files, err := read(s.folder)
	if err != nil {
		return false, err
	}
	next := Parse(files)
	before := s.current.Swap(&next)
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
			return nil, errors.New("more than 64 sizes in " + folder)
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
