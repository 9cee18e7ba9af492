// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// TypeVerified is a condition that exists only while it is False: Discord cannot be asked whether the
// object, which was Ready, matches its spec still. Its lastTransitionTime is since when. The object
// stays Ready for as long as the operator's flag --unverified-period says. On an object that is being
// deleted it is since when each try to delete on Discord has failed.
const TypeVerified = "Verified"

// TypePaused is a condition that exists only while it is True: the annotation discord.jutsu.com/paused
// is set, so that nothing is changed for the object.
const TypePaused = "Paused"

// TypeInSync is a condition that exists only while spec.managementPolicy is Observe: True where what is on
// Discord matches the spec, False where it does not, which status.differences lists, and Unknown while
// that cannot be observed.
const TypeInSync = "InSync"

// The reasons that the conditions of these kinds have, beside conditions.ReasonReconciled and
// conditions.ReasonRetrying, which all kinds share.
const (
	// ReasonOnDiscord (Available=True): it exists on Discord and the bot can manage it.
	ReasonOnDiscord = "OnDiscord"
	// ReasonNotOnDiscord (Available=False): it does not exist on Discord, or not yet.
	ReasonNotOnDiscord = "NotOnDiscord"
	// ReasonNotManageable (Available=False): the bot cannot manage it now; the condition Ready has
	// the cause.
	ReasonNotManageable = "NotManageable"

	// ReasonWaitingForServer (Progressing): the DiscordServer does not exist, or is not Available
	// yet.
	ReasonWaitingForServer = "WaitingForServer"
	// ReasonWaitingForGroup (Progressing): the DiscordGroup does not exist, or its category does
	// not exist on Discord yet.
	ReasonWaitingForGroup = "WaitingForGroup"
	// ReasonWaitingForChannel (Progressing): a DiscordChannel that a setting of a server refers to,
	// such as spec.systemChannelRef, does not exist on Discord yet.
	ReasonWaitingForChannel = "WaitingForChannel"
	// ReasonWaitingForRole (Progressing): a DiscordRole that an overwrite names by roleRef does not
	// exist, or has no role on Discord yet. Or a role of the name is new, and it is not known yet whether
	// another namespace has created it.
	ReasonWaitingForRole = "WaitingForRole"
	// ReasonWaitingForDiscord (Progressing): the state of the server on Discord is not known yet,
	// because neither the Gateway nor the API has responded, or because Discord has an outage that
	// hides the server.
	ReasonWaitingForDiscord = "WaitingForDiscord"
	// ReasonWaitingForDependents (Progressing): the object is being deleted, and other objects
	// still refer to it; the message names them. Nothing of it is deleted on Discord yet. Delete them
	// too, with deletionPolicy: Retain to keep what they have, or move channels to another group.
	ReasonWaitingForDependents = "WaitingForDependents"
	// ReasonRateLimited (Progressing): Discord's rate limit delays the next call for this object;
	// the message has the time of the retry. Other objects are not delayed.
	ReasonRateLimited = "RateLimited"
	// ReasonCreatePending (Progressing): a create was started and its outcome is unknown, because
	// the operator was stopped or Discord's response was lost. The operator looks for the result
	// before it creates again, so that nothing is created twice.
	ReasonCreatePending = "CreatePending"
	// ReasonCreateUnproven (Degraded): a create may have succeeded, something of that name exists, and the
	// audit log, which alone proves whose it is to an object of another namespace than its server, is not
	// shown to the bot. Nothing is bound or created. Change spec.name, or ask the owner of the server to
	// give the bot ViewAuditLog.
	ReasonCreateUnproven = "CreateUnproven"
	// ReasonPaused (Paused=True): the object has the annotation discord.jutsu.com/paused. Ready has the
	// reason too: it is True where the object matches its spec, and False (Progressing) where something
	// is to be changed. Degraded while the object is being deleted: nothing is deleted on Discord until
	// the annotation is removed.
	ReasonPaused = "Paused"
	// ReasonObserved (Ready=True, InSync=True): spec.managementPolicy is Observe, and what is on Discord
	// matches the spec.
	ReasonObserved = "Observed"
	// ReasonDifferencesFound (Ready=True, InSync=False): spec.managementPolicy is Observe, and what is on
	// Discord differs from the spec, as status.differences lists. Nothing is changed. Ready is True, since
	// the operator has done what the policy asks for; InSync is what shows differences.
	ReasonDifferencesFound = "DifferencesFound"
	// ReasonNamespaceTerminating (Progressing): the namespace is being deleted, and the object with
	// it.
	ReasonNamespaceTerminating = "NamespaceTerminating"

	// ReasonTokenNotFound (Degraded): the Secret of spec.tokenSecretRef does not exist or lacks the
	// key. Create it.
	ReasonTokenNotFound = "TokenNotFound"
	// ReasonAuthenticationFailed (Degraded): Discord refuses the bot's token. No call is made with
	// it until the Secret changes. Replace the token.
	ReasonAuthenticationFailed = "AuthenticationFailed"
	// ReasonBotNotInServer (Degraded): the bot is not a member of the server, or the server does
	// not exist. Add the bot by status.inviteURL.
	ReasonBotNotInServer = "BotNotInServer"
	// ReasonTooManyServers (Degraded): the bot is in 2,500 servers or more, with which Discord's Gateway
	// accepts no single connection, and the operator makes no more than one for each bot. Changes on
	// Discord are found only every --resync-period. Use another bot, or take it out of servers.
	ReasonTooManyServers = "TooManyServers"
	// ReasonMissingPermissions (Degraded): the bot lacks permissions, which the message names. Give
	// them to a role of the bot, or invite it again by the server's status.inviteURL.
	ReasonMissingPermissions = "MissingPermissions"
	// ReasonConflict (Degraded): another object manages the same server, channel or category; the
	// message names it. Delete the object that is Degraded, which deletes nothing on Discord; what the
	// other one has stays on Discord if that is deleted instead.
	ReasonConflict = "Conflict"
	// ReasonNotAllowed (Degraded): the object refers to a server or group of another namespace that
	// does not exist or does not allow its namespace, adopts or retains something there without being
	// allowed to, has permissions there that spec.allowedRoles does not list, or the Secret with the
	// bot's token is not for this server; the message says which. Nothing is created or deleted on
	// Discord. Have the owner allow it, or change the object.
	ReasonNotAllowed = "NotAllowed"
	// ReasonSelectorUnusable (Degraded): a selector of spec.allowedNamespaces or spec.allowedRoles is not
	// valid, or the operator does not read the labels of Namespaces; it selects none. Correct it, use Same
	// or All, or install the operator for all namespaces with the component namespace-selectors.
	ReasonSelectorUnusable = "SelectorUnusable"
	// ReasonHiddenFromBot (Degraded): the channel or category exists on Discord, and the bot may not
	// view it. Nothing is created in its place. Give the bot ViewChannel there; the object continues
	// automatically.
	ReasonHiddenFromBot = "HiddenFromBot"
	// ReasonAdoptNotFound (Degraded): the server has no channel, category or role with the id of
	// spec.adopt.
	ReasonAdoptNotFound = "AdoptNotFound"
	// ReasonAdoptMismatch (Degraded): what spec.adopt names has a type that the kind cannot manage: another
	// type of channel, or a role that belongs to a bot, an integration or those who boost the server.
	ReasonAdoptMismatch = "AdoptMismatch"
	// ReasonNothingToObserve (Degraded): spec.managementPolicy is Observe, and the object has nothing on
	// Discord. The operator does not create it. Name what exists in spec.adopt, whose id the message has
	// where one of that name exists, or set the policy to Manage.
	ReasonNothingToObserve = "NothingToObserve"
	// ReasonServerMismatch (Degraded): the object's channel or category is in another server than
	// the one that the spec refers to now. Name a group of the same server, or create a new object.
	ReasonServerMismatch = "ServerMismatch"
	// ReasonRoleNotFound (Degraded): the server has no role with the name or id, or only roles that
	// objects of other namespaces manage; the object continues automatically once it exists. Or the role
	// that a name has stood for (status.roles) was deleted on Discord: no other role takes its place.
	// Name a role by its id or by roleRef, or remove the name.
	ReasonRoleNotFound = "RoleNotFound"
	// ReasonAmbiguousRole (Degraded): several roles of the server have the name, or two overwrites
	// are for the same role. Refer to the role by its id.
	ReasonAmbiguousRole = "AmbiguousRole"
	// ReasonRoleTooHigh (Degraded): the role is not below the highest role of the bot, so that Discord
	// lets the bot change neither it nor its members. Drag a role of the bot above it in the server's
	// settings on Discord, Roles.
	ReasonRoleTooHigh = "RoleTooHigh"
	// ReasonMemberNotFound (Degraded): users of spec.members are not in the server; the message names
	// them. The others have the role. It is retried; take them off the list, or have them join.
	ReasonMemberNotFound = "MemberNotFound"
	// ReasonLimitReached (Degraded): Discord allows 500 channels and categories in a server, 250 roles, 50
	// categories, 50 channels in a category, 15 webhooks in a channel, and 100 permission overwrites,
	// of which the bot may need one; the message names the limit. The object continues automatically
	// once there is room.
	ReasonLimitReached = "LimitReached"
	// ReasonAnnouncementsNotAllowed (Degraded): the server does not allow announcement channels.
	// Enable Community, by spec.community of the DiscordServer or on Discord.
	ReasonAnnouncementsNotAllowed = "AnnouncementsNotAllowed"
	// ReasonCommunityRequired (Degraded): Discord allows channels of the type in community servers only.
	// Enable Community, by spec.community of the DiscordServer or on Discord.
	ReasonCommunityRequired = "CommunityRequired"
	// ReasonBitrateTooHigh (Degraded): the server has too few boosts for spec.voice.bitrate; the message
	// has the highest one. Lower it, or boost the server.
	ReasonBitrateTooHigh = "BitrateTooHigh"
	// ReasonIconNotFound (Degraded): the ConfigMap of spec.icon does not exist or lacks the key. Create it.
	// Everything else is reconciled.
	ReasonIconNotFound = "IconNotFound"
	// ReasonIconUnusable (Degraded): what spec.icon names is not an image that Discord takes: it is no PNG,
	// JPEG or GIF, is text, has more than 1024 by 1024 pixels, or is animated, and the server may not have
	// that. The message says which. Everything else is reconciled. Put another image there.
	ReasonIconUnusable = "IconUnusable"
	// ReasonNameConflict (Degraded): a Secret with the name of the webhook's Secret exists and is
	// not owned by the object, or its metadata takes more than 128 KiB of memory. It is not changed.
	// Name another one in spec.webhook.secretName, or delete it.
	ReasonNameConflict = "NameConflict"
	// ReasonRefused (Degraded): Discord refuses what the spec requests, or the API server refuses
	// the webhook's Secret; the message names the field and the cause.
	ReasonRefused = "Refused"
	// ReasonNotApplied (Degraded): Discord has accepted a change of fields, which the message names,
	// and its answer shows that it has not applied it. It is retried every ten minutes, and as soon
	// as the spec or the resource changes. Change the spec to what Discord shows, or leave it out.
	ReasonNotApplied = "NotApplied"
	// ReasonDeletionFailed (Degraded): the object is being deleted, and what it has on Discord
	// cannot be reached or deleted; the message has the cause. Fix it, or set the annotation
	// discord.jutsu.com/force-delete: "true" to leave it on Discord.
	ReasonDeletionFailed = "DeletionFailed"
)
