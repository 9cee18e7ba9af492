// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func TestReleases(t *testing.T) {
	t.Parallel()
	noon := metav1.NewTime(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	later := metav1.NewTime(noon.Add(time.Minute))
	labels := func(name string) map[string]string {
		return map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/instance": "release-0"}
	}
	dojo := &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Name: "release-0", UID: "uid"}}
	dojo.Status.Release = &corev1api.ReleaseStatus{FinishedAt: &noon, Succeeded: []string{"a"}}
	var s releases
	s.dojo(dojo)
	job := func(step string, at metav1.Time) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Name: "j", Labels: labels(releaseLabel), CreationTimestamp: at,
			Annotations:     map[string]string{"core.jutsu.com/release-step": step},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(dojo, corev1api.GroupVersion.WithKind("Dojo"))},
		}}
	}
	expect(t, s.object(job("a", later)), onceInvariant, "after the step had succeeded")
	pod := func(name, of, image string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels(of)},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}
	}
	broken := pod("p", "dojo", brokenImages+"dojo:4")
	expect(t, s.object(&broken), heldInvariant, "registry.invalid")
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", Labels: labels("dojo")}}
	deployment.Spec.Template.Spec = broken.Spec
	expect(t, s.object(deployment), heldInvariant, "registry.invalid")
	one, two := pod("one", releaseLabel, "x"), pod("two", releaseLabel, "x")
	expect(t, s.together([]corev1.Pod{one, two}), onceInvariant, "beside the pod one")

	one.Status.Phase = corev1.PodFailed
	ours := pod("p", releaseLabel, brokenImages+"dojo:4")
	for _, wrong := range []violations{
		s.object(job("a", noon)), s.object(job("b", later)), s.object(&ours), s.together([]corev1.Pod{one, two}),
	} {
		if len(wrong) > 0 {
			t.Error(wrong)
		}
	}
}
