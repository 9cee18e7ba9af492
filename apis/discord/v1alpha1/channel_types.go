// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ChannelType is the kind of a channel.
// +kubebuilder:validation:Enum=Text;Announcement;Voice;Stage;Forum;Media
type ChannelType string

const (
	// ChannelTypeText is an ordinary channel for messages.
	ChannelTypeText ChannelType = "Text"
	// ChannelTypeAnnouncement is a channel that other servers can follow. For community servers
	// only.
	ChannelTypeAnnouncement ChannelType = "Announcement"
	// ChannelTypeVoice is a channel in which members talk.
	ChannelTypeVoice ChannelType = "Voice"
	// ChannelTypeStage is a channel in which few members talk and many listen. For community
	// servers only.
	ChannelTypeStage ChannelType = "Stage"
	// ChannelTypeForum is a channel of posts, each with its own thread. For community servers only.
	ChannelTypeForum ChannelType = "Forum"
	// ChannelTypeMedia is a forum that shows the pictures and videos of its posts. For community
	// servers only.
	ChannelTypeMedia ChannelType = "Media"
)

// IsVoiceLike reports whether members talk in a channel of this type. Only a bot with the
// permission Connect can change such a channel.
func (t ChannelType) IsVoiceLike() bool { return t == ChannelTypeVoice || t == ChannelTypeStage }

// VideoQuality is the quality of the members' cameras.
// +kubebuilder:validation:Enum=Auto;Full
type VideoQuality string

const (
	// VideoQualityAuto lets Discord choose the quality.
	VideoQualityAuto VideoQuality = "Auto"
	// VideoQualityFull is 720p.
	VideoQualityFull VideoQuality = "Full"
)

// ChannelVoice has the settings of a Voice or Stage channel. Fields that are
// not set are not managed.
type ChannelVoice struct {
	// bitrate of the sound, in bits per second, 8000 or more. Discord allows 96000
	// in a Voice channel (with boosts 128000, 256000 and 384000 at level 1, 2 and
	// 3), and 64000 in a Stage channel. Source:
	// https://docs.discord.com/developers/resources/channel#modify-channel.
	// +optional
	// +kubebuilder:validation:Minimum=8000
	// +kubebuilder:validation:Maximum=384000
	Bitrate *int32 `json:"bitrate,omitempty"`

	// userLimit is the number of members that may be connected at the same time:
	// up to 99 in a Voice channel, up to 10000 in a Stage channel. 0 means no
	// limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	UserLimit *int32 `json:"userLimit,omitempty"`

	// region is the id of the voice region for the members' connections, such as
	// "rotterdam" or "us-east", at most 32 characters. "" lets Discord choose.
	// Discord changes the list of regions now and then, and refuses other ids.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]+(-[a-z0-9]+)*)?$')",message="must be the id of a voice region, such as rotterdam or us-east, or empty to let Discord choose"
	Region *string `json:"region,omitempty"`

	// videoQuality is the quality of the members' cameras: Auto (Discord chooses)
	// or Full (720p).
	// +optional
	VideoQuality VideoQuality `json:"videoQuality,omitempty"`
}

// Emoji is a Unicode emoji, such as "🔥", or the id of an emoji of the server,
// in quotes. "" is none.
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([1-9][0-9]{5,19}|\S*[^\x00-\x7f]\S*)?$')`,message="must be a Unicode emoji, or the id of an emoji of the server: 6 to 20 digits, in quotes"
type Emoji string

// ForumTag is a tag for posts.
type ForumTag struct {
	// name of the tag, 1 to 20 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.trim() == self",message="must not begin or end with white space, which Discord removes"
	Name string `json:"name"`

	// emoji before the name, at most 32 characters. Defaults to none.
	// +optional
	Emoji Emoji `json:"emoji,omitempty"`

	// moderated restricts the tag to members with the permission ManageThreads:
	// only they may add it to a post or remove it. Defaults to false.
	// +optional
	Moderated bool `json:"moderated,omitempty"`
}

// SortOrder is the initial order of posts.
// +kubebuilder:validation:Enum=NotSet;LatestActivity;CreationDate
type SortOrder string

const (
	// SortOrderNotSet leaves the order to Discord.
	SortOrderNotSet SortOrder = "NotSet"
	// SortOrderLatestActivity shows posts with the latest messages first.
	SortOrderLatestActivity SortOrder = "LatestActivity"
	// SortOrderCreationDate shows the latest posts first.
	SortOrderCreationDate SortOrder = "CreationDate"
)

// ForumLayout is the initial layout of posts.
// +kubebuilder:validation:Enum=NotSet;List;Gallery
type ForumLayout string

const (
	// ForumLayoutNotSet leaves the layout to Discord.
	ForumLayoutNotSet ForumLayout = "NotSet"
	// ForumLayoutList shows posts as a list.
	ForumLayoutList ForumLayout = "List"
	// ForumLayoutGallery shows posts as tiles.
	ForumLayoutGallery ForumLayout = "Gallery"
)

// ChannelForum has the settings of a Forum or Media channel. Fields that are
// not set are not managed.
// +kubebuilder:validation:XValidation:rule="!has(self.requireTag) || !self.requireTag || !has(self.tags) || self.tags.exists(t, !has(t.moderated) || !t.moderated)",message="requireTag needs a tag that every member may use: one that is not moderated"
type ChannelForum struct {
	// tags lists all tags for posts in display order, at most 20. Others on
	// Discord are removed, and posts lose them. An empty list removes all. Each
	// name must be unique.
	//
	// A tag keeps its id, and so its posts, while its name stays. If a change of
	// the list adds as many names as it removes, the tags are renamed in their
	// order. Otherwise new tags are created, and removed ones are deleted. So
	// rename tags in one change, and add or remove tags in another. See
	// status.tags.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name.lowerAscii() == b.name.lowerAscii()))",message="no two tags may have the same name"
	Tags []ForumTag `json:"tags,omitzero"`

	// requireTag requires a tag for each post. At least one tag must not be
	// moderated.
	// +optional
	RequireTag *bool `json:"requireTag,omitempty"`

	// defaultReaction is the emoji offered for reactions to a post, at most 32
	// characters. "" is none.
	// +optional
	DefaultReaction *Emoji `json:"defaultReaction,omitempty"`

	// sortOrder is the initial order of posts: LatestActivity, CreationDate, or
	// NotSet (Discord chooses).
	// +optional
	SortOrder SortOrder `json:"sortOrder,omitempty"`

	// layout is the initial layout of a Forum channel's posts: List, Gallery, or
	// NotSet (Discord chooses).
	// +optional
	Layout ForumLayout `json:"layout,omitempty"`

	// threadSlowmode is the time that a member must wait between two messages in a
	// new post, in whole seconds from 0s (off) to 6h. spec.slowmode is the time
	// between two posts.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') && self != ''",message="must be a duration in whole seconds, such as 30s or 1h30m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') || self == '' || duration(self) <= duration('6h')",message="must be at most 6h"
	ThreadSlowmode *metav1.Duration `json:"threadSlowmode,omitempty"`

	// hideMediaDownload hides the buttons for downloading the pictures and videos
	// of a Media channel.
	// +optional
	HideMediaDownload *bool `json:"hideMediaDownload,omitempty"`
}

// AutoArchive is the time without a message after which a thread is hidden.
// Discord supports only these.
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

// WebhookSecretKey is the key of the URL in the Secret of a channel's webhook.
const WebhookSecretKey = "url"

// ChannelWebhook configures a webhook, by which other programs post to the
// channel.
type ChannelWebhook struct {
	// name shown with the webhook's messages, 1 to 80 characters. Discord allows
	// neither "discord" nor "clyde" in it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.trim() == self && self != ''",message="must not begin or end with white space, which Discord removes"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'\s\s')`,message="must not have two white spaces in a row: Discord removes one"
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().contains('discord') && !self.lowerAscii().contains('clyde')",message="must contain neither \"discord\" nor \"clyde\", which Discord refuses"
	Name string `json:"name"`

	// secretName is the name of the Secret with the webhook's URL under the key
	// "url", in the same namespace and owned by the channel. Anyone who knows the
	// URL can post. If the channel does not own an existing Secret of that name,
	// the Secret is not changed, and the channel is Degraded with the reason
	// NameConflict. Defaults to the object's name with the suffix "-webhook".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a Secret: lower case letters, digits, '-' and '.', with a letter or digit at both ends and beside every '.'"
	SecretName string `json:"secretName,omitempty"`
}

// DiscordChannelSpec is the desired state of a channel.
// +kubebuilder:validation:XValidation:rule="has(self.groupRef) != has(self.serverRef)",message="name either the groupRef or, for a channel outside of any group, the serverRef"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.adopt) || (has(self.adopt) && self.adopt.id == oldSelf.adopt.id)",message="adopt cannot be changed or removed once it is set: create a new object"
// +kubebuilder:validation:XValidation:rule="(has(self.type) ? self.type : 'Text') == (has(oldSelf.type) ? oldSelf.type : 'Text') || (has(self.type) ? self.type : 'Text') in ['Text', 'Announcement'] && (has(oldSelf.type) ? oldSelf.type : 'Text') in ['Text', 'Announcement']",message="type can change only between Text and Announcement, because Discord converts no other channel: create a new object",fieldPath=".type"
// +kubebuilder:validation:XValidation:rule="!has(self.voice) || has(self.type) && self.type in ['Voice', 'Stage']",message="voice is for channels of the type Voice or Stage",fieldPath=".voice"
// +kubebuilder:validation:XValidation:rule="!has(self.voice) || !has(self.voice.userLimit) || self.voice.userLimit <= 99 || has(self.type) && self.type == 'Stage'",message="voice.userLimit is at most 99 in a Voice channel; 0 is no limit",fieldPath=".voice.userLimit"
// +kubebuilder:validation:XValidation:rule="!has(self.voice) || !has(self.voice.bitrate) || self.voice.bitrate <= 64000 || has(self.type) && self.type == 'Voice'",message="voice.bitrate is at most 64000 in a Stage channel",fieldPath=".voice.bitrate"
// +kubebuilder:validation:XValidation:rule="!has(self.topic) || !has(self.type) || !(self.type in ['Voice', 'Stage'])",message="topic is for channels of the type Text, Announcement, Forum or Media: a Voice or Stage channel has none",fieldPath=".topic"
// +kubebuilder:validation:XValidation:rule="!has(self.topic) || size(self.topic) <= 1024 || has(self.type) && self.type in ['Forum', 'Media']",message="topic has at most 1024 characters; in a channel of the type Forum or Media it has at most 4096",fieldPath=".topic"
// +kubebuilder:validation:XValidation:rule="!has(self.defaultAutoArchive) || !has(self.type) || !(self.type in ['Voice', 'Stage'])",message="defaultAutoArchive is for channels of the type Text, Announcement, Forum or Media: a Voice or Stage channel has no threads",fieldPath=".defaultAutoArchive"
// +kubebuilder:validation:XValidation:rule="!has(self.forum) || has(self.type) && self.type in ['Forum', 'Media']",message="forum is for channels of the type Forum or Media",fieldPath=".forum"
// +kubebuilder:validation:XValidation:rule="!has(self.forum) || !has(self.forum.layout) || self.type == 'Forum'",message="forum.layout is for channels of the type Forum: a Media channel is always a gallery",fieldPath=".forum.layout"
// +kubebuilder:validation:XValidation:rule="!has(self.forum) || !has(self.forum.hideMediaDownload) || self.type == 'Media'",message="forum.hideMediaDownload is for channels of the type Media",fieldPath=".forum.hideMediaDownload"
// +kubebuilder:validation:XValidation:rule="!has(self.webhook) || !has(self.type) || !(self.type in ['Forum', 'Media'])",message="webhook is for channels of the type Text, Announcement, Voice or Stage: in a Forum or Media channel Discord refuses every message that names no post, as those of Alertmanager",fieldPath=".webhook"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !(self.type in ['Voice', 'Stage']) || self.name.trim() == self.name",message="must not begin or end with white space, which Discord removes",fieldPath=".name"
// +kubebuilder:validation:XValidation:rule=`has(self.type) && self.type in ['Voice', 'Stage'] || !self.name.matches(r'[\s\p{Z}\p{Cc}~A-Z!-,./:-@\[-^\x60{-}]|^-|--')`,messageExpression=`'Discord would store another name than this; write ' + (self.name.matches(r'[^\s\p{Z}\p{Cc}!-/:-@\[-^\x60{-~]') && !self.name.lowerAscii().matches(r'[\p{Lu}\p{Lt}\x{2160}-\x{216f}\x{24b6}-\x{24cf}\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|[^\P{Z} \x{a0}\x{3000}]') ? '"' + self.name.lowerAscii().replace('-', ' ').replace('~', ' ').replace('\t', ' ').replace('\n', ' ').replace('\r', ' ').replace('\u00a0', ' ').replace('\u3000', ' ').replace('!', "").replace('"', "").replace('#', "").replace('$', "").replace('%', "").replace('&', "").replace("'", "").replace('(', "").replace(')', "").replace('*', "").replace('+', "").replace(',', "").replace('.', "").replace('/', "").replace(':', "").replace(';', "").replace('<', "").replace('=', "").replace('>', "").replace('?', "").replace('@', "").replace('[', "").replace('\\', "").replace(']', "").replace('^', "").replace('\x60', "").replace('{', "").replace('|', "").replace('}', "").replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').trim().replace(' ', '-') + '"' : 'lower case letters and digits, with "-" and "_" between them')`,message="Discord would store another name: write lower case letters, digits, '-' and '_', without white space",fieldPath=".name"
// +kubebuilder:validation:XValidation:rule=`has(self.type) && self.type in ['Voice', 'Stage'] || !self.name.matches(r'[^\P{Lu}A-Z\x{3d2}-\x{3d4}\x{2100}-\x{2125}\x{2127}-\x{2129}\x{212c}-\x{2131}\x{2133}-\x{214f}\x{1d400}-\x{1d7ff}]|[\p{Lt}\x{2160}-\x{216f}\x{24b6}-\x{24cf}]')`,message="must be lower case, since Discord stores it so",fieldPath=".name"
type DiscordChannelSpec struct {
	// groupRef names the DiscordGroup of the channel. Another group of the same
	// server moves the channel. A group of another server makes the object
	// Degraded with the reason ServerMismatch: Discord cannot move a channel to
	// another server.
	// +optional
	GroupRef *GroupReference `json:"groupRef,omitempty"`

	// serverRef names the DiscordServer of a channel without a group. It cannot be
	// changed.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef cannot be changed: Discord cannot move a channel to another server"
	ServerRef *ServerReference `json:"serverRef,omitempty"`

	// name of the channel as Discord stores it, 1 to 100 characters: lower case,
	// no white space, no punctuation except '-' and '_', no two '-' in a row and
	// none at the start. Discord silently changes any other name, so such a name
	// is refused; the message proposes another. A Voice or Stage channel may have
	// any text without white space around it. Discord allows two changes of name
	// or topic in ten minutes; a third is delayed with the reason RateLimited.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`

	// type is Text, Announcement, Voice, Stage, Forum or Media. Announcement,
	// Stage, Forum and Media are for community servers only. Discord converts only
	// Text to Announcement and back, so other changes are refused. If it is not
	// set, a new channel is a Text channel, and an adopted Text or Announcement
	// channel keeps its type.
	// +optional
	Type ChannelType `json:"type,omitempty"`

	// topic is shown above the messages, up to 1024 characters. In a Forum or
	// Media channel it contains the guidelines for posts, up to 4096 characters.
	// "" clears it. A Voice or Stage channel has none. Changes are limited, see
	// name. If it is not set, it is not managed.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.trim() == self",message="must not begin or end with white space, which Discord removes"
	Topic *string `json:"topic,omitempty"`

	// nsfw marks the channel as not safe for work: only for members of age. If it
	// is not set, it is not managed.
	// +optional
	NSFW *bool `json:"nsfw,omitempty"`

	// slowmode is the time that a member must wait between two messages (in a
	// Forum or Media channel, between two posts), in whole seconds from 0s (off)
	// to 6h, such as "30s" or "1h30m", at most 20 characters. If it is not set, it
	// is not managed.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') && self != ''",message="must be a duration in whole seconds, such as 30s or 1h30m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') || self == '' || duration(self) <= duration('6h')",message="must be at most 6h"
	Slowmode *metav1.Duration `json:"slowmode,omitempty"`

	// defaultAutoArchive is the time without a message after which new threads are
	// hidden: OneHour, OneDay, ThreeDays or OneWeek. A Voice or Stage channel has
	// no threads. If it is not set, it is not managed.
	// +optional
	DefaultAutoArchive AutoArchive `json:"defaultAutoArchive,omitempty"`

	// voice has the settings of a Voice or Stage channel, and is allowed only for
	// these.
	// +optional
	Voice *ChannelVoice `json:"voice,omitempty"`

	// forum has the settings of a Forum or Media channel, and is allowed only for
	// these.
	// +optional
	Forum *ChannelForum `json:"forum,omitempty"`

	// position defines the order of the channels in a group (or of the channels
	// without a group), in ascending order. Only the order of the numbers counts;
	// equal numbers are in any order. Discord shows Voice and Stage channels below
	// all others. Channels of different namespaces are not ordered relative to
	// each other. If it is not set, the channel keeps its place.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Position *int32 `json:"position,omitempty"`

	// permissionOverwrites lists all overwrites of the channel, at most 100.
	// Others on Discord are removed. An empty list removes all. If it is not set,
	// they are not managed, and a new channel has its group's. A channel is
	// created with its overwrites, so a private channel is private from the start.
	// If they would deny the bot access, an overwrite for the bot is added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(a.role) ? a.role : '') == (has(b.role) ? b.role : '') && (has(a.roleRef) ? a.roleRef.name : '') == (has(b.roleRef) ? b.roleRef.name : '') && (has(a.user) ? a.user : '') == (has(b.user) ? b.user : '')))",message="a role or user may be listed only once"
	PermissionOverwrites []PermissionOverwrite `json:"permissionOverwrites,omitzero"`

	// webhook configures a webhook and a Secret with its URL. Removing it deletes
	// both. If it is not set, webhooks are not managed. Not for a Forum or Media
	// channel: Discord refuses messages without a post there, such as
	// Alertmanager's.
	// +optional
	Webhook *ChannelWebhook `json:"webhook,omitempty"`

	// adopt names an existing channel to manage instead of creating one. It cannot
	// be changed. In a server of another namespace, it needs the server's
	// spec.allowAdoption.
	// +optional
	Adopt *Adoption `json:"adopt,omitempty"`

	// deletionPolicy defines what happens to the channel and its messages on
	// Discord when this object is deleted: Delete or Retain. If it is not set, a
	// channel that the operator created is deleted; an adopted one is retained
	// without the operator's webhook.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// managementPolicy is Manage or Observe. Manage makes the channel match the
	// spec. Observe writes nothing on Discord, not even when the object is
	// deleted, and status.differences lists what Manage would change. It writes no
	// webhook and no Secret either. Defaults to Manage.
	// +optional
	// +default="Manage"
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`
}

// LocalSecretReference names a Secret in the same namespace.
type LocalSecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// WebhookStatus is the observed state of a channel's webhook.
type WebhookStatus struct {
	// id of the webhook on Discord.
	// +required
	// +kubebuilder:validation:MaxLength=20
	ID string `json:"id"`

	// secretRef names the Secret with the webhook's URL under the key "url". Empty
	// until it is written.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`
}

// ForumTagStatus is a tag on Discord.
type ForumTagStatus struct {
	// name of the tag.
	// +required
	// +kubebuilder:validation:MaxLength=50
	Name string `json:"name"`

	// id of the tag on Discord.
	// +required
	// +kubebuilder:validation:MaxLength=20
	ID string `json:"id"`
}

// DiscordChannelStatus is the observed state of a channel.
type DiscordChannelStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status
	// describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions describe the channel's state: Available (it exists on Discord),
	// Progressing (the operator is working towards the spec), Degraded (a user
	// must act; the message says how) and Ready (the object matches its spec).
	// Degraded and Progressing are never True together. Verified=False exists only
	// while Discord cannot be asked about an object that was Ready. At most 16.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// channelId is the id of the channel on Discord. Empty until it exists.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ChannelID string `json:"channelId,omitempty"`

	// matched reports that the channel is the only match of an interrupted create,
	// but the audit log does not show its creator. It may be another user's, so it
	// is retained when the object is deleted. Name it in spec.adopt to apply the
	// deletion policy.
	// +optional
	Matched bool `json:"matched,omitempty"`

	// adopted reports that spec.adopt bound an existing channel, which the
	// operator did not create for this object.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// observed reports that the operator only observes the channel, so another
	// object may manage it. That other object keeps the channel if managementPolicy
	// of this object becomes Manage again.
	// +optional
	Observed bool `json:"observed,omitempty"`

	// channelURL is the address of the channel in Discord, at most 2048
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ChannelURL string `json:"channelURL,omitempty"`

	// serverRef names the DiscordServer of the channel, even if the spec names a
	// group.
	// +optional
	ServerRef *ServerReference `json:"serverRef,omitempty"`

	// serverId is the id of the channel's server.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ServerID string `json:"serverId,omitempty"`

	// groupId is the id of the channel's category. Empty without one.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	GroupID string `json:"groupId,omitempty"`

	// openTo lists who may view the channel but not its group: "@everyone", or
	// roles (role "Dev") and users (user 80351110224678912). Overwrites in the
	// spec replace the group's, so a channel with overwrites is open unless they
	// close it. A channel that is moved into a private group keeps its overwrites,
	// and so stays open. To close it, deny ViewChannel in
	// spec.permissionOverwrites, or synchronize the channel with its category on
	// Discord. At most 32 lines of at most 256 characters; the last line counts
	// the rest. The list may be a few minutes old.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	OpenTo []string `json:"openTo,omitempty"`

	// tags lists the tags of spec.forum.tags with their ids, in the same order, at
	// most 20. The list is updated once Discord has all tags. The operator renames
	// a tag by its id, so that the tag keeps its posts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Tags []ForumTagStatus `json:"tags,omitempty"`

	// roles lists the roles to which names in spec.permissionOverwrites were
	// resolved, at most 100. A name keeps its role until it is removed from the
	// spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Roles []ResolvedRole `json:"roles,omitempty"`

	// webhook describes the webhook of spec.webhook. Empty until it exists.
	// +optional
	Webhook *WebhookStatus `json:"webhook,omitempty"`

	// differences lists the changes that spec.managementPolicy Observe holds back
	// on Discord: at most 64 lines of at most 256 characters, such as
	// `topic: "old" -> "new"`, `create` or `move`. The last line counts the rest.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Differences []string `json:"differences,omitempty"`
}

// DiscordChannel is a channel of a Discord server, with or without a group,
// and optionally with a webhook.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=discordchannels,singular=discordchannel,shortName=dch,categories=discord
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the object matches its spec"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the condition Ready"
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.channelId`,description="Id of the channel on Discord"
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.status.serverRef.name`,description="DiscordServer that the channel is in"
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.groupRef.name`,description="DiscordGroup that the channel is in"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.channelURL`,priority=1,description="Address of the channel in Discord"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="Message of the condition Ready"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.adopt) || has(oldSelf.spec.adopt) || !has(oldSelf.status) || !has(oldSelf.status.channelId) || self.spec.adopt.id == oldSelf.status.channelId",message="spec.adopt.id must be the id in status.channelId, because this object already has that channel"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.webhook) || has(self.spec.webhook.secretName) || size(self.metadata.name) <= 245",message="metadata.name is too long for a Secret with the suffix \"-webhook\": set spec.webhook.secretName"
type DiscordChannel struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state. A topic has at most 1024 characters, in a Forum
	// or Media channel 4096.
	// +required
	Spec DiscordChannelSpec `json:"spec"`

	// status is the observed state. Only the operator writes it. Before its first
	// write, observedGeneration is -1, so that kstatus, and with it Flux and Helm,
	// does not report the object as current.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status DiscordChannelStatus `json:"status,omitempty"`
}

// WebhookSecretName returns the name of the Secret with the webhook's URL.
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

// GetManagementPolicy returns the managementPolicy of the spec.
func (c *DiscordChannel) GetManagementPolicy() ManagementPolicy { return c.Spec.ManagementPolicy }

// GetDifferences returns the differences of the status.
func (c *DiscordChannel) GetDifferences() []string { return c.Status.Differences }

// GetRoles returns the resolved roles of the status.
func (c *DiscordChannel) GetRoles() []ResolvedRole { return c.Status.Roles }

// SetRoles sets the resolved roles of the status.
func (c *DiscordChannel) SetRoles(now []ResolvedRole) { c.Status.Roles = now }

// DiscordChannelList is a list of DiscordChannels.
// +kubebuilder:object:root=true
type DiscordChannelList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DiscordChannel `json:"items"`
}
