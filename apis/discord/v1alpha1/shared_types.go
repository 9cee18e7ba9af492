// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CleanupFinalizer is on every object that manages, or may manage, a resource
// on Discord. The operator stores the finalizer before it first changes Discord
// for the object. So the finalizer also records that the operator may have sent
// a request to create the resource.
const CleanupFinalizer = "discord.jutsu.com/cleanup"

// PausedAnnotation with the value "true" pauses an object of this API group.
// The operator observes the object, but changes neither Discord nor a Secret
// for it. It still enforces the limits of AllowedRoles. If the object has
// CleanupFinalizer, its deletion waits until the object is no longer paused.
const PausedAnnotation = "discord.jutsu.com/paused"

// ForceDeleteAnnotation with the value "true" completes the deletion of an
// object whose resource on Discord cannot be deleted, for example because the
// bot's token is missing or refused. The operator removes the finalizer. The
// resource stays on Discord, and a warning event reports that. If the
// DiscordServer is in another namespace, the annotation works only as far as
// spec.allowRetention of the DiscordServer permits.
const ForceDeleteAnnotation = "discord.jutsu.com/force-delete"

// DeletionPolicy defines what happens on Discord when an object is deleted.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

const (
	// DeletionPolicyDelete deletes the object's resource on Discord. The messages
	// of a channel are then lost. The channels of a group stay. The deletion
	// cannot be undone.
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
	// ManagementPolicyObserve leaves Discord as it is, and lists the differences
	// in the status. But the operator still enforces the limits of AllowedRoles.
	ManagementPolicyObserve ManagementPolicy = "Observe"
)

// Permission is a permission's name in Discord's documentation, in CamelCase.
// Source: https://discord.com/developers/docs/topics/permissions.
// +kubebuilder:validation:Enum=CreateInstantInvite;KickMembers;BanMembers;Administrator;ManageChannels;ManageGuild;AddReactions;ViewAuditLog;PrioritySpeaker;Stream;ViewChannel;SendMessages;SendTTSMessages;ManageMessages;EmbedLinks;AttachFiles;ReadMessageHistory;MentionEveryone;UseExternalEmojis;ViewGuildInsights;Connect;Speak;MuteMembers;DeafenMembers;MoveMembers;UseVAD;ChangeNickname;ManageNicknames;ManageRoles;ManageWebhooks;ManageGuildExpressions;UseApplicationCommands;RequestToSpeak;ManageEvents;ManageThreads;CreatePublicThreads;CreatePrivateThreads;UseExternalStickers;SendMessagesInThreads;UseEmbeddedActivities;ModerateMembers;ViewCreatorMonetizationAnalytics;UseSoundboard;CreateGuildExpressions;CreateEvents;UseExternalSounds;SendVoiceMessages;SetVoiceChannelStatus;SendPolls;UseExternalApps;PinMessages;BypassSlowmode
type Permission string

// PermissionOverwrite allows and denies permissions to a role or to one user,
// in one group or channel. Other permissions are the same as in the whole
// server. The overwrites of a channel replace the overwrites of its group.
// +kubebuilder:validation:XValidation:rule="[has(self.role), has(self.roleRef), has(self.user)].exists_one(given, given)",message="name one of role, roleRef and user"
// +kubebuilder:validation:XValidation:rule="!has(self.allow) || !has(self.deny) || !self.allow.exists(p, p in self.deny)",message="a permission cannot be both allowed and denied"
type PermissionOverwrite struct {
	// role is the name (1 to 100 characters) or the id of a role of the server.
	// "@everyone" means every member. A value of 17 to 20 digits is always an id.
	// If several roles have the name, the object is Degraded with the reason
	// AmbiguousRole. If no role has the name, the object is Degraded with the
	// reason RoleNotFound. In both cases, the object continues once exactly one
	// role has the name. A role that a DiscordRole of another namespace manages or
	// observes does not count. The operator looks up a name only once, and records
	// the role in status.roles. Until the name is removed from the spec, the name
	// then means this role, even if this role is renamed, or another role gets the
	// name. If this role is deleted on Discord, the object is Degraded with the
	// reason RoleNotFound.
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

	// allow lists permissions to grant, at most 64. The bot itself must have each
	// of these permissions. For ManageRoles, it must be an administrator.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Allow []Permission `json:"allow,omitempty"`

	// deny lists permissions to deny, at most 64. The bot itself must have each of
	// these permissions. For ManageRoles, it must be an administrator.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Deny []Permission `json:"deny,omitempty"`
}

// ResolvedRole is the role on Discord that a name in a spec means.
type ResolvedRole struct {
	// name of the role in spec.permissionOverwrites, at most 100 characters.
	// +required
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`

	// id of the role on Discord.
	// +required
	// +kubebuilder:validation:MaxLength=20
	ID string `json:"id"`
}

// AllowedServersAnnotation on the Secret with a bot's token lists the ids of
// the Discord servers that may use the token, separated by commas. Without the
// annotation, all servers may use the token.
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

// AllowedNamespaces defines which namespaces may refer to an object. Its fields
// and values have the names that the Gateway API uses
// (https://gateway-api.sigs.k8s.io/reference/spec/#routenamespaces). Objects in
// the object's own namespace may always refer to the object.
// +kubebuilder:validation:XValidation:rule="has(self.selector) == (self.from == 'Selector')",message="selector is required with 'from: Selector', and not allowed with another value of 'from'"
type AllowedNamespaces struct {
	// from is Same (the object's own namespace), All (every namespace that the
	// operator watches) or Selector (namespaces with the labels of selector).
	// Defaults to Same.
	// +optional
	// +default="Same"
	From FromNamespaces `json:"from,omitempty"`

	// selector selects namespaces by their labels; {} selects all namespaces. So a
	// user who may label a namespace can allow this namespace. The operator must
	// watch all namespaces and read their labels: deploy it with the kustomize
	// component namespace-selectors (chart: namespaceSelectors). Otherwise the
	// selector selects no namespace, and the object is Degraded with the reason
	// SelectorUnusable. The selector has at most 16 labels and 16 expressions,
	// with keys of at most 317 characters. The value of a label has at most 63
	// characters. An expression has at most 64 values.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || size(self.matchLabels) <= 16 && self.matchLabels.all(key, size(key) <= 317 && size(self.matchLabels[key]) <= 63)",message="matchLabels has at most 16 entries, with keys of at most 317 and values of at most 63 characters"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || size(self.matchExpressions) <= 16 && self.matchExpressions.all(e, size(e.key) <= 317 && size(e.operator) <= 317 && (!has(e.values) || size(e.values) <= 64))",message="matchExpressions has at most 16 entries, each with a key of at most 317 characters and with at most 64 values"
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ServerReference names a DiscordServer.
type ServerReference struct {
	// name of the DiscordServer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the DiscordServer. Defaults to the object's own namespace. The
	// DiscordServer's spec.allowedNamespaces (for a DiscordRole:
	// spec.allowedRoles) must allow the object's namespace. Otherwise the object
	// is Degraded with the reason NotAllowed. The reason is the same if the
	// DiscordServer of another namespace does not exist.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// In returns the namespace and name of the DiscordServer that an object in the
// given namespace refers to.
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

	// namespace of the DiscordGroup. Defaults to the object's own namespace. The
	// DiscordGroup's spec.allowedNamespaces must allow the object's namespace. If
	// the DiscordGroup is in another namespace than its DiscordServer, the
	// DiscordServer's spec.allowedNamespaces must also allow the DiscordGroup's
	// namespace and the object's namespace. Otherwise the object is Degraded with
	// the reason NotAllowed. The reason is the same if the DiscordGroup of another
	// namespace does not exist.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower case letters, digits and '-', starting and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`
}

// In returns the namespace and name of the DiscordGroup that an object in the
// given namespace refers to.
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
	// id of the channel, category or role on Discord. To get the id, enable the
	// developer mode of Discord, right-click the channel, category or role, and
	// choose "Copy Channel ID" or "Copy Role ID".
	// +required
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{5,19}$')",message="must be a Discord id: 6 to 20 digits, in quotes"
	ID string `json:"id"`
}
