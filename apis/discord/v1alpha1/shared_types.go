package v1alpha1

// CleanupFinalizer stands on every object that has, or may have, a counterpart on Discord. It is stored before the
// counterpart is created, so it is also the record of that intent.
const CleanupFinalizer = "discord.jutsu.com/cleanup"

// ForceDeleteAnnotation with the value "true" on an object that is being deleted lets it go although its counterpart on Discord
// cannot be reached, because the bot's token is gone or refused, for example. The counterpart is then left on Discord, and a warning event says so.
const ForceDeleteAnnotation = "discord.jutsu.com/force-delete"

// DeletionPolicy says what becomes of the counterpart on Discord when an object is deleted.
//
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

const (
	// DeletionPolicyDelete deletes the counterpart on Discord, with everything in it. This cannot be undone.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyRetain leaves the counterpart on Discord as it is.
	DeletionPolicyRetain DeletionPolicy = "Retain"
)

// Permission is a permission by its name in Discord's documentation, in CamelCase.
// Source: https://discord.com/developers/docs/topics/permissions.
//
// +kubebuilder:validation:Enum=CreateInstantInvite;KickMembers;BanMembers;Administrator;ManageChannels;ManageGuild;AddReactions;ViewAuditLog;PrioritySpeaker;Stream;ViewChannel;SendMessages;SendTTSMessages;ManageMessages;EmbedLinks;AttachFiles;ReadMessageHistory;MentionEveryone;UseExternalEmojis;ViewGuildInsights;Connect;Speak;MuteMembers;DeafenMembers;MoveMembers;UseVAD;ChangeNickname;ManageNicknames;ManageRoles;ManageWebhooks;ManageGuildExpressions;UseApplicationCommands;RequestToSpeak;ManageEvents;ManageThreads;CreatePublicThreads;CreatePrivateThreads;UseExternalStickers;SendMessagesInThreads;UseEmbeddedActivities;ModerateMembers;ViewCreatorMonetizationAnalytics;UseSoundboard;CreateGuildExpressions;CreateEvents;UseExternalSounds;SendVoiceMessages;SetVoiceChannelStatus;SendPolls;UseExternalApps;PinMessages;BypassSlowmode
type Permission string

// PermissionOverwrite allows and denies permissions to a role or to one user, in one group or channel. What is neither allowed nor
// denied is inherited.
//
// +kubebuilder:validation:XValidation:rule="has(self.role) != has(self.user)",message="name either a role or a user, not both"
// +kubebuilder:validation:XValidation:rule="!has(self.allow) || !has(self.deny) || !self.allow.exists(p, p in self.deny)",message="a permission cannot be both allowed and denied"
type PermissionOverwrite struct {
	// role is the name or the id of a role of the server; "@everyone" is every member. A name that several roles share, or
	// none has, makes the object Degraded (RoleAmbiguous, RoleNotFound) until that changes on Discord.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Role string `json:"role,omitempty"`

	// user is the id of one member of the server.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{5,19}$')",message="must be the id of a Discord user: 6 to 20 digits, in quotes"
	User string `json:"user,omitempty"`

	// allow lists the permissions that are granted. The bot must hold each of them itself.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Allow []Permission `json:"allow,omitempty"`

	// deny lists the permissions that are taken away. The bot must hold each of them itself.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Deny []Permission `json:"deny,omitempty"`
}

// ServerReference names a DiscordServer of the same namespace.
type ServerReference struct {
	// name of the DiscordServer.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// GroupReference names a DiscordGroup of the same namespace.
type GroupReference struct {
	// name of the DiscordGroup.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ChannelReference names a DiscordChannel of the same namespace.
type ChannelReference struct {
	// name of the DiscordChannel.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Adoption names something that exists on Discord already.
type Adoption struct {
	// id of the channel or category on Discord: right-click it in Discord with developer mode on, "Copy Channel ID".
	//
	// +required
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{5,19}$')",message="must be a Discord id: 6 to 20 digits, in quotes"
	ID string `json:"id"`
}
