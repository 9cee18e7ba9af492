// SPDX-License-Identifier: Apache-2.0

package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MinorUpgradeAnnotation on a Dojo allows the upgrade to one newer minor
// version, at any time and with any versionPolicy. Its value is that version,
// copied from status.database.newerVersion. For an upgrade to a later version,
// set another value.
const MinorUpgradeAnnotation = "core.jutsu.com/minor-upgrade"

// VersionPolicy defines when a Cluster gets a newer minor version of Postgres.
// +kubebuilder:validation:XValidation:rule="!has(self.window) || self.minor == 'Automatic'",message="window needs minor: Automatic"
type VersionPolicy struct {
	// minor is Manual or Automatic. Manual keeps the image until the annotation
	// core.jutsu.com/minor-upgrade has the value of status.database.newerVersion.
	// Automatic also sets the newer image in the window, once all instances are
	// ready. Both wait until no SQL and no release step runs. CloudNativePG then
	// replaces the standbys one after the other, and promotes a standby before it
	// replaces the primary. Requests that the application does not retry then fail
	// for some seconds. If there is only one instance, requests fail until this
	// instance runs again. Defaults to Manual.
	// +optional
	// +kubebuilder:default=Manual
	Minor MinorPolicy `json:"minor,omitempty"`

	// window is the time in which automatic upgrades begin. An upgrade that has
	// begun continues after the window closes. Defaults to any time.
	// +optional
	Window *Window `json:"window,omitempty"`
}

// MinorPolicy defines whether a minor upgrade waits for a user or for the
// window.
// +kubebuilder:validation:Enum=Manual;Automatic
type MinorPolicy string

const (
	// MinorManual waits for the annotation core.jutsu.com/minor-upgrade.
	MinorManual MinorPolicy = "Manual"
	// MinorAutomatic waits for the window or the annotation.
	MinorAutomatic MinorPolicy = "Automatic"
)

// Window is a recurring time of the week.
type Window struct {
	// days are the days of the week on which the window opens: Mon, Tue, Wed, Thu,
	// Fri, Sat and Sun, at most 7. Defaults to every day.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	Days []Weekday `json:"days,omitempty"`

	// start is the time of day at which the window opens, from "00:00" to
	// "23:59", 5 characters.
	// +required
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="self.matches('^([01][0-9]|2[0-3]):[0-5][0-9]$')",message="must be a time from 00:00 to 23:59"
	Start string `json:"start"`

	// duration is the time that the window stays open, from 10m to 24h, such as
	// "2h", at most 20 characters.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') && self != ''",message="must be a duration in whole seconds, such as 2h or 1h30m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') || self == '' || duration(self) >= duration('10m') && duration(self) <= duration('24h')",message="must be at least 10m and at most 24h"
	Duration metav1.Duration `json:"duration"`

	// timeZone is a name of the IANA database
	// (https://www.iana.org/time-zones), such as Europe/Belgrade, at most 64
	// characters. A name that does not exist makes the Dojo Degraded with the
	// reason UnknownTimeZone. Defaults to UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$')",message="must be a name of the IANA time zone database, such as Europe/Belgrade"
	TimeZone string `json:"timeZone,omitempty"`
}

// Weekday is a day of the week.
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string
