// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"encoding/json"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// refusedAnnotation on the Deployment records a [refusal]. If only the status had the refusal, a
// crash between two writes would start the failed rollout again.
const refusedAnnotation = "core.jutsu.com/refused-image"

type refusal struct {
	Image, Reason, Former string
}

var (
	refusedPath = fieldpath.MakePathOrDie("metadata", "annotations", refusedAnnotation)
	imagePath   = fieldpath.MakePathOrDie("spec", "template", "spec", "containers",
		fieldpath.KeyByFields("name", containerName), "image")
)

func recordedRefusal(dojo *corev1api.Dojo, live *appsv1.Deployment, cfg Config) *refusal {
	if r := refusalOf(live); r != nil && dojo.RollsBack() && r.Image == Image(dojo, cfg) {
		return r
	}
	return nil
}

// refusalOf ignores an annotation that another client has written: such a client could stop
// rollouts.
func refusalOf(live *appsv1.Deployment) *refusal {
	if live == nil || live.Annotations[refusedAnnotation] == "" || !owns(live, refusedPath) {
		return nil
	}
	var r refusal
	if err := json.Unmarshal([]byte(live.Annotations[refusedAnnotation]), &r); err != nil || r.Former == "" {
		return nil
	}
	return &r
}

// newRefusal returns nil if the former image fails too: there is no second rollback.
func newRefusal(dojo *corev1api.Dojo, s State, cfg Config) *refusal {
	live, desired := s.Deployment, Image(dojo, cfg)
	if !dojo.RollsBack() || live == nil || live.Spec.Paused || ptr.Deref(live.Spec.Replicas, 1) == 0 ||
		image(live) != desired || !expired(dojo, s, cfg) {
		return nil
	}
	former := servedImage(dojo)
	if former == "" || former == desired {
		return nil
	}
	reason := cmp.Or(pods.Worst(s.Now, s.Pods).Reason, corev1api.ReasonProgressDeadlineExceeded)
	return &refusal{Image: desired, Reason: reason, Former: former}
}

// expired reports whether the rollout has exceeded its deadline.
func expired(dojo *corev1api.Dojo, s State, cfg Config) bool {
	live := s.Deployment
	if live.Status.ObservedGeneration < live.Generation || Complete(live) {
		return false
	}
	return deploymentCondition(live, appsv1.DeploymentProgressing).Reason == deadlineExceeded ||
		withoutDeadline(live) && timeLeft(dojo, s, cfg) <= 0
}

// withoutDeadline reports whether Kubernetes reports no deadline for the first pods of an image:
// the rollout finished at 0 replicas, for example while the Dojo was suspended.
func withoutDeadline(live *appsv1.Deployment) bool {
	return deploymentCondition(live, appsv1.DeploymentProgressing).Reason == rolloutFinished &&
		live.Status.AvailableReplicas == 0
}

func timeLeft(dojo *corev1api.Dojo, s State, cfg Config) time.Duration {
	return deadline(dojo, cfg) - s.Now.Sub(unavailableSince(s))
}

// onlyUpdated reports whether all pods have the template of a finished rollout. Some of them may not
// be available, such as after an increase of the replicas.
func onlyUpdated(live *appsv1.Deployment) bool {
	return live.Status.ObservedGeneration >= live.Generation && live.Status.UpdatedReplicas == live.Status.Replicas &&
		deploymentCondition(live, appsv1.DeploymentProgressing).Reason == rolloutFinished
}

func servedImage(dojo *corev1api.Dojo) string {
	if dojo.Status.Rollout == nil {
		return ""
	}
	return dojo.Status.Rollout.ServedImage
}

func owns(live *appsv1.Deployment, path fieldpath.Path) bool {
	return apply.OwnedFields(ownership.FieldOwner, live).Has(path)
}

func (r *refusal) String() string {
	text, err := json.Marshal(r)
	if err != nil { // impossible: all fields are strings
		return ""
	}
	return string(text)
}

func refusalIssue(r *refusal, s State, dojo *corev1api.Dojo) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonRolloutFailed,
		"The rollout of the image %s failed (%s), so the Deployment has the former image %s again: %s. Name another image "+
			"in spec.image. To try the failed image once more, set spec.rollout.rollback to Manual.",
		r.Image, r.Reason, r.Former, readyCount(s.Deployment, s.Replicas(dojo)))
}

// Status returns the served and the refused image, or nil without automatic rollback.
func Status(dojo *corev1api.Dojo, s State) *corev1api.RolloutStatus {
	if !dojo.RollsBack() {
		return nil
	}
	status := &corev1api.RolloutStatus{ServedImage: servedImage(dojo)}
	live := s.Deployment
	if live == nil || ownership.Conflicts(dojo, live) {
		return status
	}
	// Another client's image is drift, so a rollback must not return to this image.
	if (Complete(live) || onlyUpdated(live)) && live.Status.AvailableReplicas > 0 && owns(live, imagePath) {
		status.ServedImage = image(live)
	}
	if r := refusalOf(live); r != nil {
		status.RefusedImage, status.RefusedReason = r.Image, r.Reason
	}
	if *status == (corev1api.RolloutStatus{}) {
		return nil
	}
	return status
}

func minReady(dojo *corev1api.Dojo) time.Duration {
	if dojo.Spec.Rollout == nil {
		return 0
	}
	return time.Duration(dojo.Spec.Rollout.MinReadySeconds) * time.Second
}

// deadline is longer than minReadySeconds, as the API server requires.
func deadline(dojo *corev1api.Dojo, cfg Config) time.Duration {
	if rollout := dojo.Spec.Rollout; rollout != nil && rollout.ProgressDeadline != nil {
		return max(rollout.ProgressDeadline.Duration, minReady(dojo)+time.Second)
	}
	return cfg.ProgressDeadline + minReady(dojo)
}
