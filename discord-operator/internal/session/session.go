package session

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/outcome"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

const (
	// arrival is how long the first state of a guild may take before anybody is told that it is waited for: the Gateway brings it within a second, and
	// polling begins after five.
	arrival = 10 * time.Second
	// glance is how often a pass looks whether it has come; an event usually says so before.
	glance = 500 * time.Millisecond
)

// bot is the connection of one token.
type bot struct {
	token   string
	client  discordclient.Client
	users   map[types.NamespacedName]bool // guarded by Sessions.mu
	started time.Time
	stop    context.CancelFunc

	application atomic.Pointer[discordclient.Application]
	asking      sync.Mutex // for the application
	mu          sync.Mutex
	hooksOf     map[string]*sync.Mutex // by guild: one reading of its webhooks at a time
}

// Session is a server's access to Discord.
type Session struct {
	discordclient.Client
	bot *bot
}

// Application returns the application that the bot belongs to, asked for once.
func (s *Session) Application(ctx context.Context) (discordclient.Application, error) {
	if known := s.bot.application.Load(); known != nil {
		return *known, nil
	}
	if !s.bot.asking.TryLock() {
		return discordclient.Application{}, &outcome.ErrSoon{After: glance} // another pass asks
	}
	defer s.bot.asking.Unlock()
	app, err := s.CurrentApplication(ctx)
	if err == nil {
		s.bot.application.Store(&app)
	}
	return app, err
}

// Look returns the state of a guild as it is known now. While it has never been known, the error says to come back soon, or, when that takes
// long, what is waited for.
func (s *Session) Look(ctx context.Context, guildID string) (*discordclient.Snapshot, error) {
	snap := s.Guild(guildID).Snapshot()
	if snap.Presence == discordclient.PresenceUnknown || snap.Presence == discordclient.PresenceUnavailable && len(snap.Channels()) == 0 {
		if time.Since(s.bot.started) < arrival {
			return nil, &outcome.ErrSoon{After: glance}
		}
		why := s.Stats().GatewayError
		if why == "" {
			why = "no response yet"
		}
		return nil, conditions.Progressing(v1alpha1.ReasonWaitingForDiscord,
			"The state of the server on Discord is not known yet: %s.", why).After(5 * time.Second)
	}
	if snap.SelfID() == "" && snap.Presence == discordclient.PresencePresent {
		if _, err := s.CurrentUser(ctx); err != nil { // who the bot is is asked for only while the Gateway has not said it
			return nil, err
		}
		snap = s.Guild(guildID).Snapshot()
	}
	return snap, nil
}

// Webhooks returns the webhooks of a channel as they were at a moment or later, the zero time for any, from memory where they are known. Where
// they are not, they are read by one call: of the channel alone, or, when those of other channels are not known either, of the whole guild.
func (s *Session) Webhooks(ctx context.Context, guildID, channelID string, since time.Time) ([]discordclient.Webhook, error) {
	view := s.Guild(guildID)
	if hooks, ok := listed(view.Snapshot(), channelID, since); ok {
		return hooks, nil
	}
	lock := s.bot.hookLock(guildID)
	if !lock.TryLock() {
		return nil, &outcome.ErrSoon{After: glance} // another pass reads them
	}
	defer lock.Unlock()
	snap := view.Snapshot()
	if hooks, ok := listed(snap, channelID, since); ok {
		return hooks, nil
	}
	if unlisted(snap, since) == 1 {
		return s.ListChannelWebhooks(ctx, channelID)
	}
	all, err := s.ListGuildWebhooks(ctx, guildID)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(w discordclient.Webhook) bool { return w.ChannelID != channelID }), nil
}

// listed returns the webhooks of a channel where they were listed at a moment or later.
func listed(snap *discordclient.Snapshot, channelID string, since time.Time) ([]discordclient.Webhook, bool) {
	hooks, known := snap.Webhooks(channelID)
	return hooks, known && !snap.WebhooksListed(channelID).Before(since)
}

// unlisted counts the channels whose webhooks were not.
func unlisted(snap *discordclient.Snapshot, since time.Time) int {
	n := 0
	for _, c := range snap.Channels() {
		if _, ok := listed(snap, c.ID, since); !ok && c.Type != discordclient.ChannelCategory {
			n++
		}
	}
	return n
}

func (b *bot) hookLock(guildID string) *sync.Mutex {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hooksOf == nil {
		b.hooksOf = map[string]*sync.Mutex{}
	}
	if b.hooksOf[guildID] == nil {
		b.hooksOf[guildID] = &sync.Mutex{}
	}
	return b.hooksOf[guildID]
}
