// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// TypeVerified is a condition that exists only while False: since its lastTransitionTime, Discord
// cannot be asked whether an object that was Ready still matches its spec. The object stays Ready
// for the operator's --unverified-period. On an object that is being deleted, the
// lastTransitionTime is the time of the first failed deletion on Discord.
const TypeVerified = "Verified"

// TypePaused is a condition that exists only while True: the object has the annotation
// discord.jutsu.com/paused, so nothing is changed for it.
const TypePaused = "Paused"

// TypeInSync is a condition that exists only with spec.managementPolicy Observe: True if Discord
// matches the spec, False if it differs (see status.differences), Unknown while Discord cannot be
// observed.
const TypeInSync = "InSync"

// The reasons of these kinds' conditions, beside conditions.ReasonReconciled and
// conditions.ReasonRetrying, which all kinds share.
const (
	// ReasonOnDiscord (Available=True): the object's resource exists on Discord, and the bot can
	// manage it.
	ReasonOnDiscord = "OnDiscord"
	// ReasonNotOnDiscord (Available=False): the object's resource does not exist on Discord, or
	// does not exist yet.
	ReasonNotOnDiscord = "NotOnDiscord"
	// ReasonNotManageable (Available=False): the bot cannot manage the object's resource now; the
	// condition Ready has the cause.
	ReasonNotManageable = "NotManageable"

	// ReasonWaitingForServer (Progressing): the DiscordServer does not exist, or is not Available
	// yet.
	ReasonWaitingForServer = "WaitingForServer"
	// ReasonWaitingForGroup (Progressing): the DiscordGroup does not exist, or its category does
	// not exist on Discord yet.
	ReasonWaitingForGroup = "WaitingForGroup"
	// ReasonWaitingForChannel (Progressing): a DiscordChannel in the spec of a server, such as
	// spec.systemChannelRef, does not exist on Discord yet.
	ReasonWaitingForChannel = "WaitingForChannel"
	// ReasonWaitingForRole (Progressing): the DiscordRole of an overwrite's roleRef does not exist,
	// or has no role on Discord yet. Or a new role has the name in an overwrite, and an object of
	// another namespace may have created that role.
	ReasonWaitingForRole = "WaitingForRole"
	// ReasonWaitingForDiscord (Progressing): the server's state on Discord is not known yet:
	// neither the Gateway nor the API has responded, or an outage of Discord hides the server.
	ReasonWaitingForDiscord = "WaitingForDiscord"
	// ReasonWaitingForDependents (Progressing): the object is being deleted, but other objects
	// still refer to it; the message names them. Nothing of it is deleted on Discord yet. Delete
	// them too (with deletionPolicy: Retain to keep their resources), or move channels to another
	// group.
	ReasonWaitingForDependents = "WaitingForDependents"
	// ReasonRateLimited (Progressing): Discord's rate limit delays the next call for this object;
	// the message has the time of the retry. Other objects are not delayed.
	ReasonRateLimited = "RateLimited"
	// ReasonCreatePending (Progressing): a create was started, but its outcome is unknown: the
	// operator was stopped, or Discord's response was lost. The operator looks for the result
	// before it creates again, so nothing is created twice.
	ReasonCreatePending = "CreatePending"
	// ReasonCreateUnproven (Degraded): a create may have succeeded, and something of that name
	// exists. For an object of another namespace than its server, only the audit log proves the
	// creator, and the bot may not view the log. Nothing is bound or created. Change spec.name, or
	// ask the owner of the server to give the bot ViewAuditLog.
	ReasonCreateUnproven = "CreateUnproven"
	// ReasonPaused (Paused=True): the object has the annotation discord.jutsu.com/paused. Ready has
	// this reason too: True if the object matches its spec, False (Progressing) if changes are
	// pending. Degraded while the object is being deleted: nothing is deleted on Discord until the
	// annotation is removed.
	ReasonPaused = "Paused"
	// ReasonObserved (Ready=True, InSync=True): spec.managementPolicy is Observe, and Discord
	// matches the spec.
	ReasonObserved = "Observed"
	// ReasonDifferencesFound (Ready=True, InSync=False): spec.managementPolicy is Observe, and
	// Discord differs from the spec (see status.differences). Nothing is changed. Ready is True,
	// since the policy is fulfilled; InSync shows the differences.
	ReasonDifferencesFound = "DifferencesFound"
	// ReasonNamespaceTerminating (Progressing): the namespace is being deleted, and the object with
	// it.
	ReasonNamespaceTerminating = "NamespaceTerminating"

	// ReasonTokenNotFound (Degraded): the Secret of spec.tokenSecretRef does not exist or lacks the
	// key. Create the Secret with that key.
	ReasonTokenNotFound = "TokenNotFound"
	// ReasonAuthenticationFailed (Degraded): Discord refuses the bot's token. The operator tries
	// the token again when the Secret changes, and after one, ten and sixty minutes. Replace the
	// token.
	ReasonAuthenticationFailed = "AuthenticationFailed"
	// ReasonBotNotInServer (Degraded): the bot is not a member of the server, or the server does
	// not exist. Add the bot by status.inviteURL.
	ReasonBotNotInServer = "BotNotInServer"
	// ReasonTooManyServers (Degraded): the bot is in 2,500 servers or more. Discord's Gateway then
	// requires several connections, but the operator uses only one per bot. It finds changes on
	// Discord only every --resync-period. Use another bot, or remove this one from servers.
	ReasonTooManyServers = "TooManyServers"
	// ReasonMissingPermissions (Degraded): the bot lacks the permissions in the message. Give them
	// to a role of the bot, or invite the bot again by the link in the message. If permission
	// overwrites of a channel deny them, allow them there.
	ReasonMissingPermissions = "MissingPermissions"
	// ReasonConflict (Degraded): another object manages the same server, channel or category; the
	// message names it. Delete the Degraded object; Discord is not changed by that. If you delete
	// the other one instead, its resources stay on Discord.
	ReasonConflict = "Conflict"
	// ReasonNotAllowed (Degraded): the object refers to a server or group of another namespace that
	// does not exist or does not allow the object's namespace; it adopts or retains something there
	// without permission; it has permissions that spec.allowedRoles does not list; or the Secret
	// with the bot's token is not for this server. The message says which. Nothing is created or
	// deleted on Discord. Have the owner allow it, or change the object.
	ReasonNotAllowed = "NotAllowed"
	// ReasonSelectorUnusable (Degraded): a selector of spec.allowedNamespaces or spec.allowedRoles
	// is invalid, or the operator does not read the labels of Namespaces. The selector then selects
	// none. Correct it, use Same or All, or install the operator for all namespaces with the
	// component namespace-selectors.
	ReasonSelectorUnusable = "SelectorUnusable"
	// ReasonHiddenFromBot (Degraded): the channel or category exists on Discord, but the bot may
	// not view it. Nothing is created in its place. Give the bot ViewChannel there; the object
	// continues automatically.
	ReasonHiddenFromBot = "HiddenFromBot"
	// ReasonAdoptNotFound (Degraded): the server has no channel, category or role with the id of
	// spec.adopt.
	ReasonAdoptNotFound = "AdoptNotFound"
	// ReasonAdoptMismatch (Degraded): the resource of spec.adopt has a type that the kind cannot
	// manage: another type of channel, or a role of a bot, an integration or the server's boosters.
	ReasonAdoptMismatch = "AdoptMismatch"
	// ReasonNothingToObserve (Degraded): spec.managementPolicy is Observe, but the object has
	// nothing on Discord. The operator does not create it. Name an existing resource in spec.adopt
	// (the message has the id of one with the same name, if any), or set the policy to Manage.
	ReasonNothingToObserve = "NothingToObserve"
	// ReasonServerMismatch (Degraded): the object's channel or category is in another server than
	// the spec's. Name a group of the same server, or create a new object.
	ReasonServerMismatch = "ServerMismatch"
	// ReasonRoleNotFound (Degraded): the server has no role with the name or id, or only roles that
	// objects of other namespaces manage; the object continues automatically once a role exists.
	// Or the resolved role of a name (status.roles) was deleted on Discord: no other role replaces
	// it. Name a role by its id or by roleRef, or remove the name.
	ReasonRoleNotFound = "RoleNotFound"
	// ReasonAmbiguousRole (Degraded): several roles of the server have the name, or two overwrites
	// are for the same role. Refer to the role by its id.
	ReasonAmbiguousRole = "AmbiguousRole"
	// ReasonRoleTooHigh (Degraded): the role is not below the bot's highest role, so Discord does
	// not let the bot change the role or its members. Drag a role of the bot above it in the
	// server's settings on Discord, Roles.
	ReasonRoleTooHigh = "RoleTooHigh"
	// ReasonMemberNotFound (Degraded): users of spec.members are not in the server; the message
	// names them. All other users of the list have the role. The operator tries again. Remove the
	// missing users from the list, or have them join.
	ReasonMemberNotFound = "MemberNotFound"
	// ReasonLimitReached (Degraded): Discord allows 500 channels and categories in a server, 250
	// roles, 50 categories, 50 channels in a category, 15 webhooks in a channel, and 100 permission
	// overwrites (the bot may need one); the message names the limit. The object continues
	// automatically once there is room.
	ReasonLimitReached = "LimitReached"
	// ReasonAnnouncementsNotAllowed (Degraded): the server does not allow announcement channels.
	// Enable Community, by spec.community of the DiscordServer or on Discord.
	ReasonAnnouncementsNotAllowed = "AnnouncementsNotAllowed"
	// ReasonCommunityRequired (Degraded): Discord allows channels of this type in community servers
	// only. Enable Community, by spec.community of the DiscordServer or on Discord.
	ReasonCommunityRequired = "CommunityRequired"
	// ReasonBitrateTooHigh (Degraded): the server has too few boosts for spec.voice.bitrate; the
	// message has the highest bitrate. Lower it, or boost the server.
	ReasonBitrateTooHigh = "BitrateTooHigh"
	// ReasonIconNotFound (Degraded): the ConfigMap of spec.icon does not exist or lacks the key. Create
	// the ConfigMap with that key. Everything else is reconciled.
	ReasonIconNotFound = "IconNotFound"
	// ReasonIconUnusable (Degraded): Discord does not accept the image of spec.icon: it is text in
	// data instead of binaryData, is not a PNG, JPEG or GIF, has more than 1024 by 1024 pixels, or
	// is animated although the server may not have an animated icon; the message has the cause.
	// Everything else is reconciled. Replace the image.
	ReasonIconUnusable = "IconUnusable"
	// ReasonNameConflict (Degraded): a Secret that the channel does not own has the name of the
	// webhook's Secret, or the metadata of the webhook's Secret takes more than 128 KiB of memory.
	// The Secret is not changed. Name another one in spec.webhook.secretName, or delete it.
	ReasonNameConflict = "NameConflict"
	// ReasonRefused (Degraded): Discord refuses the spec, or the API server refuses the webhook's
	// Secret; the message names the field and the cause.
	ReasonRefused = "Refused"
	// ReasonNotApplied (Degraded): Discord has accepted a change of the fields in the message, but
	// has not applied it, as its response shows. The operator retries every ten minutes, and when
	// the spec or the resource changes. Change the spec to the value on Discord, or leave it out.
	ReasonNotApplied = "NotApplied"
	// ReasonDeletionFailed (Degraded): the object is being deleted, but its resource on Discord
	// cannot be reached or deleted; the message has the cause. Fix it, or set the annotation
	// discord.jutsu.com/force-delete: "true" to leave the resource on Discord.
	ReasonDeletionFailed = "DeletionFailed"
)
