// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ChannelType is the kind of a channel.
//
// +kubebuilder:validation:Enum=Text;Announcement;Voice;Stage;Forum;Media
type ChannelType string

const (
	// ChannelTypeText is an ordinary channel for messages.
	ChannelTypeText ChannelType = "Text"
	// ChannelTypeAnnouncement is a channel that other servers can follow. Discord
	// allows it in community servers only.
	ChannelTypeAnnouncement ChannelType = "Announcement"
	// ChannelTypeVoice is a channel in which members talk.
	ChannelTypeVoice ChannelType = "Voice"
	// ChannelTypeStage is a channel in which few talk and many listen. Discord
	// allows it in community servers only.
	ChannelTypeStage ChannelType = "Stage"
	// ChannelTypeForum is a channel of posts, each with a thread of its own. Discord
	// allows it in community servers only.
	ChannelTypeForum ChannelType = "Forum"
	// ChannelTypeMedia is a forum that shows the pictures and videos of its posts.
	// Discord allows it in community servers only.
	ChannelTypeMedia ChannelType = "Media"
)

// VideoQuality is the quality of the members' cameras.
//
// +kubebuilder:validation:Enum=Auto;Full
type VideoQuality string

const (
	// VideoQualityAuto lets Discord choose the quality.
	VideoQualityAuto VideoQuality = "Auto"
	// VideoQualityFull is 720p.
	VideoQualityFull VideoQuality = "Full"
)

// ChannelVoice are the settings of a Voice or Stage channel. What is not set is
// not managed.
type ChannelVoice struct {
	// bitrate of the sound, in bits per second, from 8000. Discord allows 96000 in
	// a Voice channel, more in a server with boosts (128000, 256000 and 384000 from
	// level 1, 2 and 3 on), and 64000 in a Stage channel. Source:
	// https://docs.discord.com/developers/resources/channel#modify-channel.
	//
	// +optional
	// +kubebuilder:validation:Minimum=8000
	// +kubebuilder:validation:Maximum=384000
	Bitrate *int32 `json:"bitrate,omitempty"`

	// userLimit is how many members may be connected at the same time: up to 99 in
	// a Voice channel, up to 10000 in a Stage channel; 0 for any number.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	UserLimit *int32 `json:"userLimit,omitempty"`

	// region is the id of the voice region through which members are connected,
	// such as "rotterdam" or "us-east", at most 32 characters; "" lets Discord
	// choose. Discord changes the list of regions now and then, and refuses others.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]+(-[a-z0-9]+)*)?$')",message="must be the id of a voice region, such as rotterdam or us-east, or empty to let Discord choose"
	Region *string `json:"region,omitempty"`

	// videoQuality is the quality of the members' cameras: Auto, which lets Discord
	// choose, or Full, which is 720p.
	//
	// +optional
	VideoQuality VideoQuality `json:"videoQuality,omitempty"`
}

// Emoji is a Unicode emoji, such as "🔥", or the id of an emoji of the server, in
// quotes; "" is none.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([1-9][0-9]{5,19}|\S*[^\x00-\x7f]\S*)?$')`,message="must be a Unicode emoji, or the id of an emoji of the server: 6 to 20 digits, in quotes"
type Emoji string

// ForumTag is a tag that posts may have.
type ForumTag struct {
	// name of the tag, 1 to 20 characters.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.trim() == self",message="must not begin or end with white space, which Discord removes"
	Name string `json:"name"`

	// emoji that stands before the name, at most 32 characters. None if it is not
	// set.
	//
	// +optional
	Emoji Emoji `json:"emoji,omitempty"`

	// moderated says that only members with the permission ManageThreads may give a
	// post the tag, or take it. Default false.
	//
	// +optional
	Moderated bool `json:"moderated,omitempty"`
}

// SortOrder is the order in which posts are shown at first.
//
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

// ForumLayout is how posts are shown at first.
//
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

// ChannelForum are the settings of a Forum or Media channel. What is not set is
// not managed.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requireTag) || !self.requireTag || !has(self.tags) || self.tags.exists(t, !has(t.moderated) || !t.moderated)",message="requireTag needs a tag that every member may use: one that is not moderated"
type ChannelForum struct {
	// tags are all tags that posts may have, at most 20, in the order in which they
	// are shown; others on Discord are removed, and posts lose them. An empty list
	// removes all. No two may have the same name.
	//
	// A tag keeps its posts, by its id, while its name stays. If as many names are
	// new in the list as have gone from it, these tags are renamed, in their order;
	// otherwise the new ones are new, and the others are deleted. So rename tags in
	// one change, and add or remove tags in another. See status.tags.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name.lowerAscii() == b.name.lowerAscii()))",message="no two tags may have the same name"
	Tags []ForumTag `json:"tags,omitzero"`

	// requireTag says that each post needs a tag. That needs one that is not
	// moderated.
	//
	// +optional
	RequireTag *bool `json:"requireTag,omitempty"`

	// defaultReaction is the emoji that members are offered for a reaction to a
	// post, at most 32 characters; "" is none.
	//
	// +optional
	DefaultReaction *Emoji `json:"defaultReaction,omitempty"`

	// sortOrder is the order in which posts are shown at first: LatestActivity,
	// CreationDate, or NotSet, which leaves it to Discord.
	//
	// +optional
	SortOrder SortOrder `json:"sortOrder,omitempty"`

	// layout is how the posts of a Forum channel are shown at first: as a List, as a
	// Gallery, or NotSet, which leaves it to Discord.
	//
	// +optional
	Layout ForumLayout `json:"layout,omitempty"`

	// threadSlowmode is the time that a member must wait between two messages in a
	// new post, in whole seconds from 0s (off) to 6h. The time between two posts is
	// spec.slowmode.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') && self != ''",message="must be a duration in whole seconds, such as 30s or 1h30m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') || self == '' || duration(self) <= duration('6h')",message="must be at most 6h"
	ThreadSlowmode *metav1.Duration `json:"threadSlowmode,omitempty"`

	// hideMediaDownload hides the buttons with which members download the pictures
	// and videos of a Media channel.
	//
	// +optional
	HideMediaDownload *bool `json:"hideMediaDownload,omitempty"`
}

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

// DiscordChannelSpec is the desired state of a channel.
//
// +kubebuilder:validation:XValidation:rule="has(self.groupRef) != has(self.serverRef)",message="name either the groupRef or, for a channel outside of any group, the serverRef"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.adopt) || (has(self.adopt) && self.adopt.id == oldSelf.adopt.id)",message="adopt cannot be changed or removed once it is set: create a new object"
// +kubebuilder:validation:XValidation:rule="(has(self.type) ? self.type : 'Text') == (has(oldSelf.type) ? oldSelf.type : 'Text') || (has(self.type) ? self.type : 'Text') in ['Text', 'Announcement'] && (has(oldSelf.type) ? oldSelf.type : 'Text') in ['Text', 'Announcement']",message="type cannot be changed, but from Text to Announcement and back, since Discord cannot convert the channel: create a new object",fieldPath=".type"
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
	// here; the message proposes one. Of a Voice or Stage channel it is any text
	// without white space around it. Discord allows two changes of name or topic
	// in ten minutes; a third is delayed with the reason RateLimited.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`

	// type is Text, Announcement, Voice, Stage, Forum or Media. Discord allows
	// Announcement, Stage, Forum and Media in community servers only, and converts
	// Text to Announcement and back, but nothing else, so other changes of the type
	// are refused. If it is not set, a new channel is a Text channel, and an adopted
	// one is a Text or Announcement channel and keeps its type.
	//
	// +optional
	Type ChannelType `json:"type,omitempty"`

	// topic is shown above the messages, up to 1024 characters; in a Forum or Media
	// channel it is the guidelines for posts, up to 4096 characters. "" clears it. A
	// Voice or Stage channel has none. If it is not set, it is not managed. See
	// name for how often it can change.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.trim() == self",message="must not begin or end with white space, which Discord removes"
	Topic *string `json:"topic,omitempty"`

	// nsfw marks the channel as not safe for work: members must be of age. If it
	// is not set, it is not managed.
	//
	// +optional
	NSFW *bool `json:"nsfw,omitempty"`

	// slowmode is the time that a member must wait between two messages, in a
	// Forum or Media channel between two posts, in whole seconds from 0s (off)
	// to 6h, such as "30s" or "1h30m". If it is not set, it is not managed.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') && self != ''",message="must be a duration in whole seconds, such as 30s or 1h30m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') || self == '' || duration(self) <= duration('6h')",message="must be at most 6h"
	Slowmode *metav1.Duration `json:"slowmode,omitempty"`

	// defaultAutoArchive is the default for new threads: OneHour, OneDay,
	// ThreeDays or OneWeek without a message until they are hidden. A Voice or Stage
	// channel has no threads. If it is not set, it is not managed.
	//
	// +optional
	DefaultAutoArchive AutoArchive `json:"defaultAutoArchive,omitempty"`

	// voice has the settings of a Voice or Stage channel. Only such a channel has
	// them.
	//
	// +optional
	Voice *ChannelVoice `json:"voice,omitempty"`

	// forum has the settings of a Forum or Media channel. Only such a channel has
	// them.
	//
	// +optional
	Forum *ChannelForum `json:"forum,omitempty"`

	// position orders the channels of a group (or those outside of any) that have
	// one, in ascending order. Only the order of the numbers counts; channels with
	// equal numbers are in any order. Discord shows Voice and Stage channels below
	// all others. Channels of different namespaces are not ordered among each other.
	// If it is not set, the channel keeps its place.
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
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(a.role) ? a.role : '') == (has(b.role) ? b.role : '') && (has(a.roleRef) ? a.roleRef.name : '') == (has(b.roleRef) ? b.roleRef.name : '') && (has(a.user) ? a.user : '') == (has(b.user) ? b.user : '')))",message="a role or user may be listed only once"
	PermissionOverwrites []PermissionOverwrite `json:"permissionOverwrites,omitzero"`

	// webhook configures a webhook and a Secret with its URL. Both are deleted
	// when it is removed. If it is not set, webhooks are not managed. A Forum or
	// Media channel cannot have one here: Discord refuses every message to it that
	// names no post, as those of Alertmanager.
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

	// managementPolicy defines what the operator does on Discord for this object:
	// Manage makes the channel match the spec. Observe writes nothing there, also
	// not when the object is deleted, and status.differences lists what Manage
	// would change. No webhook, and no Secret, is written either. Defaults to Manage.
	//
	// +optional
	// +default="Manage"
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`
}

// LocalSecretReference names a Secret in the same namespace.
type LocalSecretReference struct {
	// name of the Secret.
	//
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// WebhookStatus is the observed state of a channel's webhook.
type WebhookStatus struct {
	// id of the webhook on Discord.
	//
	// +required
	// +kubebuilder:validation:MaxLength=20
	ID string `json:"id"`

	// secretRef names the Secret that holds the webhook's URL under the key "url".
	// Empty until it is written.
	//
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`
}

// ForumTagStatus is a tag as Discord has it.
type ForumTagStatus struct {
	// name of the tag.
	//
	// +required
	// +kubebuilder:validation:MaxLength=50
	Name string `json:"name"`

	// id of the tag on Discord.
	//
	// +required
	// +kubebuilder:validation:MaxLength=20
	ID string `json:"id"`
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
	// was Ready: False since then. At most 16.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// channelId is the id of the channel on Discord. Empty until it exists.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ChannelID string `json:"channelId,omitempty"`

	// matched says that the channel was bound because it alone matches an interrupted
	// create, and that the audit log does not show who created it. It may be another
	// user's, so it is retained when the object is deleted. Name it in spec.adopt to
	// have the deletion policy apply.
	//
	// +optional
	Matched bool `json:"matched,omitempty"`

	// adopted says that the channel was there before and that spec.adopt bound it: the
	// operator did not create it for this object.
	//
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// channelURL is the address of the channel in Discord, at most 2048 characters.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ChannelURL string `json:"channelURL,omitempty"`

	// serverRef names the DiscordServer that the channel is in, also where the
	// spec names a group.
	//
	// +optional
	ServerRef *ServerReference `json:"serverRef,omitempty"`

	// serverId is the id of the server that the channel is in.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ServerID string `json:"serverId,omitempty"`

	// groupId is the id of the category that the channel is in. Empty for none.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=20
	GroupID string `json:"groupId,omitempty"`

	// openTo lists who may view the channel and not its group, where
	// spec.permissionOverwrites is not set: "@everyone", or roles (role "Dev") and users
	// (user 80351110224678912). A channel that is moved into a private group keeps its
	// overwrites, and so stays open. Set spec.permissionOverwrites, or synchronize the
	// channel with its category on Discord, to close it. At most 32 lines of at most 256
	// characters; of more, the last one has their number. It may be a few minutes old.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	OpenTo []string `json:"openTo,omitempty"`

	// tags are those of spec.forum.tags as Discord last had all of them, in the same
	// order. By their ids, tags keep their posts when they are renamed. At most 20.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Tags []ForumTagStatus `json:"tags,omitempty"`

	// roles are the roles that the names in spec.permissionOverwrites stand for. Each
	// name is resolved once and keeps its role until it is removed from the spec. At
	// most 100.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Roles []ResolvedRole `json:"roles,omitempty"`

	// webhook is the webhook of spec.webhook. Empty until it exists.
	//
	// +optional
	Webhook *WebhookStatus `json:"webhook,omitempty"`

	// differences are what the operator would change on Discord, where
	// spec.managementPolicy is Observe: at most 64 lines of at most 256 characters,
	// such as `topic: "old" -> "new"`, `create` or `move`. Where there are more, the
	// last one has their number.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Differences []string `json:"differences,omitempty"`
}

// DiscordChannel is a channel of a Discord server, in a group or outside of any,
// optionally with a webhook.
//
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
// +kubebuilder:validation:XValidation:rule="!has(self.spec.adopt) || has(oldSelf.spec.adopt) || !has(oldSelf.status) || !has(oldSelf.status.channelId) || self.spec.adopt.id == oldSelf.status.channelId",message="spec.adopt cannot be another channel than the one that this object has already, see status.channelId"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.webhook) || has(self.spec.webhook.secretName) || size(self.metadata.name) <= 245",message="metadata.name is too long for a Secret with the suffix \"-webhook\": set spec.webhook.secretName"
type DiscordChannel struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state. The topic of a channel has at most 1024 characters,
	// but in a Forum or Media channel 4096.
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

// GetManagementPolicy returns the managementPolicy of the spec.
func (c *DiscordChannel) GetManagementPolicy() ManagementPolicy { return c.Spec.ManagementPolicy }

// GetDifferences returns the differences of the status.
func (c *DiscordChannel) GetDifferences() []string { return c.Status.Differences }

// GetRoles returns the roles that the names in the spec stand for.
func (c *DiscordChannel) GetRoles() []ResolvedRole { return c.Status.Roles }

// SetRoles sets the roles that the names in the spec stand for.
func (c *DiscordChannel) SetRoles(now []ResolvedRole) { c.Status.Roles = now }

// DiscordChannelList is a list of DiscordChannels.
//
// +kubebuilder:object:root=true
type DiscordChannelList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DiscordChannel `json:"items"`
}
