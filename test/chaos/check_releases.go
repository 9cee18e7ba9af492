// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

const (
	onceInvariant = "a release step runs once"
	heldInvariant = "no pod gets an image whose release step has not succeeded"
)

// releases checks that a release step (a Job) runs once, and that a Dojo's Deployment gets a new
// image only after this step has succeeded.
type releases struct {
	mu sync.Mutex
	// succeeded maps a Dojo's UID and a step to the time of success in the Dojo's status.
	succeeded map[types.UID]map[string]time.Time
}

func (s *releases) dojo(d *corev1api.Dojo) {
	status := d.Status.Release
	if status == nil || status.FinishedAt == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.succeeded == nil {
		s.succeeded = map[types.UID]map[string]time.Time{}
	}
	if s.succeeded[d.UID] == nil {
		s.succeeded[d.UID] = map[string]time.Time{}
	}
	for _, step := range status.Succeeded {
		if _, known := s.succeeded[d.UID][step]; !known {
			s.succeeded[d.UID][step] = status.FinishedAt.Time
		}
	}
}

func (s *releases) object(o client.Object) (wrong violations) {
	switch o := o.(type) {
	case *batchv1.Job:
		s.mu.Lock()
		defer s.mu.Unlock()
		owner := metav1.GetControllerOfNoCopy(o)
		if owner == nil || o.Labels["app.kubernetes.io/name"] != releaseLabel {
			return nil
		}
		step := o.Annotations["core.jutsu.com/release-step"]
		if at, done := s.succeeded[owner.UID][step]; done && o.CreationTimestamp.After(at) {
			wrong.add(onceInvariant, id(o), "it was created after the step had succeeded at %s", at.Format(time.TimeOnly))
		}
	case *appsv1.Deployment:
		wrong = append(wrong, brokenImage(o, o.Labels, o.Spec.Template.Spec)...)
	case *corev1.Pod:
		wrong = append(wrong, brokenImage(o, o.Labels, o.Spec)...)
	}
	return wrong
}

func brokenImage(o client.Object, labels map[string]string, spec corev1.PodSpec) (wrong violations) {
	if labels["app.kubernetes.io/name"] != "dojo" {
		return nil
	}
	for _, c := range spec.Containers {
		if strings.HasPrefix(c.Image, brokenImages) && strings.HasPrefix(labels["app.kubernetes.io/instance"], "release-") {
			wrong.add(heldInvariant, id(o), "it has the image %s", c.Image)
		}
	}
	return wrong
}

// together finds release pods of the same Dojo that run at the same time, in one list of pods.
func (s *releases) together(pods []corev1.Pod) (wrong violations) {
	first := map[string]string{}
	for i := range pods {
		pod := &pods[i]
		if pod.Labels["app.kubernetes.io/name"] != releaseLabel || pod.Status.Phase == corev1.PodSucceeded ||
			pod.Status.Phase == corev1.PodFailed {
			continue
		}
		dojo := pod.Labels["app.kubernetes.io/instance"]
		if other := first[dojo]; other != "" {
			wrong.add(onceInvariant, id(pod), "it runs beside the pod %s", other)
		}
		first[dojo] = pod.Name
	}
	return wrong
}

func checkReleases(w *world) (wrong violations) {
	for _, d := range w.dojos {
		if d.Spec.Release == nil || d.DeletionTimestamp != nil {
			continue
		}
		image := ""
		if live := find(w.deployments, d.Name); live != nil {
			image = live.Spec.Template.Spec.Containers[0].Image
		}
		released := ""
		if d.Status.Release != nil {
			released = d.Status.Release.Image
		}
		for _, what := range append(differ("image of the Deployment", d.Spec.Image, image),
			differ("image in status.release", d.Spec.Image, released)...) {
			wrong.add("a Dojo matches its spec", id(d), "%s", what)
		}
	}
	return wrong
}
