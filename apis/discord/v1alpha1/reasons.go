package v1alpha1

// The reasons that the conditions of these kinds give, beside conditions.ReasonSettled and conditions.ReasonRetrying that all kinds share.
const (
	// ReasonOnDiscord (Available=True): it exists on Discord and the bot can manage it.
	ReasonOnDiscord = "OnDiscord"
	// ReasonNotOnDiscord (Available=False): it does not exist on Discord, or not yet.
	ReasonNotOnDiscord = "NotOnDiscord"
	// ReasonNotManageable (Available=False): the bot cannot manage it now; the condition Ready says why.
	ReasonNotManageable = "NotManageable"

	// ReasonWaitingForServer (Progressing): the DiscordServer does not exist, or is not Available yet.
	ReasonWaitingForServer = "WaitingForServer"
	// ReasonWaitingForGroup (Progressing): the DiscordGroup does not exist, or its category does not exist on Discord yet.
	ReasonWaitingForGroup = "WaitingForGroup"
	// ReasonWaitingForChannel (Progressing): the DiscordChannel that spec.systemChannelRef names does not exist on Discord yet.
	ReasonWaitingForChannel = "WaitingForChannel"
	// ReasonWaitingForDiscord (Progressing): the state of the server on Discord is not known yet, since neither its Gateway nor its API has
	// answered; or Discord has an outage that hides the server.
	ReasonWaitingForDiscord = "WaitingForDiscord"
	// ReasonWaitingForChildren (Progressing): the object is being deleted, and other objects still refer to it; the message names
	// them. Delete them too, or let them refer to something else.
	ReasonWaitingForChildren = "WaitingForChildren"
	// ReasonRateLimited (Progressing): Discord's rate limit holds this object's next call; the message says when it goes on. Others are not held up.
	ReasonRateLimited = "RateLimited"
	// ReasonRecovering (Progressing): a create was begun and its outcome is not known, because the operator was stopped or Discord's
	// answer was lost. The operator looks for the result before it would create again, so that nothing exists twice.
	ReasonRecovering = "Recovering"
	// ReasonNamespaceTerminating (Progressing): the namespace is being deleted, and so is the object.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonDeleting (Progressing): the counterpart on Discord is being deleted.
	ReasonDeleting = "Deleting"

	// ReasonTokenNotFound (Degraded): the Secret of spec.tokenSecretRef does not exist or lacks the key. Create it.
	ReasonTokenNotFound = "TokenNotFound"
	// ReasonTokenRefused (Degraded): Discord refuses the bot's token. No call is made with it until the Secret changes.
	ReasonTokenRefused = "TokenRefused"
	// ReasonServerIDRequired (Degraded): Discord does not let bots create servers. Create one in Discord, add the bot by
	// status.inviteURL and set spec.serverId.
	ReasonServerIDRequired = "ServerIdRequired"
	// ReasonBotNotInServer (Degraded): the bot is not a member of the server, or the server does not exist. Add it by status.inviteURL.
	ReasonBotNotInServer = "BotNotInServer"
	// ReasonMissingPermissions (Degraded): the bot lacks permissions, which the message names. Give them to a role of the bot, or
	// invite it again by the server's status.inviteURL.
	ReasonMissingPermissions = "MissingPermissions"
	// ReasonConflict (Degraded): another object manages the same server, channel or category; the message names it. Delete one of them.
	ReasonConflict = "Conflict"
	// ReasonAdoptNotFound (Degraded): what spec.adopt names does not exist in the server.
	ReasonAdoptNotFound = "AdoptNotFound"
	// ReasonAdoptMismatch (Degraded): what spec.adopt names is of another kind than the object.
	ReasonAdoptMismatch = "AdoptMismatch"
	// ReasonOtherServer (Degraded): the channel's group is in another server than the channel. Name a group of the same server, or make a new channel.
	ReasonOtherServer = "OtherServer"
	// ReasonRoleNotFound (Degraded): the server has no role of that name or id. It goes on when there is one.
	ReasonRoleNotFound = "RoleNotFound"
	// ReasonRoleAmbiguous (Degraded): several roles of the server have that name, or two overwrites mean the same role. Name the role by its id.
	ReasonRoleAmbiguous = "RoleAmbiguous"
	// ReasonLimitReached (Degraded): Discord allows 500 channels and categories in a server, 50 categories, 50 channels in a category, and 15 webhooks in a
	// channel; the message says which is full. It goes on when there is room.
	ReasonLimitReached = "LimitReached"
	// ReasonAnnouncementsNotAllowed (Degraded): the server has no announcement channels. Enable Community in its settings.
	ReasonAnnouncementsNotAllowed = "AnnouncementsNotAllowed"
	// ReasonNameTaken (Degraded): a Secret with the wanted name exists and belongs to somebody else. It is left alone. Name another, or delete it.
	ReasonNameTaken = "NameTaken"
	// ReasonRefused (Degraded): Discord, or the API server for the webhook's Secret, refuses what the spec asks for; the message says which field and why.
	ReasonRefused = "Refused"
	// ReasonCannotDelete (Degraded): the object is being deleted and its counterpart on Discord cannot be reached or not be
	// deleted; the message says why. Mend that, or set the annotation discord.jutsu.com/force-delete: "true" to leave it on Discord.
	ReasonCannotDelete = "CannotDelete"
)
