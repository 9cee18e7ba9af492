// SPDX-License-Identifier: Apache-2.0

package gateway

// Intents that the simulator uses. Source: Discord's documentation, "Gateway intents".
const (
	intentGuilds     = 1 << 0
	intentMembers    = 1 << 1
	intentModeration = 1 << 2
	intentWebhooks   = 1 << 5
	intentMessages   = 1 << 9
	intentContent    = 1 << 15

	// An IDENTIFY with bits outside intentsKnown gets close code 4013.
	intentsKnown = 1<<17 - 1 | 1<<20 | 1<<21 | 1<<24 | 1<<25
	// intentsPrivileged must be enabled for the application: members, presences, message content.
	intentsPrivileged = intentMembers | 1<<8 | intentContent
)

// intentOf maps an event to its required intent. Other events need GUILDS.
var intentOf = map[string]int{
	"GUILD_MEMBER_UPDATE":          intentMembers,
	"GUILD_AUDIT_LOG_ENTRY_CREATE": intentModeration, "WEBHOOKS_UPDATE": intentWebhooks,
	"MESSAGE_CREATE": intentMessages, "MESSAGE_UPDATE": intentMessages, "MESSAGE_DELETE": intentMessages,
}
