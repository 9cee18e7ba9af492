// SPDX-License-Identifier: Apache-2.0

package v1

// Alerts configures where the alerts of a Dojo are sent.
type Alerts struct {
	// discord sends the alerts to a channel on Discord.
	//
	// +required
	Discord *DiscordAlerts `json:"discord"`
}

// DiscordAlerts names the channel to which the alerts of a Dojo are sent, or
// the group in which one is created for it.
//
// +kubebuilder:validation:XValidation:rule="has(self.channelRef) != has(self.groupRef)",message="name exactly one: the channelRef of a DiscordChannel that exists, or the groupRef of a DiscordGroup in which the Dojo gets a channel of its own"
type DiscordAlerts struct {
	// channelRef names a DiscordChannel in the same namespace, which several Dojos
	// can share. It requires a spec.webhook, through which Alertmanager posts. The
	// operator never writes to it.
	//
	// +optional
	ChannelRef *DiscordReference `json:"channelRef,omitempty"`

	// groupRef names a DiscordGroup, of another namespace only where that group
	// allows it. The operator creates a DiscordChannel `<dojo>-alerts` for it, with
	// a webhook, in the Dojo's namespace. The channel and its messages are deleted
	// when the Dojo is deleted or refers to another channel or none. Another group
	// moves it.
	//
	// +optional
	GroupRef *DiscordGroupReference `json:"groupRef,omitempty"`
}

// DiscordReference names an object of discord.jutsu.com in the Dojo's
// namespace.
type DiscordReference struct {
	// name of the object.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of an object: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`
}

// DiscordGroupReference names a DiscordGroup of discord.jutsu.com.
type DiscordGroupReference struct {
	// name of the DiscordGroup.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of an object: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`

	// namespace of the DiscordGroup. Defaults to that of the Dojo. Another one has
	// effect only where the group's spec.allowedNamespaces allows the Dojo's
	// namespace; otherwise the Dojo's DiscordChannel is Degraded with the reason
	// NotAllowed.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// AlertsStatus describes the channel to which the alerts of a Dojo are sent.
type AlertsStatus struct {
	// channelName is the name of the DiscordChannel, in the namespace of the Dojo.
	//
	// +required
	ChannelName string `json:"channelName"`

	// channelId is the id of the channel on Discord. Empty until it exists.
	//
	// +optional
	ChannelID string `json:"channelId,omitempty"`

	// channelURL is the address of the channel in Discord. Empty until it exists.
	//
	// +optional
	ChannelURL string `json:"channelURL,omitempty"`
}
