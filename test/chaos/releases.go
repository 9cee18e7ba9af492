// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

const (
	releaseSlots = 3
	// releaseLabel is the label app.kubernetes.io/name of release steps (Jobs before a new image).
	releaseLabel = "dojo-release"
	// brokenImages is the prefix of images that cannot be pulled, so their release steps never
	// succeed.
	brokenImages = "registry.invalid/"
)

var (
	releaseImages = []string{
		"registry.example.org/dojo:1", "registry.example.org/dojo:2", "registry.example.org/dojo:3",
		brokenImages + "dojo:4", brokenImages + "dojo:5",
	}
	wholeImages = releaseImages[:3]
)

func releaseName(slot int) string { return fmt.Sprintf("release-%d", slot) }

func (r *run) createRelease(ctx context.Context, a action) (string, error) {
	random := a.random()
	d := &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: releaseName(a.slot)}}
	d.Spec.AccountID, d.Spec.Title = "Masamichi Yaga", "Dojo "+uniqueWord(random)[:4]
	d.Spec.CredentialsRef = &corev1api.SecretReference{Name: credentialsSecret}
	if oneIn(random, 2) {
		d.Spec.CredentialsRef = nil
		d.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: sharedCluster},
			ReclaimPolicy: corev1api.ReclaimDelete}
	}
	d.Spec.Image = pick(random, wholeImages)
	d.Spec.Release = &corev1api.Release{Command: []string{"/app/migrate", "up"}}
	return d.Spec.Image, r.create(ctx, d)
}

func (r *run) editRelease(ctx context.Context, a action) (string, error) {
	d, what := &corev1api.Dojo{}, ""
	err := r.edit(ctx, releaseName(a.slot), d, func() { what = changeRelease(a.random(), d) })
	return what, err
}

func changeRelease(random *rand.Rand, d *corev1api.Dojo) string {
	switch random.IntN(6) {
	case 0:
		n := random.Int32N(4)
		d.Spec.Replicas = &n
		return fmt.Sprintf("replicas %d", n)
	case 1:
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, corev1api.RetryReleaseAnnotation, uniqueWord(random))
		return "retry"
	default:
		d.Spec.Image = pick(random, releaseImages)
		return "image " + d.Spec.Image
	}
}

func (r *run) deleteRelease(ctx context.Context, a action) (string, error) {
	return "", r.delete(ctx, releaseName(a.slot), &corev1api.Dojo{})
}

func (r *run) deleteReleaseJobs(ctx context.Context, a action) (string, error) {
	return "", r.deleteOfRelease(ctx, a, &batchv1.Job{})
}

func (r *run) deleteReleasePods(ctx context.Context, a action) (string, error) {
	return "", r.deleteOfRelease(ctx, a, &corev1.Pod{})
}

func (r *run) deleteOfRelease(ctx context.Context, a action, kind client.Object) error {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	return r.Admin.DeleteAllOf(ctx, kind, client.InNamespace(namespace), client.MatchingLabels{
		"app.kubernetes.io/name": releaseLabel, "app.kubernetes.io/instance": releaseName(a.slot),
	}, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

func (r *run) fixReleases(ctx context.Context) error {
	var failed error
	for slot := range releaseSlots {
		d := &corev1api.Dojo{}
		err := r.edit(ctx, releaseName(slot), d, func() {
			if strings.HasPrefix(d.Spec.Image, brokenImages) {
				d.Spec.Image = wholeImages[0]
			}
		})
		failed = errors.Join(failed, client.IgnoreNotFound(err))
	}
	return failed
}
