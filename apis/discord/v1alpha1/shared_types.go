// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CleanupFinalizer is on every object that has, or may have, a channel,
// category or server on Discord. It is stored before anything is created
// there, so it also records that a create may have been sent.
const CleanupFinalizer = "discord.jutsu.com/cleanup"

// PausedAnnotation with the value "true" on an object of this group pauses
// it: the operator goes on to observe it, and changes nothing for it on
// Discord, nor a Secret. A deletion waits, and deletes nothing.
const PausedAnnotation = "discord.jutsu.com/paused"

// ForceDeleteAnnotation with the value "true" on an object that is being
// deleted removes its finalizer although what it has on Discord cannot be
// deleted, for example because the bot's token is missing or refused. That is
// left on Discord, and a warning event reports it.
const ForceDeleteAnnotation = "discord.jutsu.com/force-delete"

// DeletionPolicy defines what happens on Discord when an object is deleted.
//
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

const (
	// DeletionPolicyDelete deletes what the object has on Discord, with everything
	// in it. This cannot be undone.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyRetain leaves what the object has on Discord as it is.
	DeletionPolicyRetain DeletionPolicy = "Retain"
)

// ManagementPolicy defines whether the operator changes on Discord what differs from a spec.
//
// +kubebuilder:validation:Enum=Manage;Observe
type ManagementPolicy string

const (
	// ManagementPolicyManage changes on Discord what differs from the spec.
	ManagementPolicyManage ManagementPolicy = "Manage"
	// ManagementPolicyObserve changes nothing on Discord, and lists what differs in
	// the status.
	ManagementPolicyObserve ManagementPolicy = "Observe"
)

// Permission is a permission by its name in Discord's documentation, in
// CamelCase. Source: https://discord.com/developers/docs/topics/permissions.
//
// +kubebuilder:validation:Enum=CreateInstantInvite;KickMembers;BanMembers;Administrator;ManageChannels;ManageGuild;AddReactions;ViewAuditLog;PrioritySpeaker;Stream;ViewChannel;SendMessages;SendTTSMessages;ManageMessages;EmbedLinks;AttachFiles;ReadMessageHistory;MentionEveryone;UseExternalEmojis;ViewGuildInsights;Connect;Speak;MuteMembers;DeafenMembers;MoveMembers;UseVAD;ChangeNickname;ManageNicknames;ManageRoles;ManageWebhooks;ManageGuildExpressions;UseApplicationCommands;RequestToSpeak;ManageEvents;ManageThreads;CreatePublicThreads;CreatePrivateThreads;UseExternalStickers;SendMessagesInThreads;UseEmbeddedActivities;ModerateMembers;ViewCreatorMonetizationAnalytics;UseSoundboard;CreateGuildExpressions;CreateEvents;UseExternalSounds;SendVoiceMessages;SetVoiceChannelStatus;SendPolls;UseExternalApps;PinMessages;BypassSlowmode
type Permission string

// PermissionOverwrite allows and denies permissions to a role or to one user,
// in one group or channel. What is neither allowed nor denied is inherited.
//
// +kubebuilder:validation:XValidation:rule="[has(self.role), has(self.roleRef), has(self.user)].exists_one(given, given)",message="name one of role, roleRef and user"
// +kubebuilder:validation:XValidation:rule="!has(self.allow) || !has(self.deny) || !self.allow.exists(p, p in self.deny)",message="a permission cannot be both allowed and denied"
type PermissionOverwrite struct {
	// role is the name, 1 to 100 characters, or the id of a role of the server; "@everyone" is every
	// member. 17 to 20 digits are always an id. A name that several roles or none have
	// makes the object Degraded (AmbiguousRole, RoleNotFound) until that changes on
	// Discord; roles of DiscordRoles of other namespaces do not count. A name is resolved
	// once, see status.roles: it stands for that role also when the role is renamed or
	// another one gets the name, until the name is removed from the spec. When the role
	// is deleted on Discord, the object is Degraded with the reason RoleNotFound.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Role string `json:"role,omitempty"`

	// roleRef names a DiscordRole. The object waits for it with the reason
	// WaitingForRole until that has a role on Discord.
	//
	// +optional
	RoleRef *RoleReference `json:"roleRef,omitempty"`

	// user is the id of one member of the server.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{5,19}$')",message="must be the id of a Discord user: 6 to 20 digits, in quotes"
	User string `json:"user,omitempty"`

	// allow lists at most 64 permissions to grant. The bot must have each of them itself.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Allow []Permission `json:"allow,omitempty"`

	// deny lists at most 64 permissions to deny. The bot must have each of them itself.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Deny []Permission `json:"deny,omitempty"`
}

// ResolvedRole is the role on Discord that a name in a spec stands for.
type ResolvedRole struct {
	// name is that of spec.permissionOverwrites, at most 100 characters.
	//
	// +required
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`

	// id of the role on Discord.
	//
	// +required
	// +kubebuilder:validation:MaxLength=20
	ID string `json:"id"`
}

// AllowedServersAnnotation on the Secret with a bot's token lists the ids of the Discord servers that
// the token may be used for, with commas between them. Without it the token may be used for any server
// that the bot is in.
const AllowedServersAnnotation = "discord.jutsu.com/allowed-servers"

// FromNamespaces says which namespaces may refer to an object.
//
// +kubebuilder:validation:Enum=Same;All;Selector
type FromNamespaces string

const (
	// FromSame is the object's own namespace.
	FromSame FromNamespaces = "Same"
	// FromAll is every namespace that the operator watches.
	FromAll FromNamespaces = "All"
	// FromSelector is the object's own namespace and those with certain labels.
	FromSelector FromNamespaces = "Selector"
)

// AllowedNamespaces says which namespaces may refer to an object, in the words of Gateway API
// (https://gateway-api.sigs.k8s.io/reference/spec/#routenamespaces). The object's own namespace always
// may.
//
// +kubebuilder:validation:XValidation:rule="has(self.selector) == (self.from == 'Selector')",message="selector is required where from is Selector, and not allowed otherwise"
type AllowedNamespaces struct {
	// from is Same, the object's own namespace; All, every namespace that the
	// operator watches; or Selector, those with the labels of selector. Defaults to
	// Same.
	//
	// +optional
	// +default="Same"
	From FromNamespaces `json:"from,omitempty"`

	// selector selects namespaces by their labels; {} selects all. A user who may
	// label a namespace decides with it. The operator must watch all namespaces and
	// read their labels (its component namespace-selectors); otherwise it selects
	// none, and the object is Degraded with the reason SelectorUnusable. At most 16
	// labels and 16 expressions, with keys of at most 317 characters; a label's value
	// has at most 63 characters, an expression at most 64 values.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || size(self.matchLabels) <= 16 && self.matchLabels.all(key, size(key) <= 317 && size(self.matchLabels[key]) <= 63)",message="matchLabels has at most 16 entries, with keys of at most 317 and values of at most 63 characters"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || size(self.matchExpressions) <= 16 && self.matchExpressions.all(e, size(e.key) <= 317 && size(e.operator) <= 317 && (!has(e.values) || size(e.values) <= 64))",message="matchExpressions has at most 16 entries, with keys of at most 317 characters and at most 64 values"
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ServerReference names a DiscordServer.
type ServerReference struct {
	// name of the DiscordServer.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the DiscordServer. Defaults to that of the object. Another one
	// has effect only where the server's spec.allowedNamespaces allows it;
	// otherwise the object is Degraded with the reason NotAllowed, whether the
	// server exists or not.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// In returns which DiscordServer is meant by an object of a namespace.
func (r ServerReference) In(namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(r.Namespace, namespace), Name: r.Name}
}

// GroupReference names a DiscordGroup.
type GroupReference struct {
	// name of the DiscordGroup.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the DiscordGroup. Defaults to that of the object. Another one
	// has effect only where the group's spec.allowedNamespaces allows it; otherwise
	// the object is Degraded with the reason NotAllowed, whether the group exists
	// or not. Where the group is not in the namespace of its server, the server
	// must allow the object's namespace too.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// In returns which DiscordGroup is meant by an object of a namespace.
func (r GroupReference) In(namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(r.Namespace, namespace), Name: r.Name}
}

// ChannelReference names a DiscordChannel in the same namespace.
type ChannelReference struct {
	// name of the DiscordChannel.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// RoleReference names a DiscordRole in the same namespace.
type RoleReference struct {
	// name of the DiscordRole.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Adoption names a channel, category or role that exists on Discord.
type Adoption struct {
	// id of the channel, category or role on Discord: right-click it in Discord with
	// developer mode on, "Copy Channel ID" or "Copy Role ID".
	//
	// +required
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{5,19}$')",message="must be a Discord id: 6 to 20 digits, in quotes"
	ID string `json:"id"`
}
