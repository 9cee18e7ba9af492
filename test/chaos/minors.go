// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

const (
	postgresRepository = "registry.example.org/postgresql:"
	lastMinor          = 9
	// anyMinor as an element of minors.allowed means versionPolicy.minor: Automatic.
	anyMinor = "any"
)

type minors struct {
	mu      sync.Mutex
	offered map[string]bool            // set of images
	now     map[string]string          // maps a major version to its image
	allowed map[string]map[string]bool // maps a Dojo's name to the minor versions that users allow
	last    map[string]string          // maps a Cluster's UID and major version to its last image
}

func newMinors() *minors {
	return &minors{offered: map[string]bool{}, allowed: map[string]map[string]bool{}, last: map[string]string{}}
}

func (s *stage) catalogFolder() string { return filepath.Join(s.folder, "catalog") }

// offer writes the catalog of Postgres images. Each replica of dojo-operator reads it within ten
// seconds.
func (s *stage) offer(minor func() int) (string, error) {
	s.minors.mu.Lock()
	defer s.minors.mu.Unlock()
	s.minors.now = map[string]string{}
	var entries, names []string
	for _, major := range versions {
		name := fmt.Sprintf("%s.%d", major, minor())
		image := postgresRepository + name
		s.minors.now[major], s.minors.offered[image] = image, true
		names = append(names, name)
		entries = append(entries, fmt.Sprintf("{major: %s, image: '%s'}", major, image))
	}
	text := "{kind: ClusterImageCatalog, spec: {images: [" + strings.Join(entries, ", ") + "]}}"
	return strings.Join(names, " "), s.writeCatalog(text)
}

func (s *stage) writeCatalog(text string) error {
	if err := os.MkdirAll(s.catalogFolder(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.catalogFolder(), "catalog.yaml"), []byte(text), 0o600)
}

func (r *run) offerMinors(_ context.Context, a action) (string, error) {
	random := a.random()
	if oneIn(random, 6) {
		return "the catalog is invalid", r.writeCatalog("{kind: ClusterImageCatalog, spec: {images: 7}}")
	}
	return r.offer(func() int { return random.IntN(lastMinor) })
}

func (r *run) allowMinor(ctx context.Context, a action) (string, error) {
	random := a.random()
	return r.editDataOf(ctx, a.slot, func(d *corev1api.Dojo) string {
		own := d.Spec.Postgres.Cluster
		switch newer := newerVersion(d); {
		case own == nil:
			return "none: the database is in the shared Cluster"
		case newer != "" && oneIn(random, 2):
			r.minors.allow(d.Name, newer)
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, corev1api.MinorUpgradeAnnotation, newer)
			return newer
		case oneIn(random, 2):
			r.minors.allow(d.Name, anyMinor)
			own.VersionPolicy = &corev1api.VersionPolicy{Minor: corev1api.MinorAutomatic}
			return anyMinor
		}
		own.VersionPolicy = nil
		return "none"
	})
}

func newerVersion(d *corev1api.Dojo) string {
	if d.Status.Database == nil {
		return ""
	}
	return d.Status.Database.NewerVersion
}

func (m *minors) allow(dojo, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.allowed[dojo] == nil {
		m.allowed[dojo] = map[string]bool{}
	}
	m.allowed[dojo][version] = true
}

func (m *minors) current() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.now)
}

// cluster expects that a Cluster has an image that a catalog has offered, and gets a higher minor
// version only if a user has allowed it. Actions call allow before they edit the Dojo, so that
// cluster knows the permission in time.
func (m *minors) cluster(o client.Object) (wrong violations) {
	cluster := o.(*unstructured.Unstructured)
	image, _, _ := unstructured.NestedString(cluster.Object, "spec", "imageName")
	dojo, is := strings.CutSuffix(cluster.GetName(), "-db")
	if !is || image == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.offered[image] {
		wrong.add("a Cluster has an image of the catalog", cluster.GetName(), "%s", image)
	}
	version := strings.TrimPrefix(image, postgresRepository)
	major, _, _ := strings.Cut(version, ".")
	key := string(cluster.GetUID()) + " " + major
	before := m.last[key]
	m.last[key] = image
	switch {
	case before == "" || before == image:
	case minorOf(image) < minorOf(before):
		wrong.add("a minor version never becomes lower", cluster.GetName(), "%s after %s", image, before)
	case !m.allowed[dojo][version] && !m.allowed[dojo][anyMinor]:
		wrong.add("a minor version changes if a user has allowed it", cluster.GetName(), "%s after %s", image, before)
	}
	return wrong
}

func minorOf(image string) int {
	_, minor, _ := strings.Cut(strings.TrimPrefix(image, postgresRepository), ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return -1
	}
	return n
}

// If the catalog has a newer minor version, checkMinors expects the status to name it. With the
// policy Automatic, the Cluster must already have the newest minor version.
func (w *dataWorld) checkMinors() (wrong violations) {
	for _, d := range w.dojos {
		cluster, own := w.named("Cluster", d.Name+"-db"), d.Spec.Postgres.Cluster
		if cluster == nil || own == nil || d.DeletionTimestamp != nil || !slices.Equal(w.expect(d).reasons, isReady.reasons) {
			continue
		}
		image, _, _ := unstructured.NestedString(cluster.Object, "spec", "imageName")
		offered := w.offered[own.Version]
		newer := ""
		if minorOf(offered) > minorOf(image) {
			newer = strings.TrimPrefix(offered, postgresRepository)
		}
		automatic := own.VersionPolicy != nil && own.VersionPolicy.Minor == corev1api.MinorAutomatic
		if automatic && newer != "" {
			wrong.add("Automatic takes the newest minor version", id(d), "%s, and the catalog has %s", image, offered)
		}
		if got := newerVersion(d); got != newer {
			wrong.add("the status names the newest minor version", id(d), "it names %q; the Cluster has %s, and the catalog %s",
				got, image, offered)
		}
	}
	return wrong
}
