// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// Bot is the connection of one token. All DiscordServers with this token share the Bot.
type Bot struct {
	*guildcache.Client
	token   string
	started time.Time
	stop    context.CancelFunc
	// Bots.mu guards both fields. refusedAt is the time at which the operator found the token
	// refused; zero if it did not. refusals counts the consecutive refusals before refusedAt.
	refusedAt time.Time
	refusals  int

	application atomic.Pointer[discordclient.Application]
	asking      sync.Mutex // guards the request for the application
	reading     sync.Map   // guild id to *sync.Mutex: one reconcile at a time reads a guild's webhooks
}

// refusedRetries are the delays between tries of a refused token. Discord sometimes refuses a valid
// token, so the operator retries. Discord counts each refusal, so the delays grow.
var refusedRetries = []time.Duration{time.Minute, 10 * time.Minute, time.Hour}

// untilRetry returns the time until the next try of a refused token. The caller must lock Bots.mu.
func (b *Bot) untilRetry(now time.Time) time.Duration {
	if b.refusedAt.IsZero() {
		b.refusedAt = now
		if b.application.Load() != nil { // Discord accepted the token after the earlier refusals
			b.refusals = 0
		}
	}
	return b.refusedAt.Add(refusedRetries[min(b.refusals, len(refusedRetries)-1)]).Sub(now)
}

// OrNone returns the client of the bot; nil if b is nil.
func (b *Bot) OrNone() *guildcache.Client {
	if b == nil {
		return nil
	}
	return b.Client
}

// Application returns the bot's application. After one successful call, it sends no more calls.
func (b *Bot) Application(ctx context.Context) (discordclient.Application, error) {
	if known := b.application.Load(); known != nil {
		return *known, nil
	}
	if !b.asking.TryLock() {
		return discordclient.Application{}, issues.Transient(arrivalRetry) // another reconcile is asking Discord
	}
	defer b.asking.Unlock()
	app, err := b.CurrentApplication(ctx)
	if err == nil {
		b.application.Store(&app)
	}
	return app, err
}

// Webhooks returns a channel's webhooks. It sends a call if the cache has no list of them, or only
// a list that is older than since.
func (b *Bot) Webhooks(
	ctx context.Context, guildID, channelID string, since time.Time,
) ([]discordclient.Webhook, error) {
	view := b.Guild(guildID)
	if hooks, ok := listed(view.Snapshot(), channelID, since); ok {
		return hooks, nil
	}
	entry, _ := b.reading.LoadOrStore(guildID, &sync.Mutex{})
	lock := entry.(*sync.Mutex)
	if !lock.TryLock() {
		return nil, issues.Transient(arrivalRetry) // another reconcile is reading the guild's webhooks
	}
	defer lock.Unlock()
	snap := view.Snapshot()
	if hooks, ok := listed(snap, channelID, since); ok {
		return hooks, nil
	}
	ch, _ := snap.Channel(channelID)
	everywhere, exact := snap.BotPermissions()
	if ch != nil {
		if lacks := lacksIn(snap, ch, permissions.ManageWebhooks, "which a webhook requires in its channel"); lacks != nil {
			return nil, lacks
		}
	}
	if unlisted(snap, since) == 1 || exact && !everywhere.Has(permissions.ManageWebhooks) {
		return b.ListChannelWebhooks(ctx, channelID)
	}
	all, err := b.ListGuildWebhooks(ctx, guildID)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(w discordclient.Webhook) bool { return w.ChannelID != channelID }), nil
}

func listed(snap *guildcache.Snapshot, channelID string, since time.Time) ([]discordclient.Webhook, bool) {
	hooks, known := snap.Webhooks(channelID)
	return hooks, known && !snap.WebhooksListed(channelID).Before(since)
}

func unlisted(snap *guildcache.Snapshot, since time.Time) int {
	n := 0
	for _, c := range snap.Channels() {
		if _, ok := listed(snap, c.ID, since); !ok && c.Type != discordgo.ChannelTypeGuildCategory {
			n++
		}
	}
	return n
}
