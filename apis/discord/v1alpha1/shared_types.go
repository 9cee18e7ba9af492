// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CleanupFinalizer is on every object that has, or may have, a resource on Discord. It is stored
// before the first create, so it also records that a create may have been sent.
const CleanupFinalizer = "discord.jutsu.com/cleanup"

// PausedAnnotation with the value "true" pauses an object of this group. The operator observes the
// object, but changes neither Discord nor a Secret for it. A deletion waits and deletes nothing.
const PausedAnnotation = "discord.jutsu.com/paused"

// ForceDeleteAnnotation with the value "true" on an object that is being deleted removes its
// finalizer although its resource on Discord cannot be deleted, for example because the bot's token
// is missing or refused. The resource stays on Discord, and a warning event reports it.
const ForceDeleteAnnotation = "discord.jutsu.com/force-delete"

// DeletionPolicy defines what happens on Discord when an object is deleted.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

const (
	// DeletionPolicyDelete deletes the object's resource on Discord. A channel's messages are lost,
	// a group's channels stay. This cannot be undone.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyRetain leaves the object's resource on Discord as it is.
	DeletionPolicyRetain DeletionPolicy = "Retain"
)

// ManagementPolicy defines whether the operator changes Discord to match a
// spec.
// +kubebuilder:validation:Enum=Manage;Observe
type ManagementPolicy string

const (
	// ManagementPolicyManage changes Discord to match the spec.
	ManagementPolicyManage ManagementPolicy = "Manage"
	// ManagementPolicyObserve changes nothing on Discord, and lists the differences in the status.
	ManagementPolicyObserve ManagementPolicy = "Observe"
)

// Permission is a permission's name in Discord's documentation, in CamelCase.
// Source: https://discord.com/developers/docs/topics/permissions.
// +kubebuilder:validation:Enum=CreateInstantInvite;KickMembers;BanMembers;Administrator;ManageChannels;ManageGuild;AddReactions;ViewAuditLog;PrioritySpeaker;Stream;ViewChannel;SendMessages;SendTTSMessages;ManageMessages;EmbedLinks;AttachFiles;ReadMessageHistory;MentionEveryone;UseExternalEmojis;ViewGuildInsights;Connect;Speak;MuteMembers;DeafenMembers;MoveMembers;UseVAD;ChangeNickname;ManageNicknames;ManageRoles;ManageWebhooks;ManageGuildExpressions;UseApplicationCommands;RequestToSpeak;ManageEvents;ManageThreads;CreatePublicThreads;CreatePrivateThreads;UseExternalStickers;SendMessagesInThreads;UseEmbeddedActivities;ModerateMembers;ViewCreatorMonetizationAnalytics;UseSoundboard;CreateGuildExpressions;CreateEvents;UseExternalSounds;SendVoiceMessages;SetVoiceChannelStatus;SendPolls;UseExternalApps;PinMessages;BypassSlowmode
type Permission string

// PermissionOverwrite allows and denies permissions to a role or to one user,
// in one group or channel. Other permissions are inherited.
// +kubebuilder:validation:XValidation:rule="[has(self.role), has(self.roleRef), has(self.user)].exists_one(given, given)",message="name one of role, roleRef and user"
// +kubebuilder:validation:XValidation:rule="!has(self.allow) || !has(self.deny) || !self.allow.exists(p, p in self.deny)",message="a permission cannot be both allowed and denied"
type PermissionOverwrite struct {
	// role is the name (1 to 100 characters) or the id of a role of the server.
	// "@everyone" is every member. 17 to 20 digits are always an id. If several
	// roles have the name, or none, the object is Degraded (AmbiguousRole,
	// RoleNotFound) until that changes on Discord. Roles that DiscordRoles of
	// other namespaces manage do not count. A name is resolved once (see
	// status.roles) and keeps its role until it is removed from the spec, even if
	// that role is renamed or another one gets the name. If the role is deleted on
	// Discord, the object is Degraded with the reason RoleNotFound.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Role string `json:"role,omitempty"`

	// roleRef names a DiscordRole. Until that DiscordRole has a role on Discord,
	// the object waits with the reason WaitingForRole.
	// +optional
	RoleRef *RoleReference `json:"roleRef,omitempty"`

	// user is the id of a member of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{5,19}$')",message="must be the id of a Discord user: 6 to 20 digits, in quotes"
	User string `json:"user,omitempty"`

	// allow lists permissions to grant, at most 64. The bot must have each of them
	// itself.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Allow []Permission `json:"allow,omitempty"`

	// deny lists permissions to deny, at most 64. The bot must have each of them
	// itself.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Deny []Permission `json:"deny,omitempty"`
}

// ResolvedRole is the role on Discord for a name in a spec.
type ResolvedRole struct {
	// name in spec.permissionOverwrites, at most 100 characters.
	// +required
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`

	// id of the role on Discord.
	// +required
	// +kubebuilder:validation:MaxLength=20
	ID string `json:"id"`
}

// AllowedServersAnnotation on the Secret with a bot's token lists the ids of the Discord servers
// that may use the token, separated by commas. Without the annotation, all servers may.
const AllowedServersAnnotation = "discord.jutsu.com/allowed-servers"

// FromNamespaces defines which namespaces may refer to an object.
// +kubebuilder:validation:Enum=Same;All;Selector
type FromNamespaces string

const (
	// FromSame allows the object's own namespace.
	FromSame FromNamespaces = "Same"
	// FromAll allows every namespace that the operator watches.
	FromAll FromNamespaces = "All"
	// FromSelector allows the object's own namespace and namespaces with certain labels.
	FromSelector FromNamespaces = "Selector"
)

// AllowedNamespaces defines which namespaces may refer to an object, in the
// words of Gateway API
// (https://gateway-api.sigs.k8s.io/reference/spec/#routenamespaces). The
// object's own namespace always may.
// +kubebuilder:validation:XValidation:rule="has(self.selector) == (self.from == 'Selector')",message="selector is required where from is Selector, and not allowed otherwise"
type AllowedNamespaces struct {
	// from is Same (the object's own namespace), All (every namespace that the
	// operator watches) or Selector (namespaces with the labels of selector).
	// Defaults to Same.
	// +optional
	// +default="Same"
	From FromNamespaces `json:"from,omitempty"`

	// selector selects namespaces by their labels; {} selects all. A user who may
	// label a namespace can thus allow it. The operator must watch all namespaces
	// and read their labels (its component namespace-selectors). Otherwise the
	// selector selects none, and the object is Degraded with the reason
	// SelectorUnusable. At most 16 labels and 16 expressions, with keys of at most
	// 317 characters. A label's value has at most 63 characters, an expression at
	// most 64 values.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || size(self.matchLabels) <= 16 && self.matchLabels.all(key, size(key) <= 317 && size(self.matchLabels[key]) <= 63)",message="matchLabels has at most 16 entries, with keys of at most 317 and values of at most 63 characters"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || size(self.matchExpressions) <= 16 && self.matchExpressions.all(e, size(e.key) <= 317 && size(e.operator) <= 317 && (!has(e.values) || size(e.values) <= 64))",message="matchExpressions has at most 16 entries, with keys of at most 317 characters and at most 64 values"
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ServerReference names a DiscordServer.
type ServerReference struct {
	// name of the DiscordServer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the DiscordServer. Defaults to the object's. The server's
	// spec.allowedNamespaces must allow the object's namespace. Otherwise the
	// object is Degraded with the reason NotAllowed, even if the server does not
	// exist.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// In resolves the reference of an object in a namespace to the DiscordServer's namespace and name.
func (r ServerReference) In(namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(r.Namespace, namespace), Name: r.Name}
}

// GroupReference names a DiscordGroup.
type GroupReference struct {
	// name of the DiscordGroup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the DiscordGroup. Defaults to the object's. The group's
	// spec.allowedNamespaces must allow the object's namespace. If the group is in
	// another namespace than its server, the server's spec.allowedNamespaces must
	// allow both the group's and the object's namespace. Otherwise the object is
	// Degraded with the reason NotAllowed, even if the group does not exist.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// In resolves the reference of an object in a namespace to the DiscordGroup's namespace and name.
func (r GroupReference) In(namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(r.Namespace, namespace), Name: r.Name}
}

// ChannelReference names a DiscordChannel in the same namespace.
type ChannelReference struct {
	// name of the DiscordChannel.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// RoleReference names a DiscordRole in the same namespace.
type RoleReference struct {
	// name of the DiscordRole.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Adoption names an existing channel, category or role on Discord.
type Adoption struct {
	// id of the channel, category or role on Discord. In developer mode,
	// right-click it in Discord, "Copy Channel ID" or "Copy Role ID".
	// +required
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{5,19}$')",message="must be a Discord id: 6 to 20 digits, in quotes"
	ID string `json:"id"`
}
