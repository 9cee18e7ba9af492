// SPDX-License-Identifier: Apache-2.0

package v1

// Alerts configures where a Dojo's alerts are sent.
type Alerts struct {
	// discord sends the alerts to a channel on Discord.
	// +required
	Discord *DiscordAlerts `json:"discord"`
}

// DiscordAlerts names the channel for a Dojo's alerts, or the group in which
// the operator creates a channel for these alerts.
// +kubebuilder:validation:XValidation:rule="has(self.channelRef) != has(self.groupRef)",message="name exactly one: the channelRef of a DiscordChannel that exists, or the groupRef of a DiscordGroup in which the Dojo gets a channel of its own"
type DiscordAlerts struct {
	// channelRef names a DiscordChannel in the same namespace. Several Dojos can
	// share this DiscordChannel. It must have a spec.webhook, through which
	// Alertmanager posts. dojo-operator does not change it.
	// +optional
	ChannelRef *DiscordReference `json:"channelRef,omitempty"`

	// groupRef names a DiscordGroup. A group of another namespace must allow the
	// Dojo's namespace. The operator creates the DiscordChannel `<dojo>-alerts`
	// with a webhook in the Dojo's namespace. The channel and its messages are
	// deleted when the Dojo is deleted or groupRef is removed. If you name another
	// group of the same Discord server, the channel moves there.
	// +optional
	GroupRef *DiscordGroupReference `json:"groupRef,omitempty"`

	// mentions lists the roles and users that a firing alert mentions, at most 10.
	// Discord notifies them. A resolved alert mentions nobody. Defaults to none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Mentions []AlertMention `json:"mentions,omitempty"`
}

// AlertMention is a role or a user that alerts mention.
// +kubebuilder:validation:XValidation:rule="has(self.roleId) != has(self.userId)",message="name exactly one: roleId or userId"
type AlertMention struct {
	// roleId is the id of a role of the Discord server, 17 to 20 digits. In
	// developer mode, Discord shows it under Server Settings, Roles. The id of the
	// role @everyone equals the id of the server; this role notifies nobody.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{17,20}$')",message="must be the id of a role on Discord: 17 to 20 digits"
	RoleID string `json:"roleId,omitempty"`

	// userId is the id of a user on Discord, 17 to 20 digits.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{17,20}$')",message="must be the id of a user on Discord: 17 to 20 digits"
	UserID string `json:"userId,omitempty"`

	// severities lists the severities of the alerts that mention the role or user,
	// at most 2: critical and warning. Alerts of other severities, such as info,
	// mention nobody. Defaults to critical.
	// +optional
	// +default=["critical"]
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	Severities []AlertSeverity `json:"severities,omitempty"`
}

// AlertSeverity is a value of the label severity of alerts.
// +kubebuilder:validation:Enum=critical;warning
type AlertSeverity string

const (
	// AlertCritical is the severity of an outage: no pod answers, or Postgres cannot be reached.
	AlertCritical AlertSeverity = "critical"
	// AlertWarning is the severity of other problems, such as failed requests or backups.
	AlertWarning AlertSeverity = "warning"
)

// DiscordReference names a DiscordChannel in the Dojo's namespace.
type DiscordReference struct {
	// name of the DiscordChannel.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of an object: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`
}

// DiscordGroupReference names a DiscordGroup of discord.jutsu.com.
type DiscordGroupReference struct {
	// name of the DiscordGroup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of an object: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`

	// namespace of the DiscordGroup. Defaults to the Dojo's namespace. A group of
	// another namespace must allow the Dojo's namespace in spec.allowedNamespaces.
	// Otherwise the Dojo's DiscordChannel is Degraded with the reason NotAllowed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// AlertsStatus describes the channel for a Dojo's alerts.
type AlertsStatus struct {
	// channelName is the name of the DiscordChannel, in the Dojo's namespace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	ChannelName string `json:"channelName"`

	// channelId is the id of the channel on Discord. Empty until the channel
	// exists.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ChannelID string `json:"channelId,omitempty"`

	// channelURL is the address of the channel in Discord, at most 2048
	// characters. Empty until the channel exists.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ChannelURL string `json:"channelURL,omitempty"`
}
