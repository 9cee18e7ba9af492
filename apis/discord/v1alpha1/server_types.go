// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VerificationLevel defines the condition that a new member must meet before
// writing in a server. Source:
// https://discord.com/developers/docs/resources/guild.
// +kubebuilder:validation:Enum=None;Low;Medium;High;VeryHigh
type VerificationLevel string

const (
	// VerificationLevelNone requires nothing.
	VerificationLevelNone VerificationLevel = "None"
	// VerificationLevelLow requires a verified email address.
	VerificationLevelLow VerificationLevel = "Low"
	// VerificationLevelMedium requires an account that is older than five minutes.
	VerificationLevelMedium VerificationLevel = "Medium"
	// VerificationLevelHigh requires a membership of more than ten minutes.
	VerificationLevelHigh VerificationLevel = "High"
	// VerificationLevelVeryHigh requires a verified phone number.
	VerificationLevelVeryHigh VerificationLevel = "VeryHigh"
)

// DefaultNotifications defines which messages notify members by default.
// +kubebuilder:validation:Enum=AllMessages;OnlyMentions
type DefaultNotifications string

const (
	// DefaultNotificationsAllMessages notifies of every message.
	DefaultNotificationsAllMessages DefaultNotifications = "AllMessages"
	// DefaultNotificationsOnlyMentions notifies of messages that mention the
	// member.
	DefaultNotificationsOnlyMentions DefaultNotifications = "OnlyMentions"
)

// ExplicitContentFilter defines whose media Discord scans.
// +kubebuilder:validation:Enum=Disabled;MembersWithoutRoles;AllMembers
type ExplicitContentFilter string

const (
	// ExplicitContentFilterDisabled scans nothing.
	ExplicitContentFilterDisabled ExplicitContentFilter = "Disabled"
	// ExplicitContentFilterMembersWithoutRoles scans the media that members
	// without a role send.
	ExplicitContentFilterMembersWithoutRoles ExplicitContentFilter = "MembersWithoutRoles"
	// ExplicitContentFilterAllMembers scans the media that all members send.
	ExplicitContentFilterAllMembers ExplicitContentFilter = "AllMembers"
)

// Community defines whether a server is a community server. Some features of
// Discord exist only in a community server, such as announcement, stage and
// forum channels.
// +kubebuilder:validation:Enum=Enabled
type Community string

// CommunityEnabled makes the server a community server.
const CommunityEnabled Community = "Enabled"

// AFKTimeout is the time of silence after which members are moved to the AFK
// channel. Discord supports only 1m, 5m, 15m, 30m and 1h.
// +kubebuilder:validation:Enum="1m";"5m";"15m";"30m";"1h"
type AFKTimeout string

// SystemChannelFlag suppresses one kind of Discord's own messages, or of the
// buttons below them, in the system channel. Source:
// https://discord.com/developers/docs/resources/guild.
// +kubebuilder:validation:Enum=SuppressJoinNotifications;SuppressPremiumSubscriptions;SuppressGuildReminderNotifications;SuppressJoinNotificationReplies;SuppressRoleSubscriptionPurchaseNotifications;SuppressRoleSubscriptionPurchaseNotificationReplies
type SystemChannelFlag string

const (
	// SuppressJoinNotifications suppresses messages about new members.
	SuppressJoinNotifications SystemChannelFlag = "SuppressJoinNotifications"
	// SuppressPremiumSubscriptions suppresses messages about boosts of the server.
	SuppressPremiumSubscriptions SystemChannelFlag = "SuppressPremiumSubscriptions"
	// SuppressGuildReminderNotifications suppresses tips about setting up the server.
	SuppressGuildReminderNotifications SystemChannelFlag = "SuppressGuildReminderNotifications"
	// SuppressJoinNotificationReplies hides the button for greeting new members.
	SuppressJoinNotificationReplies SystemChannelFlag = "SuppressJoinNotificationReplies"
	// SuppressRoleSubscriptionPurchaseNotifications suppresses messages about subscriptions to
	// roles.
	SuppressRoleSubscriptionPurchaseNotifications SystemChannelFlag = "SuppressRoleSubscriptionPurchaseNotifications"
	// SuppressRoleSubscriptionPurchaseNotificationReplies hides the button for greeting subscribers
	// of roles.
	SuppressRoleSubscriptionPurchaseNotificationReplies SystemChannelFlag = "SuppressRoleSubscriptionPurchaseNotificationReplies"
)

// TokenSecretReference names the Secret with a bot's token in the same
// namespace.
type TokenSecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// key of the token in the Secret. Defaults to token.
	// +optional
	// +default="token"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// ServerIcon is the icon of a server.
type ServerIcon struct {
	// configMapKeyRef names a ConfigMap in the same namespace, and the key in its
	// binaryData that has the image: a PNG, JPEG or GIF of at most 1024 by 1024
	// pixels. Only a server with enough boosts may have an animated GIF.
	// +required
	ConfigMapKeyRef ConfigMapKeyReference `json:"configMapKeyRef"`
}

// ConfigMapKeyReference names a key of a ConfigMap in the same namespace.
type ConfigMapKeyReference struct {
	// name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of an object: lower case letters, digits, '-' and '.', starting and ending with a letter or digit"
	Name string `json:"name"`

	// key in the binaryData of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key: letters, digits, '-', '_' and '.'"
	Key string `json:"key"`
}

// AllowedRoles defines which namespaces may have roles in a server, and which
// permissions these roles may have. Roles of other namespaces rank below every
// role of the server's own namespace and every unmanaged role, except
// @everyone. DiscordRoles of other namespaces cannot adopt a role. The operator
// enforces these limits even if a DiscordRole is paused or only observed.
type AllowedRoles struct {
	// namespaces defines which namespaces may have roles. The server's own
	// namespace always may have roles, with every permission that the bot has. If
	// a namespace is no longer allowed, its roles stay on Discord with their
	// permissions, and its DiscordRoles are Degraded with the reason NotAllowed.
	// To make the roles harmless, first remove all entries of the field
	// permissions. Remove the namespace only after the operator has removed the
	// permissions from the roles.
	// +required
	Namespaces AllowedNamespaces `json:"namespaces"`

	// permissions lists all permissions that a role of another namespace may have,
	// at most 64. If the spec of a DiscordRole of another namespace has a
	// permission that is not in this list, the DiscordRole is Degraded with the
	// reason NotAllowed. If its role on Discord has a permission that is not in
	// this list, the operator removes the permission from the role, even if the
	// permission was allowed before. On Discord, Administrator implies all
	// permissions. In this list, Administrator allows only itself: list each other
	// permission, such as ManageRoles, too. If the list is not set or empty, the
	// roles have no permissions: they only color the names of their members, group
	// the members, and let users mention them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Permissions []Permission `json:"permissions,omitempty"`
}

// DiscordServerSpec is the desired state of a Discord server.
// +kubebuilder:validation:XValidation:rule="!has(self.community) || (has(self.rulesChannelRef) && has(self.publicUpdatesChannelRef))",message="community requires rulesChannelRef and publicUpdatesChannelRef"
// +kubebuilder:validation:XValidation:rule="!has(self.community) || !has(self.verificationLevel) || self.verificationLevel != 'None'",message="community requires a verificationLevel of Low or higher"
// +kubebuilder:validation:XValidation:rule="!has(self.community) || !has(self.explicitContentFilter) || self.explicitContentFilter == 'AllMembers'",message="community requires the explicitContentFilter AllMembers"
// +kubebuilder:validation:XValidation:rule="!has(self.afkChannelId) || !has(self.afkChannelRef)",message="afkChannelId and afkChannelRef cannot both be set"
// +kubebuilder:validation:XValidation:rule="self.serverId == oldSelf.serverId",message="serverId cannot be changed: create a new DiscordServer for another server"
type DiscordServerSpec struct {
	// tokenSecretRef names the Secret with the bot's token. A new token or another
	// Secret is used immediately. Several servers may share a bot.
	// +required
	TokenSecretRef TokenSecretReference `json:"tokenSecretRef"`

	// serverId is the id of the server (guild) to manage, in quotes. It cannot be
	// changed. The bot must be a member of the server. A user can add the bot at
	// the address in status.inviteURL.
	// +required
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{5,19}$')",message="must be the id of a Discord server: 6 to 20 digits, in quotes"
	ServerID string `json:"serverId"`

	// name of the server, 2 to 100 characters. If it is not set, it is not
	// managed.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.trim() == self",message="must not begin or end with white space, which Discord removes"
	Name string `json:"name,omitempty"`

	// description of the server, up to 300 characters. Discord shows it only for
	// community servers. "" removes it. If it is not set, it is not managed.
	// +optional
	// +kubebuilder:validation:MaxLength=300
	Description *string `json:"description,omitempty"`

	// icon of the server. The operator uploads it when the image changes, and when
	// Discord has another icon or none. If the field is not set, it is not
	// managed: the server keeps its icon, which a user can remove on Discord.
	// +optional
	Icon *ServerIcon `json:"icon,omitempty"`

	// verificationLevel defines the condition that a new member must meet before
	// writing in the server. If neither verificationLevel nor community is set,
	// the level is not managed.
	// +optional
	VerificationLevel VerificationLevel `json:"verificationLevel,omitempty"`

	// defaultNotifications defines which messages notify members by default. If it
	// is not set, it is not managed.
	// +optional
	DefaultNotifications DefaultNotifications `json:"defaultNotifications,omitempty"`

	// explicitContentFilter defines whose media Discord scans. If neither
	// explicitContentFilter nor community is set, the filter is not managed.
	// +optional
	ExplicitContentFilter ExplicitContentFilter `json:"explicitContentFilter,omitempty"`

	// preferredLocale is the language of a community server. If it is not set, it
	// is not managed.
	// +optional
	// +kubebuilder:validation:Enum=ar;bg;cs;da;de;el;en-GB;en-US;es-419;es-ES;fi;fr;he;hi;hr;hu;id;it;ja;ko;lt;nl;no;pl;pt-BR;ro;ru;sv-SE;th;tr;uk;vi;zh-CN;zh-TW
	PreferredLocale string `json:"preferredLocale,omitempty"`

	// afkChannelId is the id of the voice channel for idle members. "" means no
	// such channel. If neither afkChannelId nor afkChannelRef is set, the channel
	// is not managed.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[1-9][0-9]{5,19}$')",message="must be the id of a voice channel: 6 to 20 digits, in quotes, or empty"
	AFKChannelID *string `json:"afkChannelId,omitempty"`

	// afkChannelRef names the DiscordChannel of the type Voice for idle members.
	// While that channel does not exist on Discord, or its DiscordChannel is being
	// deleted, the reason is WaitingForChannel; everything else is reconciled.
	// +optional
	AFKChannelRef *ChannelReference `json:"afkChannelRef,omitempty"`

	// afkTimeout is the time after which members count as idle: 1m, 5m, 15m, 30m
	// or 1h. If it is not set, it is not managed.
	// +optional
	AFKTimeout AFKTimeout `json:"afkTimeout,omitempty"`

	// systemChannelRef names the DiscordChannel for Discord's own messages, such
	// as the messages about new members. While that channel does not exist on
	// Discord, or its DiscordChannel is being deleted, the reason is
	// WaitingForChannel; everything else is reconciled. If it is not set, it is
	// not managed.
	// +optional
	SystemChannelRef *ChannelReference `json:"systemChannelRef,omitempty"`

	// rulesChannelRef names the DiscordChannel of the type Text with the rules of
	// a community server. While that channel does not exist on Discord, or its
	// DiscordChannel is being deleted, the reason is WaitingForChannel; everything
	// else is reconciled. If it is not set, it is not managed.
	// +optional
	RulesChannelRef *ChannelReference `json:"rulesChannelRef,omitempty"`

	// publicUpdatesChannelRef names the DiscordChannel of the type Text in which
	// Discord notifies the moderators of a community server. While that channel
	// does not exist on Discord, or its DiscordChannel is being deleted, the
	// reason is WaitingForChannel; everything else is reconciled. If it is not
	// set, it is not managed.
	// +optional
	PublicUpdatesChannelRef *ChannelReference `json:"publicUpdatesChannelRef,omitempty"`

	// community with the value Enabled makes the server a community server. It
	// requires rulesChannelRef and publicUpdatesChannelRef, and takes effect once
	// both channels exist. To enable Community, the bot must be an administrator:
	// otherwise the DiscordServer is Degraded with the reason MissingPermissions;
	// everything else is reconciled. Discord requires at least the verification
	// level Low, and the content filter AllMembers. If verificationLevel is not
	// set, the operator raises a lower level to Low. If explicitContentFilter is
	// not set, the operator sets the filter to AllMembers. If community is not
	// set, Community is not managed: a user can disable it on Discord.
	// +optional
	Community Community `json:"community,omitempty"`

	// systemChannelFlags lists the messages and buttons that are suppressed in the
	// system channel, at most 6. An empty list suppresses none. If it is not set,
	// it is not managed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=6
	SystemChannelFlags []SystemChannelFlag `json:"systemChannelFlags,omitzero"`

	// allowedNamespaces defines which other namespaces may have groups and
	// channels in this server. For roles, see allowedRoles. These namespaces get
	// no access to the bot's token. If allowedNamespaces is not set, only the
	// server's own namespace may have groups and channels. But a DiscordGroup of
	// the server's own namespace can allow any namespace to have channels in its
	// category. If a namespace is no longer allowed, its channels and categories
	// stay as they are on Discord, and its objects are Degraded with the reason
	// NotAllowed.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`

	// allowedRoles defines which other namespaces may have roles in this server,
	// and which permissions these roles may have. If allowedRoles is not set, no
	// other namespace may have roles.
	// +optional
	AllowedRoles *AllowedRoles `json:"allowedRoles,omitempty"`

	// allowAdoption lets objects of other allowed namespaces adopt channels and
	// categories of this server that no object manages. So these namespaces can
	// change and delete every such channel and category. Objects of another
	// namespace can never adopt roles. Objects of the server's own namespace may
	// always adopt. If allowAdoption becomes false again, adopted channels and
	// categories stay adopted. Defaults to false.
	// +optional
	AllowAdoption bool `json:"allowAdoption,omitempty"`

	// allowRetention lets objects of other namespaces leave channels, categories
	// and roles on Discord when the objects are deleted: by the deletionPolicy
	// Retain, by the managementPolicy Observe, or by the annotation
	// discord.jutsu.com/force-delete. If it is false, the operator creates nothing
	// for an object of another namespace whose deletionPolicy is Retain. If the
	// operator has already created a resource for an object, the deletion of the
	// object waits while its policies would leave the resource on Discord. In both
	// cases, the object is Degraded with the reason NotAllowed. The annotation
	// then has no effect. But an object may always leave a resource on Discord
	// that the object has adopted (status.adopted is true). Objects of the
	// server's own namespace may always leave their resources on Discord. Defaults
	// to false.
	// +optional
	AllowRetention bool `json:"allowRetention,omitempty"`

	// deletionProtection protects the object: while it is true, the API server
	// refuses every deletion of the object. But if the namespace or the
	// CustomResourceDefinition is deleted, the object is deleted too.
	// deletionProtection needs the operator's ValidatingAdmissionPolicies, which
	// OLM does not install. deletionPolicy defines what happens on Discord.
	// Defaults to false.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty"`

	// deletionPolicy defines what happens to the server on Discord when this
	// object is deleted. Retain leaves the server as it is. Delete deletes the
	// server with all channels and messages. But Discord lets only the owner of a
	// server delete the server, so with an invited bot, Delete fails. Defaults to
	// Retain.
	// +optional
	// +default="Retain"
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// managementPolicy is Manage or Observe. Manage makes the server match the
	// spec. With Observe, the operator does not change the server, even when the
	// object is deleted; status.differences lists the changes that Manage would
	// make. Groups, channels and roles have their own policies. Defaults to
	// Manage.
	// +optional
	// +default="Manage"
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`
}

// RoleCount is the number of roles of a server.
type RoleCount struct {
	// total is the number of roles, including unmanaged roles and @everyone.
	// +optional
	Total int32 `json:"total"`

	// limit is the number of roles that Discord allows in a server: 250.
	// +optional
	Limit int32 `json:"limit"`
}

// ChannelCount is the number of channels of a server.
type ChannelCount struct {
	// total is the number of channels and categories, including unmanaged ones but
	// not threads.
	// +optional
	Total int32 `json:"total"`

	// limit is the number of channels and categories that Discord allows in a
	// server: 500.
	// +optional
	Limit int32 `json:"limit"`
}

// ServerIconStatus describes the last icon set by the operator.
type ServerIconStatus struct {
	// sourceHash is the hash of the image, 71 characters: `sha256:` and 64
	// hexadecimal digits.
	// +required
	// +kubebuilder:validation:MaxLength=71
	SourceHash string `json:"sourceHash"`

	// discordHash is Discord's hash of the icon, at most 256 characters. If
	// Discord later returns another hash, a user has changed the icon.
	// +required
	// +kubebuilder:validation:MaxLength=256
	DiscordHash string `json:"discordHash"`
}

// DiscordServerStatus is the observed state of a Discord server.
type DiscordServerStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status
	// describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions describe the server's state: Available (the bot can manage it;
	// with managementPolicy Observe, the bot is a member of it), Progressing (the
	// operator is working towards the spec), Degraded (a user must act; the
	// message says how) and Ready (the object matches its spec; with
	// managementPolicy Observe, Discord may differ from the spec). Degraded and
	// Progressing are never True together. Verified exists only as False: while
	// the operator cannot check on Discord whether an object that was Ready still
	// matches its spec, or cannot delete the object's resource there. Paused
	// exists only while the object is paused, and InSync only with
	// managementPolicy Observe. At most 16 conditions.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// serverId is the id of the server on Discord. Empty until the DiscordServer
	// is Available for the first time.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ServerID string `json:"serverId,omitempty"`

	// name of the server on Discord, at most 256 characters; a longer name is cut.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// icon describes the last icon set by the operator, while spec.icon is set.
	// +optional
	Icon *ServerIconStatus `json:"icon,omitempty"`

	// ownerId is the id of the user who owns the server.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	OwnerID string `json:"ownerId,omitempty"`

	// applicationId is the id of the application that the bot belongs to.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ApplicationID string `json:"applicationId,omitempty"`

	// inviteURL is the address of a page of Discord, at most 2048 characters. On
	// this page, a user who may manage the server adds the bot, or gives the bot
	// missing permissions. The page asks for the permissions of the bot's own
	// role, for the permissions to manage settings, channels, roles and webhooks,
	// and for the permissions that the objects of the server's namespace need,
	// except Administrator. Observed objects do not count.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	InviteURL string `json:"inviteURL,omitempty"`

	// channels is the number of channels of the server. It may be a few seconds
	// old, or older while Discord's Gateway is not connected.
	// +optional
	Channels *ChannelCount `json:"channels,omitempty"`

	// roles is the number of roles of the server. It may be a few seconds old, or
	// older while Discord's Gateway is not connected.
	// +optional
	Roles *RoleCount `json:"roles,omitempty"`

	// missingPermissions lists the permissions that the bot lacks for the server's
	// settings and for the groups, channels and roles of the server's own
	// namespace, at most 64. The list omits Administrator, Connect for Voice and
	// Stage channels, and the permissions in DiscordRoles: the objects that need
	// these permissions report them. With managementPolicy Observe, the list is
	// empty. At the address inviteURL, a user can give the bot the listed
	// permissions.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	MissingPermissions []Permission `json:"missingPermissions,omitempty"`

	// namespaces is the number of namespaces with groups, channels or roles in the
	// server. A namespace that is not allowed counts only while its objects have
	// resources on Discord.
	// +optional
	Namespaces int32 `json:"namespaces,omitempty"`

	// differences lists the changes that the operator does not make on Discord
	// because spec.managementPolicy is Observe: at most 64 lines of at most 256
	// characters, such as `name: "old" -> "new"`. If there are more changes, the
	// last line has the number of the other changes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Differences []string `json:"differences,omitempty"`
}

// DiscordServer is a Discord server (guild) that a bot manages: its settings,
// and the groups, channels and roles that refer to it.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=discordservers,singular=discordserver,shortName=dsrv,categories=discord
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the object matches its spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the condition Ready"
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.serverId`,description="Id of the server on Discord"
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.status.name`,description="Name of the server on Discord"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Channels",type=integer,JSONPath=`.status.channels.total`,priority=1,description="Channels and categories in the server"
// +kubebuilder:printcolumn:name="Namespaces",type=integer,JSONPath=`.status.namespaces`,priority=1,description="Namespaces that have groups, channels or roles in the server"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="Message of the condition Ready"
type DiscordServer struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec DiscordServerSpec `json:"spec"`

	// status is the observed state. Only the operator writes it. Until the
	// operator first writes it, observedGeneration is -1. So kstatus, a library
	// that Flux and Helm use, does not yet report the object as current.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DiscordServerStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions of the status.
func (s *DiscordServer) GetConditions() []metav1.Condition { return s.Status.Conditions }

// SetConditions sets the conditions of the status.
func (s *DiscordServer) SetConditions(now []metav1.Condition) { s.Status.Conditions = now }

// GetManagementPolicy returns the managementPolicy of the spec.
func (s *DiscordServer) GetManagementPolicy() ManagementPolicy { return s.Spec.ManagementPolicy }

// GetDifferences returns the differences of the status.
func (s *DiscordServer) GetDifferences() []string { return s.Status.Differences }

// DiscordServerList is a list of DiscordServers.
// +kubebuilder:object:root=true
type DiscordServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DiscordServer `json:"items"`
}
