// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Event is a change on Discord, or the refusal of a bot's token (EventTokenRefused).
type Event = event.TypedGenericEvent[guildcache.Event]

// EventTokenRefused is the kind of an event without a guild: Discord has refused a bot's token.
const EventTokenRefused guildcache.EventKind = "refused"

// Config is the configuration of all bots.
type Config struct {
	APIURL string
	// PerSecond is the maximum number of calls of a bot per second. 0 means Discord's limit.
	PerSecond int
	// Resync is the interval between reads of a guild while the Gateway is not connected; see also
	// EventTimeout.
	Resync time.Duration
	// ResyncLive replaces Resync while the Gateway is connected. If no event of the guild comes within
	// EventTimeout after the operator's own change, Resync applies until an event comes. 0 means the
	// defaults of guildcache.
	ResyncLive, EventTimeout time.Duration
	// Guard runs before each mutating call. An error stops the call; until is the call's deadline.
	// Guard may be nil.
	Guard func() (until time.Time, err error)
	// Metrics may be nil.
	Metrics *guildcache.Metrics
	// Log receives connects and disconnects.
	Log logr.Logger
	// Clock may be nil, for the real clock.
	Clock clock.PassiveClock
}

// Bots has the bots of all DiscordServers. Make it with New.
type Bots struct {
	ctx      context.Context //nolint:containedctx // of all connections, which outlive the reconciles that start them
	cached   client.Reader   // servers, and the metadata of Secrets
	live     client.Reader   // the data of Secrets
	config   Config
	refusals *refusals

	reading singleflight.Group
	mu      sync.Mutex
	tokens  map[string]*Bot
	uses    map[types.NamespacedName]use // keyed by server
	outs    []chan Event
}

type use struct {
	version string
	bot     *Bot
	allowed grant.Guilds
	guild   string
}

// New returns Bots, which connect no bot yet. All connections end with ctx. live reads the data of
// Secrets.
func New(ctx context.Context, cached, live client.Reader, config Config) *Bots {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Bots{
		ctx: ctx, cached: cached, live: live, config: config,
		refusals: newRefusals(time.Now), tokens: map[string]*Bot{}, uses: map[types.NamespacedName]use{},
	}
}

// Events returns a new channel of all events. Call it before Of, because a bot sends events only to
// channels from before the bot's start. Receive every event: each event blocks later events.
func (b *Bots) Events() <-chan Event {
	out := make(chan Event)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outs = append(b.outs, out)
	return out
}

// Of returns the bot of a server. The error is an issue if the token is missing, malformed, not
// allowed for the server's guild, or refused by Discord.
func (b *Bots) Of(ctx context.Context, server *v1alpha1.DiscordServer) (*Bot, error) {
	name := types.NamespacedName{Namespace: server.Namespace, Name: server.Spec.TokenSecretRef.Name}
	meta := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	if err := b.cached.Get(ctx, name, meta); apierrors.IsNotFound(err) {
		return nil, missing(server)
	} else if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", name, err)
	}
	version := fmt.Sprintf("%s/%s/%s", meta.UID, meta.ResourceVersion, server.Spec.TokenSecretRef.Key)
	key := client.ObjectKeyFromObject(server)
	b.mu.Lock()
	have := b.uses[key]
	b.mu.Unlock()
	if have.version != version {
		found, err, _ := b.reading.Do(key.String()+"@"+version, func() (any, error) {
			return b.read(ctx, server, name, version)
		})
		if err != nil {
			return nil, err
		}
		have = found.(use)
	}
	// Check each time, because a new DiscordServer with the same name may be for another guild.
	if refused := grant.TokenRefused(server, have.allowed, server.Spec.ServerID); refused != nil {
		return nil, refused
	}
	if have.bot.Err() == nil {
		return have.bot, nil
	}
	return b.retry(server)
}

func (b *Bots) retry(server *v1alpha1.DiscordServer) (*Bot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	refused := b.uses[client.ObjectKeyFromObject(server)].bot
	switch {
	case refused == nil: // the server was released meanwhile
		return nil, tokenRefused(server)
	case refused.Err() == nil: // another reconcile has replaced the bot
		return refused, nil
	}
	if wait := refused.untilRetry(b.config.Clock.Now()); wait > 0 {
		return nil, tokenRefused(server).After(wait)
	}
	again, err := b.start(refused.token, server.Namespace)
	if err != nil {
		return nil, err
	}
	again.refusals = refused.refusals + 1
	b.tokens[again.token] = again
	for name, u := range b.uses {
		if u.bot == refused {
			u.bot = again
			b.uses[name] = u
		}
	}
	refused.stop()
	return again, nil
}

// Refused returns the issue of a refused token, with a reconcile at the time of the next try.
func (b *Bots) Refused(server *v1alpha1.DiscordServer) *conditions.Issue {
	b.mu.Lock()
	defer b.mu.Unlock()
	issue := tokenRefused(server)
	if bot := b.uses[client.ObjectKeyFromObject(server)].bot; bot != nil {
		issue = issue.After(max(bot.untilRetry(b.config.Clock.Now()), time.Second))
	}
	return issue
}

// HasRefused reports whether Discord has refused the token of a server's bot.
func (b *Bots) HasRefused(server types.NamespacedName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	bot := b.uses[server].bot
	return bot != nil && bot.Err() != nil
}

func (b *Bots) last(server types.NamespacedName) *Bot {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := b.uses[server].bot; last != nil && last.Err() == nil {
		return last
	}
	return nil
}

func (b *Bots) read(
	ctx context.Context, server *v1alpha1.DiscordServer, name types.NamespacedName, version string,
) (use, error) {
	var secret corev1.Secret
	if err := b.live.Get(ctx, name, &secret); apierrors.IsNotFound(err) {
		return use{}, missing(server)
	} else if err != nil {
		return use{}, fmt.Errorf("read Secret %s: %w", name, err)
	}
	allowed := grant.GuildsOf(secret.Annotations)
	if refused := grant.TokenRefused(server, allowed, server.Spec.ServerID); refused != nil {
		return use{}, refused // no connection for a token that the server may not use
	}
	key := server.Spec.TokenSecretRef.Key
	token, ok := ParseToken(string(secret.Data[key]))
	if token == "" {
		return use{}, conditions.Degraded(v1alpha1.ReasonTokenNotFound,
			"Secret %s of spec.tokenSecretRef has no value for the key %q. Add the bot's token under that key, or name "+
				"another key in spec.tokenSecretRef.", name.Name, key)
	}
	if !ok {
		return use{}, conditions.Degraded(v1alpha1.ReasonAuthenticationFailed,
			"The value of the key %q in Secret %s is not a bot token: a token consists of three parts with dots between "+
				"them, and each part has only letters, digits, - and _. %s",
			key, name.Name, replaceToken(server))
	}
	return b.assign(client.ObjectKeyFromObject(server), token, use{version: version, allowed: allowed})
}

// ParseToken returns the token in a text, and reports whether the token has the right form.
func ParseToken(text string) (token string, ok bool) {
	token = strings.TrimPrefix(strings.TrimSpace(text), "Bot ")
	return token, tokenForm.MatchString(token)
}

// The operator sends only tokens of this form, because Discord counts each refusal.
var tokenForm = regexp.MustCompile(`^[\w-]+\.[\w-]+\.[\w-]+$`)

func replaceToken(server *v1alpha1.DiscordServer) string {
	return fmt.Sprintf("Replace it with a valid token (https://discord.com/developers/applications, Bot, Reset Token). "+
		"Check the new token with `kubectl discord check-token %s -n %s`.", server.Name, server.Namespace)
}

func tokenRefused(server *v1alpha1.DiscordServer) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonAuthenticationFailed, "Discord refuses the bot token in Secret %s. %s",
		server.Spec.TokenSecretRef.Name, replaceToken(server))
}

func missing(server *v1alpha1.DiscordServer) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonTokenNotFound,
		"Secret %[1]s does not exist. Create it with the bot's token: "+
			"`kubectl create secret generic %[1]s -n %[2]s --from-file=%[3]s=FILE`.",
		server.Spec.TokenSecretRef.Name, server.Namespace, server.Spec.TokenSecretRef.Key)
}

func (b *Bots) assign(server types.NamespacedName, token string, now use) (use, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bot, before := b.tokens[token], b.uses[server]
	if bot == nil {
		var err error
		if bot, err = b.start(token, server.Namespace); err != nil {
			return use{}, conditions.Degraded(v1alpha1.ReasonAuthenticationFailed, "The bot token is not usable: %s.", err)
		}
		b.tokens[token] = bot
	}
	now.bot, now.guild = bot, before.guild
	b.uses[server] = now
	b.end(before)
	return now, nil
}

// Follow records the guild of a server. If no server of the bot uses the former guild, the bot
// stops reading it.
func (b *Bots) Follow(server types.NamespacedName, guildID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.uses[server]
	if before.bot == nil || before.guild == guildID {
		return
	}
	now := before
	now.guild = guildID
	b.uses[server] = now
	b.end(before)
}

func (b *Bots) named(guildID string) bool {
	var servers v1alpha1.DiscordServerList
	err := index.List(b.ctx, b.cached, &servers, "", index.ServerByGuild, guildID)
	return err != nil || len(servers.Items) > 0
}

// Release removes a server. The bot disconnects when it has no server left.
func (b *Bots) Release(server types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.uses[server]
	delete(b.uses, server)
	b.end(before)
}

// end stops the bot of a former use if no server uses it, and the bot's reads of the former guild
// if no server of the bot uses this guild. The caller must lock b.mu.
func (b *Bots) end(former use) {
	bot := former.bot
	used, read := bot == nil, former.guild == ""
	for _, u := range b.uses {
		used, read = used || u.bot == bot, read || u.bot == bot && u.guild == former.guild
	}
	if bot != nil && !read {
		bot.Forget(former.guild)
	}
	if used {
		return
	}
	if b.tokens[bot.token] == bot {
		delete(b.tokens, bot.token)
	}
	bot.stop()
}

// start connects a bot. If no object has caused a refused call, the refusal counts for namespace.
// The caller must lock b.mu.
func (b *Bots) start(token, namespace string) (*Bot, error) {
	api, err := guildcache.New(guildcache.Options{
		Options: discordclient.Options{
			Token: discordclient.NewSecret(token), APIURL: b.config.APIURL, Invalid: b.refusals.of(namespace),
			GlobalPerSecond: b.config.PerSecond, Guard: b.config.Guard,
			Owner: func(namespace string) bool { return b.owns(namespace, token) },
		},
		Namespace: namespace, ResyncLive: b.config.ResyncLive, EventTimeout: b.config.EventTimeout, Keep: b.named,
		Resync: b.config.Resync, Metrics: b.config.Metrics, Log: slog.New(logr.ToSlogHandler(b.config.Log)),
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(b.ctx)
	outs := b.outs
	events := api.Subscribe(ctx)
	go func() {
		for e := range events {
			send(ctx, outs, e)
		}
	}()
	go func() {
		if err := api.Run(ctx); err != nil { // Discord has refused the token
			b.config.Log.Info("the bot is disconnected", "reason", err.Error())
			send(ctx, outs, guildcache.Event{Kind: EventTokenRefused})
		}
	}()
	return &Bot{Client: api, token: token, started: time.Now(), stop: stop}, nil
}

func send(ctx context.Context, outs []chan Event, e guildcache.Event) {
	for _, out := range outs {
		select {
		case out <- Event{Object: e}:
		case <-ctx.Done():
			return
		}
	}
}
