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
	// bitrate of the sound, in bits per second, 8000 or more. Discord allows at
	// most 96000 in a Voice channel, or 128000, 256000 or 384000 if boosts have
	// raised the server to level 1, 2 or 3. It allows at most 64000 in a Stage
	// channel. Source:
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
	// Discord accepts only the ids in its list of regions, and changes this list
	// now and then.
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
// in quotes. "" means no emoji.
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
	// tags lists all tags for posts in display order, at most 20. The operator
	// removes all other tags on Discord, and posts lose these tags. If the list is
	// empty, the operator removes all tags. Each name must be unique; the letters
	// A to Z equal a to z.
	//
	// While the name of a tag stays in the list, the tag keeps its id and its
	// posts. If a change of the list adds as many names as it removes, the
	// operator renames the removed tags to the new names, in their order, and the
	// tags keep their posts. Otherwise it creates a tag for each new name, and
	// deletes each removed tag, which posts then lose. So rename tags in one
	// change, and add or remove tags in another change. See status.tags.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name.lowerAscii() == b.name.lowerAscii()))",message="no two tags may have the same name"
	Tags []ForumTag `json:"tags,omitzero"`

	// requireTag requires a tag for each post. If tags is set, at least one of
	// these tags must have moderated: false, so that every member can use it.
	// +optional
	RequireTag *bool `json:"requireTag,omitempty"`

	// defaultReaction is the emoji that Discord offers as a reaction to a post, at
	// most 32 characters. "" means no emoji.
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
// Discord supports only OneHour, OneDay, ThreeDays and OneWeek.
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

// WebhookSecretKey is the key under which the Secret of a channel's webhook has
// the URL.
const WebhookSecretKey = "url"

// ChannelWebhook configures a webhook, by which other programs post to the
// channel.
type ChannelWebhook struct {
	// name shown with the webhook's messages, 1 to 80 characters. Discord refuses
	// a name that contains "discord" or "clyde".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.trim() == self && self != ''",message="must not begin or end with white space, which Discord removes"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'\s\s')`,message="must not have two white spaces in a row: Discord removes one"
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().contains('discord') && !self.lowerAscii().contains('clyde')",message="must contain neither \"discord\" nor \"clyde\", which Discord refuses"
	Name string `json:"name"`

	// secretName is the name of the Secret to which the operator writes the
	// webhook's URL, under the key "url". The DiscordChannel owns the Secret: both
	// are in one namespace, and Kubernetes deletes the Secret with the
	// DiscordChannel. Anyone who knows the URL can post. If a Secret of this name
	// exists and the DiscordChannel does not own it, the operator does not change
	// the Secret, and the DiscordChannel is Degraded with the reason NameConflict.
	// Defaults to the name of the DiscordChannel with the suffix "-webhook".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a Secret: lower case letters, digits, '-' and '.', with a letter or digit at both ends and beside every '.'"
	SecretName string `json:"secretName,omitempty"`
}

// DiscordChannelSpec is the desired state of a channel.
// +kubebuilder:validation:XValidation:rule="has(self.groupRef) != has(self.serverRef)",message="name either the groupRef or, for a channel outside of any group, the serverRef"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.adopt) || (has(self.adopt) && self.adopt.id == oldSelf.adopt.id)",message="adopt cannot be changed or removed once it is set: create a new object"
// +kubebuilder:validation:XValidation:rule="(has(self.type) ? self.type : 'Text') == (has(oldSelf.type) ? oldSelf.type : 'Text') || (has(self.type) ? self.type : 'Text') in ['Text', 'Announcement'] && (has(oldSelf.type) ? oldSelf.type : 'Text') in ['Text', 'Announcement']",message="type can change only between Text and Announcement, because Discord does not convert other channels: create a new object",fieldPath=".type"
// +kubebuilder:validation:XValidation:rule="!has(self.voice) || has(self.type) && self.type in ['Voice', 'Stage']",message="voice is for channels of the type Voice or Stage",fieldPath=".voice"
// +kubebuilder:validation:XValidation:rule="!has(self.voice) || !has(self.voice.userLimit) || self.voice.userLimit <= 99 || has(self.type) && self.type == 'Stage'",message="voice.userLimit is at most 99 in a Voice channel; 0 is no limit",fieldPath=".voice.userLimit"
// +kubebuilder:validation:XValidation:rule="!has(self.voice) || !has(self.voice.bitrate) || self.voice.bitrate <= 64000 || has(self.type) && self.type == 'Voice'",message="voice.bitrate is at most 64000 in a Stage channel",fieldPath=".voice.bitrate"
// +kubebuilder:validation:XValidation:rule="!has(self.topic) || !has(self.type) || !(self.type in ['Voice', 'Stage'])",message="topic is for channels of the type Text, Announcement, Forum or Media: a Voice or Stage channel has none",fieldPath=".topic"
// +kubebuilder:validation:XValidation:rule="!has(self.topic) || size(self.topic) <= 1024 || has(self.type) && self.type in ['Forum', 'Media']",message="topic has at most 1024 characters; in a channel of the type Forum or Media it has at most 4096",fieldPath=".topic"
// +kubebuilder:validation:XValidation:rule="!has(self.defaultAutoArchive) || !has(self.type) || !(self.type in ['Voice', 'Stage'])",message="defaultAutoArchive is for channels of the type Text, Announcement, Forum or Media: a Voice or Stage channel has no threads",fieldPath=".defaultAutoArchive"
// +kubebuilder:validation:XValidation:rule="!has(self.forum) || has(self.type) && self.type in ['Forum', 'Media']",message="forum is for channels of the type Forum or Media",fieldPath=".forum"
// +kubebuilder:validation:XValidation:rule="!has(self.forum) || !has(self.forum.layout) || self.type == 'Forum'",message="forum.layout is for channels of the type Forum: a Media channel is always a gallery",fieldPath=".forum.layout"
// +kubebuilder:validation:XValidation:rule="!has(self.forum) || !has(self.forum.hideMediaDownload) || self.type == 'Media'",message="forum.hideMediaDownload is for channels of the type Media",fieldPath=".forum.hideMediaDownload"
// +kubebuilder:validation:XValidation:rule="!has(self.webhook) || !has(self.type) || !(self.type in ['Forum', 'Media'])",message="webhook is for channels of the type Text, Announcement, Voice or Stage: in a Forum or Media channel, Discord refuses messages that do not name a post, such as the messages of Alertmanager",fieldPath=".webhook"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !(self.type in ['Voice', 'Stage']) || self.name.trim() == self.name",message="must not begin or end with white space, which Discord removes",fieldPath=".name"
// +kubebuilder:validation:XValidation:rule=`has(self.type) && self.type in ['Voice', 'Stage'] || !self.name.matches(r'[\s\p{Z}\p{Cc}~A-Z!-,./:-@\[-^\x60{-}]|^-|--')`,messageExpression=`'Discord would store another name than this; write ' + (self.name.matches(r'[^\s\p{Z}\p{Cc}!-/:-@\[-^\x60{-~]') && !self.name.lowerAscii().matches(r'[\p{Lu}\p{Lt}\x{2160}-\x{216f}\x{24b6}-\x{24cf}\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|[^\P{Z} \x{a0}\x{3000}]') ? '"' + self.name.lowerAscii().replace('-', ' ').replace('~', ' ').replace('\t', ' ').replace('\n', ' ').replace('\r', ' ').replace('\u00a0', ' ').replace('\u3000', ' ').replace('!', "").replace('"', "").replace('#', "").replace('$', "").replace('%', "").replace('&', "").replace("'", "").replace('(', "").replace(')', "").replace('*', "").replace('+', "").replace(',', "").replace('.', "").replace('/', "").replace(':', "").replace(';', "").replace('<', "").replace('=', "").replace('>', "").replace('?', "").replace('@', "").replace('[', "").replace('\\', "").replace(']', "").replace('^', "").replace('\x60', "").replace('{', "").replace('|', "").replace('}', "").replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').replace('  ', ' ').trim().replace(' ', '-') + '"' : 'lower case letters and digits, with "-" and "_" between them')`,message="Discord would store another name: write lower case letters, digits, '-' and '_', without white space",fieldPath=".name"
// +kubebuilder:validation:XValidation:rule=`has(self.type) && self.type in ['Voice', 'Stage'] || !self.name.matches(r'[^\P{Lu}A-Z\x{3d2}-\x{3d4}\x{2100}-\x{2125}\x{2127}-\x{2129}\x{212c}-\x{2131}\x{2133}-\x{214f}\x{1d400}-\x{1d7ff}]|[\p{Lt}\x{2160}-\x{216f}\x{24b6}-\x{24cf}]')`,message="must be lower case, since Discord stores it so",fieldPath=".name"
type DiscordChannelSpec struct {
	// groupRef names the DiscordGroup of the channel. If you name another group of
	// the same server, the channel moves to this group. If you name a group of
	// another server, the object is Degraded with the reason ServerMismatch,
	// because Discord cannot move a channel to another server.
	// +optional
	GroupRef *GroupReference `json:"groupRef,omitempty"`

	// serverRef names the DiscordServer of a channel without a group. The operator
	// moves the channel out of any category on Discord. serverRef cannot be
	// changed. To move the channel into a group, replace serverRef by groupRef.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef cannot be changed: Discord cannot move a channel to another server"
	ServerRef *ServerReference `json:"serverRef,omitempty"`

	// name of the channel as Discord stores it, 1 to 100 characters: lower case,
	// no white space, no punctuation except '-' and '_', no two '-' in a row, and
	// no '-' at the start. Discord would silently change any other name, so the
	// API server refuses such a name, and usually proposes another name. The name
	// of a Voice or Stage channel can be any text that does not begin or end with
	// white space. Discord allows only two changes of name or topic in ten
	// minutes. It delays a third change: the reason is then RateLimited.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`

	// type is Text, Announcement, Voice, Stage, Forum or Media. Announcement,
	// Stage, Forum and Media are for community servers only. Discord converts only
	// Text to Announcement and back, so the API server refuses other changes. If
	// it is not set, a new channel is a Text channel, and an existing Text or
	// Announcement channel keeps its type.
	// +optional
	Type ChannelType `json:"type,omitempty"`

	// topic is shown above the messages, up to 1024 characters. In a Forum or
	// Media channel it contains the guidelines for posts, up to 4096 characters.
	// "" removes it. A Voice or Stage channel has no topic. Discord limits changes
	// of the topic: see name. If it is not set, it is not managed.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.trim() == self",message="must not begin or end with white space, which Discord removes"
	Topic *string `json:"topic,omitempty"`

	// nsfw marks the channel as not safe for work, so that Discord shows it only
	// to adults. If it is not set, it is not managed.
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

	// voice has the settings of a Voice or Stage channel. It is not allowed for
	// other types.
	// +optional
	Voice *ChannelVoice `json:"voice,omitempty"`

	// forum has the settings of a Forum or Media channel. It is not allowed for
	// other types.
	// +optional
	Forum *ChannelForum `json:"forum,omitempty"`

	// position defines the order of the channels in a group (or of the channels
	// without a group), in ascending order from the top. Only the order of the
	// numbers counts. Channels with equal numbers are in any order. Discord shows
	// Voice and Stage channels below all others. The operator orders a channel
	// only relative to channels of its namespace that are neither paused nor
	// observed. If position is not set, the channel keeps its place.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Position *int32 `json:"position,omitempty"`

	// permissionOverwrites lists all overwrites of the channel, at most 100. The
	// operator removes all other overwrites from the channel. If the list is
	// empty, the operator removes all overwrites. If the list is not set, the
	// overwrites are not managed, and a new channel gets the overwrites of its
	// group. The operator creates a channel together with its overwrites, so a
	// private channel is private from the start. If the overwrites would deny the
	// bot a permission that it needs in the channel, the operator adds or changes
	// the overwrite of the bot.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (has(a.role) ? a.role : '') == (has(b.role) ? b.role : '') && (has(a.roleRef) ? a.roleRef.name : '') == (has(b.roleRef) ? b.roleRef.name : '') && (has(a.user) ? a.user : '') == (has(b.user) ? b.user : '')))",message="a role or user may be listed only once"
	PermissionOverwrites []PermissionOverwrite `json:"permissionOverwrites,omitzero"`

	// webhook configures a webhook of the channel, and a Secret with the webhook's
	// URL. If you remove this field, the operator deletes the Secret, and the
	// webhook if it is not older than the DiscordChannel. While the field is not
	// set, webhooks are not managed. The field is not allowed for a Forum or Media
	// channel: there, Discord refuses messages that do not belong to a post, such
	// as the messages of Alertmanager.
	// +optional
	Webhook *ChannelWebhook `json:"webhook,omitempty"`

	// adopt names an existing channel on Discord. The operator then manages this
	// channel instead of creating one. Once set, adopt cannot be changed or
	// removed. If the DiscordServer is in another namespace, its
	// spec.allowAdoption must be true.
	// +optional
	Adopt *Adoption `json:"adopt,omitempty"`

	// deletionPolicy defines what happens to the channel and its messages on
	// Discord when this object is deleted: Delete or Retain. Defaults to Retain
	// for the channel that spec.adopt names, and to Delete for any other channel.
	// If deletionPolicy is not set, the operator deletes the webhook that it has
	// created in a retained channel. If you set Retain, the webhook stays, too. If
	// the DiscordServer is in another namespace, Retain needs its
	// spec.allowRetention, except for an adopted channel.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// managementPolicy is Manage or Observe. Manage makes the channel match the
	// spec. With Observe, the operator does not change the channel, its webhook or
	// the Secret; status.differences lists the changes that Manage would make. When
	// the object is deleted, the channel and the webhook stay. There is an
	// exception: if the DiscordServer is in another namespace and does not set
	// spec.allowRetention, only an adopted channel may stay. The deletion of any
	// other DiscordChannel waits until managementPolicy is Manage or allowRetention
	// is set. Defaults to Manage.
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
	// until the Secret is written.
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

	// conditions describe the channel's state: Available (it exists on Discord,
	// and the bot may view it), Progressing (the operator is working towards the
	// spec), Degraded (a user must act; the message says how) and Ready (the
	// object matches its spec; with managementPolicy Observe, Discord may differ
	// from the spec). Degraded and Progressing are never True together. Verified
	// exists only as False: while the operator cannot check on Discord whether an
	// object that was Ready still matches its spec, or cannot delete the object's
	// resource there. Paused exists only while the object is paused, and InSync
	// only with managementPolicy Observe. At most 16 conditions.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// channelId is the id of the channel on Discord. Empty until the channel
	// exists.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	ChannelID string `json:"channelId,omitempty"`

	// matched is true if the operator found the channel without proof that it has
	// created the channel: a request to create it was interrupted, exactly one
	// channel on Discord matches the request, and the audit log does not show the
	// creator of this channel. Because another user may have created it, the
	// operator retains the channel when the object is deleted. To apply the
	// deletion policy to the channel, set spec.adopt to its id.
	// +optional
	Matched bool `json:"matched,omitempty"`

	// adopted is true if the object got its channel by spec.adopt. It is false if
	// the operator created the channel for another DiscordChannel, and neither that
	// DiscordChannel nor this one is in the namespace of the DiscordServer.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// observed is true while managementPolicy is Observe. In this time, another
	// object may begin to manage the channel. If managementPolicy of this object
	// then becomes Manage again, the other object continues to manage the channel.
	// observed stays true until this object manages the channel itself.
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

	// groupId is the id of the channel's category. Empty if the channel has no
	// category.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	GroupID string `json:"groupId,omitempty"`

	// openTo lists the roles, and the users with an overwrite, that may view the
	// channel but not its group, at most 32 lines of at most 256 characters:
	// "@everyone", or lines such as `role "Dev"` and `user 80351110224678912`. If
	// there are more, the last line has the number of the others. The list may be
	// a few minutes old. Usually one of two cases has opened a channel in a
	// private group. First, overwrites in the spec of the channel replace the
	// overwrites of the group, and do not deny ViewChannel. Second, a channel that
	// moves into the group keeps its own overwrites. To close the channel, deny
	// ViewChannel in spec.permissionOverwrites. If that list is not set, you can
	// instead synchronize the channel with its category on Discord.
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

	// roles lists the roles on Discord that the names in spec.permissionOverwrites
	// mean, at most 100. A name means the same role until the name is removed from
	// the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Roles []ResolvedRole `json:"roles,omitempty"`

	// webhook describes the webhook of spec.webhook. Empty until the webhook
	// exists.
	// +optional
	Webhook *WebhookStatus `json:"webhook,omitempty"`

	// differences lists the changes that the operator does not make on Discord
	// because spec.managementPolicy is Observe: at most 64 lines of at most 256
	// characters, such as `topic: "old" -> "new"`, `create` or
	// `move below "general"`. If there are more changes, the last line has the
	// number of the other changes.
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

	// spec is the desired state. A topic has at most 1024 characters, or at most
	// 4096 in a Forum or Media channel.
	// +required
	Spec DiscordChannelSpec `json:"spec"`

	// status is the observed state. Only the operator writes it. Until the
	// operator first writes it, observedGeneration is -1. So kstatus, a library
	// that Flux and Helm use, does not yet report the object as current.
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
