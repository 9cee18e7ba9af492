// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// TypeVerified is a condition that exists only as False: since its
// lastTransitionTime, the operator cannot check on Discord whether an object
// that was Ready still matches its spec. Unless its spec changes, the object
// stays Ready for the operator's --unverified-period (by default 5 minutes). On
// an object that is being deleted, the lastTransitionTime is the time at which
// the deletion on Discord first failed.
const TypeVerified = "Verified"

// TypePaused is a condition that exists only as True: PausedAnnotation pauses
// the object.
const TypePaused = "Paused"

// TypeInSync is a condition that exists only with spec.managementPolicy
// Observe. It is False while status.differences lists differences, and True if
// the object is Ready without differences. Otherwise it is Unknown, for example
// because the operator cannot observe Discord.
const TypeInSync = "InSync"

// The reasons of these kinds' conditions, beside conditions.ReasonReconciled and
// conditions.ReasonRetrying, which all kinds share.
const (
	// ReasonOnDiscord (Available=True): the object's resource exists on Discord.
	// For a DiscordServer, it means that the bot can manage the server, or that
	// the policy is Observe and the bot is a member.
	ReasonOnDiscord = "OnDiscord"
	// ReasonNotOnDiscord (Available=False): the object has no resource on Discord,
	// or the operator does not know yet whether it has one.
	ReasonNotOnDiscord = "NotOnDiscord"
	// ReasonNotManageable (Available=False): the bot cannot manage the object's
	// resource on Discord now. The condition Ready has the cause.
	ReasonNotManageable = "NotManageable"

	// ReasonWaitingForServer (Progressing): the DiscordServer does not exist, or
	// is not Available.
	ReasonWaitingForServer = "WaitingForServer"
	// ReasonWaitingForGroup (Progressing): the DiscordGroup does not exist, or has
	// no category on Discord that the bot may view.
	ReasonWaitingForGroup = "WaitingForGroup"
	// ReasonWaitingForChannel (Progressing): a DiscordChannel in the spec of a
	// server, such as spec.systemChannelRef, is being deleted or has no channel in
	// this server on Discord yet.
	ReasonWaitingForChannel = "WaitingForChannel"
	// ReasonWaitingForRole (Progressing): the DiscordRole of an overwrite's
	// roleRef does not exist, or has no role on Discord yet. Or an overwrite has
	// the name of a role that is less than a minute old: an object of another
	// namespace may have created this role.
	ReasonWaitingForRole = "WaitingForRole"
	// ReasonWaitingForDiscord (Progressing): usually, the server's state on
	// Discord is not known yet: neither Discord's Gateway nor its API has
	// responded, or an outage of Discord hides the server. Or the operator waits
	// until Discord lists an existing resource, or until a server that has just
	// become a community server accepts more settings.
	ReasonWaitingForDiscord = "WaitingForDiscord"
	// ReasonWaitingForDependents (Progressing): the object is being deleted, but
	// other objects still refer to it. The message names up to ten of these
	// objects. Until they no longer refer to it, the operator does not delete its
	// resource on Discord. Delete these objects too, or move their channels to
	// another group. To keep their resources on Discord, set deletionPolicy:
	// Retain before you delete them.
	ReasonWaitingForDependents = "WaitingForDependents"
	// ReasonRateLimited (Progressing): a limit on calls to Discord delays the next
	// call for this object. The message usually has the time of the next try.
	// Usually other objects are not delayed.
	ReasonRateLimited = "RateLimited"
	// ReasonCreatePending (Progressing): the operator may have sent a request to
	// create something on Discord, but does not know whether the request has
	// succeeded: the operator was stopped, or Discord's response was lost. Before
	// the operator sends the request again, it looks for the result, so that it
	// creates nothing twice.
	ReasonCreatePending = "CreatePending"
	// ReasonCreateUnproven (Degraded): a request to create the object's resource
	// on Discord may have succeeded, and a resource with its name may exist. The
	// object is in another namespace than its server, so only the audit log can
	// prove that the request has created this resource. But the bot may not view
	// the audit log. So the operator neither uses this resource nor creates
	// another. Change spec.name, or ask the owner of the server to give the bot
	// ViewAuditLog.
	ReasonCreateUnproven = "CreateUnproven"
	// ReasonPaused (Paused=True): the object has the annotation
	// discord.jutsu.com/paused. The condition Ready has this reason too: it is
	// True if the object matches its spec or is only observed, and False
	// (Progressing) if changes or an adoption are pending. While the object is
	// being deleted, the object is Degraded: until the annotation is removed,
	// nothing is deleted on Discord.
	ReasonPaused = "Paused"
	// ReasonObserved (Ready=True, InSync=True): spec.managementPolicy is Observe, and Discord
	// matches the spec.
	ReasonObserved = "Observed"
	// ReasonDifferencesFound (Ready=True, InSync=False): spec.managementPolicy is
	// Observe, and Discord differs from the spec (see status.differences). Ready
	// is True, because the object does what its policy asks. InSync shows that
	// there are differences.
	ReasonDifferencesFound = "DifferencesFound"
	// ReasonNamespaceTerminating (Progressing): the object is being deleted
	// together with its namespace.
	ReasonNamespaceTerminating = "NamespaceTerminating"

	// ReasonTokenNotFound (Degraded): the Secret of spec.tokenSecretRef does not exist or lacks the
	// key. Create the Secret with that key.
	ReasonTokenNotFound = "TokenNotFound"
	// ReasonAuthenticationFailed (Degraded): Discord refuses the bot's token, or
	// the value in the Secret does not have the form of a token. The operator
	// tries a refused token again when the Secret changes, and after one minute,
	// after ten minutes, and then every hour. Replace the token.
	ReasonAuthenticationFailed = "AuthenticationFailed"
	// ReasonBotNotInServer (Degraded): the bot is not a member of the server, or
	// the server does not exist. Add the bot at the address in status.inviteURL.
	ReasonBotNotInServer = "BotNotInServer"
	// ReasonTooManyServers (Degraded): the bot is in 2,500 servers or more.
	// Discord's Gateway, which sends events, then requires several connections,
	// but the operator uses only one per bot. So the operator finds changes on
	// Discord only every --resync-period (by default 5 minutes). Use another bot,
	// or remove this bot from other servers.
	ReasonTooManyServers = "TooManyServers"
	// ReasonMissingPermissions (Degraded): the bot lacks permissions. The message
	// names them, or has Discord's error. Give these permissions to a role of the
	// bot. If the message has a link, you can also invite the bot again by this
	// link. If permission overwrites of a channel deny these permissions to the
	// bot, change the overwrites.
	ReasonMissingPermissions = "MissingPermissions"
	// ReasonConflict (Degraded): another object manages the same server, channel,
	// category or role on Discord. The message names that object, or says that it
	// is in another namespace. Delete the Degraded object: this does not change
	// Discord. If you delete the other object instead, its deletionPolicy decides
	// about the resource. But if both objects are in the same namespace, or are
	// DiscordServers, the resource stays on Discord.
	ReasonConflict = "Conflict"
	// ReasonNotAllowed (Degraded): the object asks for something that the owner of
	// a server, of a group or of a bot's token has not allowed. The message names
	// the cause. There are four causes. First, the object refers to a server or
	// group of another namespace that does not exist, or that does not allow the
	// object's namespace. Second, the object may not adopt or retain something in
	// the server. Third, it has permissions that spec.allowedRoles does not list.
	// Fourth, the Secret with the bot's token is not for this server. The operator
	// creates and deletes nothing on Discord. Ask the owner to allow it, or change
	// the object.
	ReasonNotAllowed = "NotAllowed"
	// ReasonSelectorUnusable (Degraded): a selector of spec.allowedNamespaces or
	// spec.allowedRoles is invalid, or the operator does not read the labels of
	// Namespaces. The selector then selects no namespace. Correct the selector, or
	// use Same or All instead of Selector, or deploy the operator for all
	// namespaces with its kustomize component namespace-selectors.
	ReasonSelectorUnusable = "SelectorUnusable"
	// ReasonHiddenFromBot (Degraded): the channel or category exists on Discord,
	// but the bot may not view it. The operator creates nothing in its place. Give
	// the bot the permission ViewChannel there. The object then continues
	// automatically.
	ReasonHiddenFromBot = "HiddenFromBot"
	// ReasonAdoptNotFound (Degraded): the server has no channel, category or role
	// with the id of spec.adopt, or the bot may not view it.
	ReasonAdoptNotFound = "AdoptNotFound"
	// ReasonAdoptMismatch (Degraded): the object cannot manage the resource that
	// spec.adopt names: the resource is a channel of another type, @everyone, or
	// the role of a bot, of an integration or of the server's boosters.
	ReasonAdoptMismatch = "AdoptMismatch"
	// ReasonNothingToObserve (Degraded): spec.managementPolicy is Observe, but the
	// object has no resource on Discord. The operator does not create a resource.
	// Set the policy to Manage, or name an existing resource in spec.adopt. If
	// spec.adopt is set, or the object has had another resource, name the resource
	// in a new object instead. If exactly one resource has the object's name, and
	// spec.adopt may name it, the message has its id.
	ReasonNothingToObserve = "NothingToObserve"
	// ReasonServerMismatch (Degraded): the object's channel, category or role is
	// in one server on Discord, but the spec now refers to another server. Or a
	// roleRef names a DiscordRole of another server. Name a group or role of the
	// same server, or create a new object.
	ReasonServerMismatch = "ServerMismatch"
	// ReasonRoleNotFound (Degraded): the server has no role with the name or id in
	// a permission overwrite, or only roles that objects of other namespaces
	// manage. Once such a role exists, the object continues automatically. Or the
	// role that a name means (status.roles) was deleted on Discord: the name does
	// not mean another role instead. Name a role by its id or by roleRef, or
	// remove the overwrite with this name.
	ReasonRoleNotFound = "RoleNotFound"
	// ReasonAmbiguousRole (Degraded): several roles of the server have the name in
	// a permission overwrite, or two overwrites are for the same role. Name the
	// role by its id, or merge the two overwrites.
	ReasonAmbiguousRole = "AmbiguousRole"
	// ReasonRoleTooHigh (Degraded): the role is not below the bot's highest role,
	// so Discord does not let the bot change the role or its members. In the
	// settings of the server on Discord, under Roles, drag a role of the bot above
	// this role.
	ReasonRoleTooHigh = "RoleTooHigh"
	// ReasonMemberNotFound (Degraded): some users of spec.members are not in the
	// server. The message names these users. All other users of the list have the
	// role. Remove the missing users from the list, or invite them to the server.
	// The operator tries again automatically.
	ReasonMemberNotFound = "MemberNotFound"
	// ReasonLimitReached (Degraded): a limit of Discord is reached; the message
	// names the limit. Discord allows 500 channels and categories, 250 roles and
	// 50 categories in a server, 50 channels in a category, and 15 webhooks and
	// 100 permission overwrites in a channel (the bot may need one of these
	// overwrites). Once there is room, the object continues automatically.
	ReasonLimitReached = "LimitReached"
	// ReasonAnnouncementsNotAllowed (Degraded): the server does not allow announcement channels.
	// Enable Community, by spec.community of the DiscordServer or on Discord.
	ReasonAnnouncementsNotAllowed = "AnnouncementsNotAllowed"
	// ReasonCommunityRequired (Degraded): Discord allows channels of this type in community servers
	// only. Enable Community, by spec.community of the DiscordServer or on Discord.
	ReasonCommunityRequired = "CommunityRequired"
	// ReasonBitrateTooHigh (Degraded): the server has too few boosts for
	// spec.voice.bitrate; the message has the highest bitrate that the server
	// allows. Lower spec.voice.bitrate, or boost the server.
	ReasonBitrateTooHigh = "BitrateTooHigh"
	// ReasonIconNotFound (Degraded): the ConfigMap of spec.icon does not exist or
	// lacks the key. Create the ConfigMap with that key. The operator applies the
	// rest of the spec.
	ReasonIconNotFound = "IconNotFound"
	// ReasonIconUnusable (Degraded): Discord does not accept the image of
	// spec.icon. The message has the cause: the image is in data instead of
	// binaryData, is not a PNG, JPEG or GIF, is broken, has more than 1024 by 1024
	// pixels, or is animated although the server may not have an animated icon.
	// Replace the image. The operator applies the rest of the spec.
	ReasonIconUnusable = "IconUnusable"
	// ReasonNameConflict (Degraded): a Secret that the channel does not own has
	// the name of the webhook's Secret, or the metadata of the webhook's Secret
	// takes more than 128 KiB of memory. The operator does not change the Secret.
	// Name another Secret in spec.webhook.secretName, or delete this Secret.
	ReasonNameConflict = "NameConflict"
	// ReasonRefused (Degraded): Discord refuses the spec, or the API server
	// refuses the webhook's Secret; the message has the cause.
	ReasonRefused = "Refused"
	// ReasonNotApplied (Degraded): Discord has accepted a change, but its response
	// shows that it has not applied the change. The message names the fields. The
	// operator retries the change every ten minutes, and when the spec or the
	// resource changes. Set these fields of the spec to the values on Discord, or
	// remove them from the spec.
	ReasonNotApplied = "NotApplied"
	// ReasonDeletionFailed (Degraded): the object is being deleted, but the
	// operator cannot reach or delete its resource on Discord. The message has the
	// cause. Remove the cause. Or set the annotation
	// discord.jutsu.com/force-delete: "true", which deletes the object and leaves
	// the resource on Discord. If the DiscordServer is in another namespace, the
	// annotation works only as far as spec.allowRetention of the DiscordServer
	// permits.
	ReasonDeletionFailed = "DeletionFailed"
)
