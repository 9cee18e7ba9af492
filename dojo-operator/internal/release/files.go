// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/release/migrations"
	"jutsu.com/operators/libs/apply"
)

type file struct{ configMap, key string }

// contents has the hashes of the files of a ConfigMap, keyed by name, and the size of all files.
type contents struct {
	files map[string]string
	size  int
}

var known = lru.New(1024)

// observeFiles sets the fields about the migration files. It takes the contents of a ConfigMap from
// the variable known, and reads the ConfigMap only if known lacks its present version.
func (s *State) observeFiles(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) error {
	all, size := map[string]string{}, 0
	for _, ref := range dojo.Spec.Release.Migrations.ConfigMapRefs {
		name := types.NamespacedName{Namespace: dojo.Namespace, Name: ref.Name}
		live, err := apply.Get(ctx, r, "ConfigMap", name, apply.Metadata("v1", "ConfigMap"))
		if err != nil {
			return err
		}
		if live == nil {
			s.Missing = cmp.Or(s.Missing, "ConfigMap "+name.String())
			continue
		}
		found, err := readFiles(ctx, r, name, fmt.Sprintf("%s/%s", live.UID, live.ResourceVersion))
		if err != nil {
			return err
		}
		size += found.size
		for _, key := range slices.Sorted(maps.Keys(found.files)) {
			if _, twice := all[key]; twice {
				s.Invalid = cmp.Or(s.Invalid, fmt.Sprintf("the file %s is in two ConfigMaps", key))
			}
			all[key] = found.files[key]
			s.Files = append(s.Files, file{ref.Name, key})
		}
	}
	switch err := migrations.Check(slices.Collect(maps.Keys(all))); {
	case s.Missing != "":
	case len(all) == 0:
		s.NoFiles, s.Missing = true, "key with the suffix "+migrations.Suffix+" in the ConfigMaps"
	case err != nil:
		s.Invalid = cmp.Or(s.Invalid, err.Error())
	case size > migrations.MaxSize:
		s.Invalid = cmp.Or(s.Invalid, fmt.Sprintf("the files have more than %d MiB together", migrations.MaxSize>>20))
	}
	if s.Missing == "" && s.Invalid == "" {
		s.Digest = migrations.Digest(all)
	}
	return nil
}

// readFiles returns ErrStale if the cache lags behind the API server.
func readFiles(ctx context.Context, r apply.Reader, name types.NamespacedName, version string) (contents, error) {
	if found, ok := known.Get(version); ok {
		return found.(contents), nil
	}
	var live corev1.ConfigMap
	if err := r.Live.Get(ctx, name, &live); apierrors.IsNotFound(err) {
		return contents{}, apply.ErrStale
	} else if err != nil {
		return contents{}, fmt.Errorf("read ConfigMap %s: %w", name, err)
	}
	if version != fmt.Sprintf("%s/%s", live.UID, live.ResourceVersion) {
		return contents{}, apply.ErrStale
	}
	found := contents{files: map[string]string{}}
	add := func(key, text string) {
		if strings.HasSuffix(key, migrations.Suffix) {
			found.files[key] = migrations.Hash(text)
			found.size += len(text)
		}
	}
	for key, text := range live.Data {
		add(key, text)
	}
	for key, data := range live.BinaryData {
		add(key, string(data))
	}
	known.Add(version, found)
	return found, nil
}
