// SPDX-License-Identifier: Apache-2.0

package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RetryReleaseAnnotation on a Dojo with spec.release runs a failed release
// step again each time its value changes to another non-empty value. Only the
// first 1024 bytes of the value count. If the value changes while the step
// runs, and the step then fails, the step runs again. A step that has
// succeeded does not run again.
const RetryReleaseAnnotation = "core.jutsu.com/retry-release"

// Release is the release step of a Dojo, which runs before the pods get a new
// image. Exactly one of command and migrations must be set.
// +kubebuilder:validation:XValidation:rule="has(self.command) != has(self.migrations)",message="exactly one of command and migrations is required"
type Release struct {
	// command runs in the new image, once for each combination of image, command
	// and, with spec.postgres, database. Its pod has the environment, Secrets,
	// ConfigMaps and resources of the application, but not its
	// PersistentVolumeClaims and ServiceAccount. With spec.postgres, DB_ENDPOINT
	// names the primary, even if the application uses a Pooler. If the pod is lost
	// or killed, or exits with 75, the command runs again, so it must be
	// idempotent. The command has at most 64 strings of at most 4096 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.all(s, size(s) <= 4096)",message="a string of the command has at most 4096 characters"
	Command []string `json:"command,omitempty"`

	// migrations are files of SQL for goose. They run as the Dojo's login, and
	// require a Postgres database. The step runs once for each combination of
	// files and, with spec.postgres, database. It runs only the files that the
	// database lacks.
	// +optional
	Migrations *Migrations `json:"migrations,omitempty"`

	// timeout is the time that the step may take, from 1s to 24h, such as "10m" or
	// "1h30m", at most 20 characters. After this time, its pod is stopped, and the
	// step has failed. Defaults to 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') && self != ''",message="must be a duration in whole seconds, such as 30s or 1h30m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') || self == '' || duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be at least 1s and at most 24h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// Migrations are files of SQL for goose.
type Migrations struct {
	// configMapRefs name the ConfigMaps in the Dojo's namespace with the files, at
	// most 16. Each key that ends with .sql is a file. Its name has the form
	// NUMBER_TEXT.sql. NUMBER has at most 18 digits, is at least 1, and differs
	// from the numbers of all other files. TEXT has only letters, digits, '-', '_'
	// and '.'. The files of all ConfigMaps run in the order of their numbers.
	// There are at most 1000 files, with at most 4 MiB together.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	ConfigMapRefs []ConfigMapReference `json:"configMapRefs"`
}

// ConfigMapReference names a ConfigMap in the Dojo's namespace.
type ConfigMapReference struct {
	// name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a ConfigMap: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`
}

// ReleaseStatus describes the release step of a Dojo with spec.release.
type ReleaseStatus struct {
	// image is the image that the pods may get, because its release step has
	// succeeded, at most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// finishedAt is the time at which the last release step succeeded.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// migration is the name of the last migration that the database had after
	// the last successful release step, such as "20261120_add_index", at most
	// 128 characters. Empty if that step ran release.command.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Migration string `json:"migration,omitempty"`

	// migrations is the number of migrations that the database had after the
	// last successful release step. 0 if that step ran release.command.
	// +optional
	Migrations int32 `json:"migrations,omitempty"`

	// message is set after you return to the image or the migrations of an
	// earlier step. It says that the database still has the changes of the later
	// step, because the operator does not revert changes of the database. At most
	// 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// succeeded lists ids of the last steps that have succeeded, the newest
	// last: at most 16 ids, each of at most 32 characters. An id is a hash of the
	// Dojo, its database (with spec.postgres) and what the step runs: the image
	// and the command, or the files. These steps do not run again.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	Succeeded []string `json:"succeeded,omitempty"`

	// failure describes why the step of the present spec has failed. Not set if
	// this step has not failed, or if a retry is requested.
	// +optional
	Failure *ReleaseFailure `json:"failure,omitempty"`
}

// ReleaseFailure describes a release step that has failed. It stays in the
// status after the Job is deleted, so that the step does not run again.
type ReleaseFailure struct {
	// step identifies the step, at most 32 characters.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Step string `json:"step"`

	// retry is the value of the annotation core.jutsu.com/retry-release with
	// which the step ran, at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Retry string `json:"retry,omitempty"`

	// message is the last line of the step's log. Passwords and other secret
	// values from the Dojo's Secrets are removed if they have 4 or more
	// characters. If the step has exceeded its timeout, or the operator cannot
	// show this line, the message says so. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// time is the time at which the step failed.
	// +required
	Time metav1.Time `json:"time"`
}
