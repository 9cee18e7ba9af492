// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RollbackPolicy defines what happens to an image whose rollout fails.
// +kubebuilder:validation:Enum=Manual;Automatic
type RollbackPolicy string

const (
	// RollbackManual keeps the failing rollout until it succeeds or a user changes
	// the spec. Pods of the former revision continue to serve, unless
	// maxUnavailable lets all of them stop.
	RollbackManual RollbackPolicy = "Manual"
	// RollbackAutomatic rolls out the former image again.
	RollbackAutomatic RollbackPolicy = "Automatic"
)

// Rollout configures how a change replaces the pods.
// +kubebuilder:validation:XValidation:rule="!has(self.maxSurge) || !(string(self.maxSurge) in ['0', '0%']) || (has(self.maxUnavailable) && !(string(self.maxUnavailable) in ['0', '0%']))",message="maxSurge and maxUnavailable cannot both be 0: no pod could be replaced"
// +kubebuilder:validation:XValidation:rule="!has(self.progressDeadline) || !self.progressDeadline.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') || size(self.progressDeadline) == 0 || duration(self.progressDeadline).getSeconds() > (has(self.minReadySeconds) ? self.minReadySeconds : 0)",message="progressDeadline must be longer than minReadySeconds"
type Rollout struct {
	// maxUnavailable is the number of desired pods that may be unavailable during
	// a rollout, or a percentage of the desired pods such as "25%", of at most 4
	// characters, rounded down. Defaults to 0.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^([0-9]|[1-9][0-9]|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) == string || (self >= 0 && self <= 1000)",message="must be a number from 0 to 1000, or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// maxSurge is the number of additional pods that may run during a rollout, or
	// a percentage of the desired pods of at most 4 characters, rounded up.
	// Defaults to 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^([0-9]|[1-9][0-9]|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) == string || (self >= 0 && self <= 1000)",message="must be a number from 0 to 1000, or a percentage from 0% to 100%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// minReadySeconds is the time in seconds that a new pod must be ready, with no
	// crash, before it counts as available and the next pod is replaced: 0 to
	// 3600. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// progressDeadline is the time without progress after which a rollout has
	// failed, in whole seconds from 1s to 24h, such as "10m", at most 20
	// characters. It must be longer than minReadySeconds. Defaults to the
	// operator's --progress-deadline, plus minReadySeconds.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') && self != ''",message="must be a duration in whole seconds, such as 90s or 10m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') || self == '' || (duration(self) >= duration('1s') && duration(self) <= duration('24h'))",message="must be from 1s to 24h"
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`

	// rollback defines what happens to a new image whose rollout has made no
	// progress for progressDeadline: Manual (nothing; the Dojo is Degraded) or
	// Automatic (the former image serves again; the Dojo is Degraded with the
	// reason RolloutFailed until the desired image or this field changes). The
	// former image is the image in status.rollout.servedImage. If there is none,
	// nothing is rolled back. The operator reverts neither other fields nor the
	// database. Defaults to Manual.
	// +optional
	// +default="Manual"
	Rollback RollbackPolicy `json:"rollback,omitempty"`
}

// RolloutStatus describes the images of a Dojo whose rollback is Automatic.
type RolloutStatus struct {
	// servedImage is the last image whose rollout was finished and had available
	// pods, at most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ServedImage string `json:"servedImage,omitempty"`

	// refusedImage is the image whose rollout has failed. The operator does not
	// roll it out again while the spec (or the operator's default) names it and
	// rollback is Automatic. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	RefusedImage string `json:"refusedImage,omitempty"`

	// refusedReason is the cause of the failure in one word, such as
	// ImagePullBackOff, at most 128 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	RefusedReason string `json:"refusedReason,omitempty"`
}

// RollsBack reports whether the former image replaces an image whose rollout fails.
func (d *Dojo) RollsBack() bool {
	return d.Spec.Rollout != nil && d.Spec.Rollout.Rollback == RollbackAutomatic
}
