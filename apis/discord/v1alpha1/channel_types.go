// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ChannelType is the kind of a channel.
//
// +kubebuilder:validation:Enum=Text;Announcement
type ChannelType string

const (
	// ChannelTypeText is an ordinary channel for messages.
	ChannelTypeText ChannelType = "Text"
	// ChannelTypeAnnouncement is a channel that other servers can follow. Discord
	// allows it in community servers only.
	ChannelTypeAnnouncement ChannelType = "Announcement"
)

// AutoArchive is the time without a message after which a thread is hidden.
// Discord supports these four.
//
// +kubebuilder:validation:Enum=OneHour;OneDay;ThreeDays;OneWeek
type AutoArchive string

const (
	// AutoArchiveOneHour hides a thread after 60 minutes.
	AutoArchiveOneHour AutoArchive = "OneHour"
	// AutoArchiveOneDay hides a thread after 1440 minutes.
	AutoArchiveOneDay AutoArchive = "OneDay"
	// AutoArchiveThreeDays hides a thread after 4320 minutes.
	AutoArchiveThreeDays AutoArchive = "ThreeDays"
	// AutoArchiveOneWeek hides a thread after 10080 minutes.
	AutoArchiveOneWeek AutoArchive = "OneWeek"
)

// WebhookSecretKey is the key of a channel's webhook Secret that holds the
// URL.
const WebhookSecretKey = "url"

// ChannelWebhook configures a webhook, through which other programs post to
// the channel.
type ChannelWebhook struct {
	// name under which the webhook posts, 1 to 80 characters. Discord allows
	// neither "discord" nor "clyde" in it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.trim() == self && self != ''",message="must not begin or end with white space, which Discord removes"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'\s\s')`,message="must not have two white spaces in a row, of which Discord removes one"
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().contains('discord') && !self.lowerAscii().contains('clyde')",message="must contain neither \"discord\" nor \"clyde\", which Discord refuses"
	Name string `json:"name"`

	// secretName is the name of the Secret, in the same namespace and owned by the
	// channel, that holds the webhook's URL under the key "url". Every client that
	// knows the URL can post. Defaults to the name of the object with the suffix
	// "-webhook". A Secret with that name that the channel does not own is not
	// changed, and the channel is Degraded with the reason NameConflict.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a Secret: lower case letters, digits, '-' and '.', with a letter or digit at both ends and beside every '.'"
	SecretName string `json:"secretName,omitempty"`
}

// DiscordChannelSpec is the desired state of a text channel.
//
// +kubebuilder:validation:XValidation:rule="has(self.groupRef) != has(self.serverRef)",message="name either the groupRef or, for a channel outside of any group, the serverRef"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.adopt) || (has(self.adopt) && self.adopt.id == oldSelf.adopt.id)",message="adopt cannot be changed or removed once it is set: create a new object"
type DiscordChannelSpec struct {
	// groupRef names the DiscordGroup that the channel is in. Another group of the
	// same server moves the channel. A group of another server makes it Degraded
	// with the reason ServerMismatch, because Discord cannot move a channel to
	// another server.
	//
	// +optional
	GroupRef *GroupReference `json:"groupRef,omitempty"`

	// serverRef names the DiscordServer of a channel that is in no group. It
	// cannot be changed to another server.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef cannot be changed: Discord cannot move a channel to another server"
	ServerRef *ServerReference `json:"serverRef,omitempty"`

	// name of the channel as Discord stores it, 1 to 100 characters: lower case,
	// no white space, no punctuation but '-' and '_', no two '-' in a row and none
	// at the start. Discord silently changes every other name, so it is refused
	// here; the message proposes one. Discord allows two changes of name or topic
	// in ten minutes; a third is delayed with the reason RateLimited.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'[\s\p{Z}\p{Cc}~A-Z!-,./:-@\[-^\x60{-}]|^-|--')`,messageExpression=`'Discord would store another name than this; write ' + (self.matches(r'[^\s\p{Z}\p{Cc}!-/:-@\[-^\x60{-~]') && !self.lowerAscii().matches(r'[\p{Lu}\p{Lt}\x{2160}-\x{216f}\x{24b6}-\x{24cf}\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|[^\P{Z} \x{a0}\x{3000}]') ? '"' + self.lowerAscii().replace('-', ' ').replace('~', ' ').replace('\t', ' ').replace('\n', ' ').replace('\r', ' ').replace('\u00a0', ' ').replace('\u3000', ' ').replace('!', '').replace('"', '').replace('#', '').replace('$', '').replace('%', '').replace('&', '').replace('\'', '').replace('(', '').replace(')', '').replace('*', '').replace('+', '').replace(',', '').replace('.', '').replace('/', '').replace(':', '').replace(';', '').replace('<', '').replace('=', '').replace('>', '').replace('?', '').replace('@', '').replace('[', '').replace('\\', '').replace(']', '').replace('^', '').replace('\x60', '').replace('{', '').replace('|', '').replace('}', '').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').trim().replace(' ', '-') + '"' : 'lower case letters and digits, with "-" and "_" between them')`,message="Discord would store another name: write lower case letters, digits, '-' and '_', without white space"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'[^\P{Lu}A-Z\x{3d2}-\x{3d4}\x{2100}-\x{2125}\x{2127}-\x{2129}\x{212c}-\x{2131}\x{2133}-\x{214f}\x{1d400}-\x{1d7ff}]|[\p{Lt}\x{2160}-\x{216f}\x{24b6}-\x{24cf}]')`,message="must be lower case, since Discord stores it so"
	Name string `json:"name"`

	// type is Text or Announcement, which Discord allows in community servers
	// only. If it is not set, a new channel is a Text channel, and an adopted one
	// keeps its type.
	//
	// +optional
	Type ChannelType `json:"type,omitempty"`

	// topic is shown above the messages, up to 1024 characters; "" clears it. If
	// it is not set, it is not managed. See name for how often it can change.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.trim() == self",message="must not begin or end with white space, which Discord removes"
	Topic *string `json:"topic,omitempty"`

	// nsfw marks the channel as not safe for work: members must be of age. If it
	// is not set, it is not managed.
	//
	// +optional
	NSFW *bool `json:"nsfw,omitempty"`

	// slowmode is the time that a member must wait between two messages, in whole
	// seconds from 0s (off) to 6h, such as "30s" or "1h30m". If it is not set, it
	// is not managed.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') && self != ''",message="must be a duration in whole seconds, such as 30s or 1h30m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') || self == '' || duration(self) <= duration('6h')",message="must be at most 6h"
	Slowmode *metav1.Duration `json:"slowmode,omitempty"`

	// defaultAutoArchive is the default for new threads: OneHour, OneDay,
	// ThreeDays or OneWeek without a message until they are hidden. If it is not
	// set, it is not managed.
	//
	// +optional
	DefaultAutoArchive AutoArchive `json:"defaultAutoArchive,omitempty"`

	// position orders the channels of a group (or those outside of any) that have
	// one, in ascending order. Only the order of the numbers counts; channels with
	// equal numbers are in any order. Channels of different namespaces are not
	// ordered among each other. If it is not set, the channel keeps its place.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Position *int32 `json:"position,omitempty"`

	// permissionOverwrites lists all overwrites of the channel, at most 100;
	// others on Discord are removed. An empty list removes all of them. If it is
	// not set, they are not managed, and a new channel has those of its group. A
	// channel is created with its overwrites, so a private one is private from the
	// start. If they would deny the bot access to the channel, an overwrite for
	// the bot is added.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(a.role) ? a.role : '') == (has(b.role) ? b.role : '') && (has(a.user) ? a.user : '') == (has(b.user) ? b.user : '')))",message="a role or user may be listed only once"
	PermissionOverwrites []PermissionOverwrite `json:"permissionOverwrites,omitzero"`

	// webhook configures a webhook and a Secret with its URL. Both are deleted
	// when it is removed. If it is not set, webhooks are not managed.
	//
	// +optional
	Webhook *ChannelWebhook `json:"webhook,omitempty"`

	// adopt names an existing channel to manage instead of creating one. It cannot
	// be changed once it is set. In a server of another namespace that needs the
	// server's spec.allowAdoption.
	//
	// +optional
	Adopt *Adoption `json:"adopt,omitempty"`

	// deletionPolicy defines what happens to the channel on Discord, with its
	// messages, when this object is deleted. If it is not set, a channel that the
	// operator created is deleted, and one that it adopted is retained, without
	// the webhook that the operator created.
	//
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// LocalSecretReference names a Secret in the same namespace.
type LocalSecretReference struct {
	// name of the Secret.
	//
	// +required
	Name string `json:"name"`
}

// WebhookStatus is the observed state of a channel's webhook.
type WebhookStatus struct {
	// id of the webhook on Discord.
	//
	// +required
	ID string `json:"id"`

	// secretRef names the Secret that holds the webhook's URL under the key "url".
	// Empty until it is written.
	//
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`
}

// DiscordChannelStatus is the observed state of a channel.
type DiscordChannelStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status
	// describes.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are the latest observations of the channel's state: Available (it
	// exists on Discord), Progressing (the operator is working towards the spec),
	// Degraded (a user must act; the message says how) and Ready (the object
	// matches its spec). Degraded and Progressing are never True together.
	// Verified is there only while Discord cannot be asked about an object that
	// was Ready: False since then.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// channelId is the id of the channel on Discord. Empty until it exists.
	//
	// +optional
	ChannelID string `json:"channelId,omitempty"`

	// matched says that the channel was bound because it alone matches an interrupted
	// create, and that the audit log does not show who created it. It may be another
	// user's, so it is retained when the object is deleted. Name it in spec.adopt to
	// have the deletion policy apply.
	//
	// +optional
	Matched bool `json:"matched,omitempty"`

	// channelURL is the address of the channel in Discord.
	//
	// +optional
	ChannelURL string `json:"channelURL,omitempty"`

	// serverRef names the DiscordServer that the channel is in, also where the
	// spec names a group.
	//
	// +optional
	ServerRef *ServerReference `json:"serverRef,omitempty"`

	// serverId is the id of the server that the channel is in.
	//
	// +optional
	ServerID string `json:"serverId,omitempty"`

	// groupId is the id of the category that the channel is in. Empty for none.
	//
	// +optional
	GroupID string `json:"groupId,omitempty"`

	// webhook is the webhook of spec.webhook. Empty until it exists.
	//
	// +optional
	Webhook *WebhookStatus `json:"webhook,omitempty"`
}

// DiscordChannel is a text channel of a Discord server, in a group or outside
// of any, optionally with a webhook.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=discordchannels,singular=discordchannel,shortName=dch,categories=discord
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.channelId`,description="Id of the channel on Discord"
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.status.serverRef.name`,description="DiscordServer that the channel is in"
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.groupRef.name`,description="DiscordGroup that the channel is in"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the object matches its spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the condition Ready"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.channelURL`,priority=1,description="Address of the channel in Discord"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="Message of the condition Ready"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.adopt) || has(oldSelf.spec.adopt) || !has(oldSelf.status) || !has(oldSelf.status.channelId) || self.spec.adopt.id == oldSelf.status.channelId",message="spec.adopt cannot be another channel than the one that this object has already, see status.channelId"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.webhook) || has(self.spec.webhook.secretName) || size(self.metadata.name) <= 245",message="metadata.name is too long for a Secret with the suffix \"-webhook\": set spec.webhook.secretName"
type DiscordChannel struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	//
	// +required
	Spec DiscordChannelSpec `json:"spec"`

	// status is the observed state. Only the operator writes it. Until it does,
	// observedGeneration is -1, so that kstatus, and with it Flux and Helm, does
	// not report the object as current.
	//
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DiscordChannelStatus `json:"status,omitempty"`
}

// WebhookSecretName is the name of the Secret that holds the webhook's URL,
// where the spec asks for a webhook.
func (c *DiscordChannel) WebhookSecretName() string {
	if c.Spec.Webhook != nil && c.Spec.Webhook.SecretName != "" {
		return c.Spec.Webhook.SecretName
	}
	return c.Name + "-webhook"
}

// GetConditions returns the conditions of the status.
func (c *DiscordChannel) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions sets the conditions of the status.
func (c *DiscordChannel) SetConditions(now []metav1.Condition) { c.Status.Conditions = now }

// DiscordChannelList is a list of DiscordChannels.
//
// +kubebuilder:object:root=true
type DiscordChannelList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DiscordChannel `json:"items"`
}
