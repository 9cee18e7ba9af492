package v1

// Alerts says where the alarms of a Dojo show.
type Alerts struct {
	// discord shows the alarms in a channel of Discord.
	//
	// +required
	Discord *DiscordAlerts `json:"discord"`
}

// DiscordAlerts names the channel in which the alarms of a Dojo show, or the group in which one is made for it.
//
// +kubebuilder:validation:XValidation:rule="has(self.channelRef) != has(self.groupRef)",message="name exactly one: the channelRef of a DiscordChannel that exists, or the groupRef of a DiscordGroup in which the Dojo gets a channel of its own"
type DiscordAlerts struct {
	// channelRef names a DiscordChannel of the same namespace, which several Dojos can share. It needs a spec.webhook, through which
	// Alertmanager posts; it is never written to.
	//
	// +optional
	ChannelRef *DiscordReference `json:"channelRef,omitempty"`

	// groupRef names a DiscordGroup of the same namespace. In it the Dojo gets a DiscordChannel `<dojo>-alarms` of its own, with a webhook. The
	// channel goes, with its messages, when the Dojo is deleted or names another channel or none; another group moves it.
	//
	// +optional
	GroupRef *DiscordReference `json:"groupRef,omitempty"`
}

// DiscordReference names an object of discord.jutsu.com in the Dojo's namespace.
type DiscordReference struct {
	// name of the object.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of an object: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`
}

// AlertsStatus is where the alarms of a Dojo with spec.alerts show.
type AlertsStatus struct {
	// channelName is the name of the DiscordChannel, in the namespace of the Dojo.
	//
	// +required
	ChannelName string `json:"channelName"`

	// channelId is the id of the channel on Discord. Empty until it exists.
	//
	// +optional
	ChannelID string `json:"channelId,omitempty"`

	// channelURL opens the channel in Discord. Empty until it exists.
	//
	// +optional
	ChannelURL string `json:"channelURL,omitempty"`
}
