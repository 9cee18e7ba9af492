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

// Event is a change on Discord, in the form that a controller's source takes.
type Event = event.TypedGenericEvent[guildcache.Event]

// EventTokenRefused is the kind of an event that is about no guild: a bot's token was refused.
const EventTokenRefused guildcache.EventKind = "refused"

// Config is what all bots have in common.
type Config struct {
	// APIURL is where Discord is.
	APIURL string
	// Resync is how often a guild is read while the Gateway cannot be reached.
	Resync time.Duration
	// ResyncLive is how often it is read while the Gateway follows it, EventTimeout how late the event
	// of an own change may be; 0 for the defaults of guildcache.
	ResyncLive, EventTimeout time.Duration
	// Guard is that of discordclient.Options; nil for none.
	Guard func() (until time.Time, err error)
	// Metrics counts what the bots do; nil for nothing.
	Metrics *guildcache.Metrics
	// Log receives connects and disconnects.
	Log logr.Logger
	// Clock is for when a refused token is tried again; nil for the real one.
	Clock clock.PassiveClock
}

// Bots are the bots of all servers. Make them with New.
type Bots struct {
	ctx      context.Context //nolint:containedctx // of all connections, which outlive the reconciles that start them
	cached   client.Reader   // servers, and the metadata of Secrets
	live     client.Reader   // the data of Secrets
	config   Config
	refusals *refusals

	reading singleflight.Group
	mu      sync.Mutex
	tokens  map[string]*Bot
	uses    map[types.NamespacedName]use // by server
	outs    []chan Event
}

// use is which bot a server has, the version of the Secret that says so, the guilds that its token may
// be used for, and the guild that it reads, empty while that is not known.
type use struct {
	version string
	bot     *Bot
	allowed grant.Guilds
	guild   string
}

// New makes an empty set of bots, whose connections end with the context. Servers and the metadata
// of Secrets are read from cached, the data of Secrets from live.
func New(ctx context.Context, cached, live client.Reader, config Config) *Bots {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Bots{
		ctx: ctx, cached: cached, live: live, config: config,
		refusals: newRefusals(time.Now), tokens: map[string]*Bot{}, uses: map[types.NamespacedName]use{},
	}
}

// Events returns a channel of all that others change on Discord in the guilds of all bots. Call it
// before the first Of, once for each subscriber, who must take what comes.
func (b *Bots) Events() <-chan Event {
	out := make(chan Event)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outs = append(b.outs, out)
	return out
}

// Of returns the bot of a server. Where the token's Secret is wrong, the error is a TokenNotFound,
// AuthenticationFailed or NotAllowed issue.
func (b *Bots) Of(ctx context.Context, server *v1alpha1.DiscordServer) (*Bot, error) {
	name := types.NamespacedName{Namespace: server.Namespace, Name: server.Spec.TokenSecretRef.Name}
	meta := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	if err := b.cached.Get(ctx, name, meta); apierrors.IsNotFound(err) {
		return nil, missing(server, "does not exist")
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
	if have.bot.Err() == nil {
		return have.bot, nil
	}
	return b.retry(server)
}

// retry returns a new bot in the place of one whose token is refused, for all servers that use it,
// once that is due, and before that the issue.
func (b *Bots) retry(server *v1alpha1.DiscordServer) (*Bot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	refused := b.uses[client.ObjectKeyFromObject(server)].bot
	switch {
	case refused == nil: // the server is gone by now
		return nil, tokenRefused(server)
	case refused.Err() == nil: // another reconcile did
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

// Refused is the issue that Discord refuses the token of a server, and when it is tried again.
func (b *Bots) Refused(server *v1alpha1.DiscordServer) *conditions.Issue {
	b.mu.Lock()
	defer b.mu.Unlock()
	issue := tokenRefused(server)
	if bot := b.uses[client.ObjectKeyFromObject(server)].bot; bot != nil {
		issue = issue.After(max(bot.untilRetry(b.config.Clock.Now()), time.Second))
	}
	return issue
}

// HasRefused reports whether a server has a bot whose token is refused.
func (b *Bots) HasRefused(server types.NamespacedName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	bot := b.uses[server].bot
	return bot != nil && bot.Err() != nil
}

// last returns the bot that a server had last, also when its Secret is gone by now; nil for none.
// It lasts until the server is gone.
func (b *Bots) last(server types.NamespacedName) *Bot {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := b.uses[server].bot; last != nil && last.Err() == nil {
		return last
	}
	return nil
}

// read takes the token out of the Secret and gives the server the bot of that token.
func (b *Bots) read(
	ctx context.Context, server *v1alpha1.DiscordServer, name types.NamespacedName, version string,
) (use, error) {
	var secret corev1.Secret
	if err := b.live.Get(ctx, name, &secret); apierrors.IsNotFound(err) {
		return use{}, missing(server, "does not exist")
	} else if err != nil {
		return use{}, fmt.Errorf("read Secret %s: %w", name, err)
	}
	allowed := grant.GuildsOf(secret.Annotations)
	if refused := grant.TokenRefused(server, allowed, server.Spec.ServerID); refused != nil {
		return use{}, refused
	}
	key := server.Spec.TokenSecretRef.Key
	token := strings.TrimPrefix(strings.TrimSpace(string(secret.Data[key])), "Bot ")
	if token == "" {
		return use{}, missing(server, fmt.Sprintf("has no value for the key %q", key))
	}
	if !tokenForm.MatchString(token) {
		return use{}, conditions.Degraded(v1alpha1.ReasonAuthenticationFailed,
			"The value of the key %q in Secret %s is not a bot token, which is three words with dots between them: %s",
			key, name.Name, resetPage)
	}
	return b.assign(client.ObjectKeyFromObject(server), token, use{version: version, allowed: allowed})
}

// tokenForm is that of the tokens of bots, of Discord (the bot's id, a time, a signature, each in
// base64url) as of compatible servers. What has another form is not sent: Discord would count the
// refusal.
var tokenForm = regexp.MustCompile(`^[\w-]+\.[\w-]+\.[\w-]+$`)

// resetPage is where a user resets a token.
const resetPage = "https://discord.com/developers/applications, Bot, Reset Token."

func tokenRefused(server *v1alpha1.DiscordServer) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonAuthenticationFailed, "Discord refuses the bot token in Secret %s. "+
		"Replace it with a valid one: "+resetPage, server.Spec.TokenSecretRef.Name)
}

func missing(server *v1alpha1.DiscordServer, what string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonTokenNotFound,
		"Secret %s %s. Create it with the bot's token: kubectl -n %s create secret generic %[1]s --from-file=%[4]s=FILE",
		server.Spec.TokenSecretRef.Name, what, server.Namespace, server.Spec.TokenSecretRef.Key)
}

// assign gives a server the bot of a token, which is started for the first server.
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

// Follow records which guild a server with a bot reads. The guild that it read before is not read
// any more, unless for another server.
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

// named reports whether a server names a guild, which is then soon followed.
func (b *Bots) named(guildID string) bool {
	var servers v1alpha1.DiscordServerList
	err := index.List(b.ctx, b.cached, &servers, "", index.ServerByGuild, guildID)
	return err != nil || len(servers.Items) > 0
}

// Release takes the bot from a server; its connection ends with its last server.
func (b *Bots) Release(server types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.uses[server]
	delete(b.uses, server)
	b.end(before)
}

// end ends what no server uses any more of a former use: the reading of the guild, which would be
// polled, and reported in metrics, for as long as the bot is in use; and the bot. The lock is held.
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

// start connects a bot on behalf of a namespace, for which all counts that no object causes. The lock
// is held.
func (b *Bots) start(token, namespace string) (*Bot, error) {
	api, err := guildcache.New(guildcache.Options{
		Options: discordclient.Options{
			Token: discordclient.NewSecret(token), APIURL: b.config.APIURL, Invalid: b.refusals.of(namespace),
			Guard: b.config.Guard, Owner: func(namespace string) bool { return b.owns(namespace, token) },
		},
		Namespace: namespace, ResyncLive: b.config.ResyncLive, EventTimeout: b.config.EventTimeout, Named: b.named,
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
		if err := api.Run(ctx); err != nil { // the token was refused, which concerns its servers
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
