package session

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// Event is a change on Discord, in the form that a controller's source takes.
type Event = event.TypedGenericEvent[discordclient.Event]

// Config is what all bots have in common.
type Config struct {
	// APIURL is where Discord is.
	APIURL string
	// Resync is how often a guild is read while the Gateway cannot be reached.
	Resync time.Duration
	// Metrics counts what the bots do; nil for nothing.
	Metrics *discordclient.Metrics
	// Log receives connects and disconnects.
	Log logr.Logger
}

// Sessions are the bots of all servers. Make them with New.
type Sessions struct {
	ctx    context.Context //nolint:containedctx // of all connections: the process's. They outlive the passes that start them
	cached client.Reader   // metadata of Secrets
	live   client.Reader   // their data
	config Config
	refuse *discordclient.InvalidRequests // Discord counts refusals by address, so all bots share the account

	reading singleflight.Group
	mu      sync.Mutex
	bots    map[string]*bot // by token
	uses    map[types.NamespacedName]use
	outs    []chan Event
}

// use is which bot a server has, the state of the Secret that says so, and the guild that it is about, empty while that is not known.
type use struct {
	version string
	bot     *bot
	guild   string
}

// New makes an empty set of sessions, whose connections end with the context. Metadata of Secrets is read from cached, their data from live.
func New(ctx context.Context, cached, live client.Reader, config Config) *Sessions {
	return &Sessions{
		ctx: ctx, cached: cached, live: live, config: config, refuse: discordclient.NewInvalidRequests(time.Now),
		bots: map[string]*bot{}, uses: map[types.NamespacedName]use{},
	}
}

// Events returns a channel of all that happens on Discord in the guilds of all bots, by others' hands. Call it before the first For, once for each
// subscriber, who must take what comes.
func (s *Sessions) Events() <-chan Event {
	out := make(chan Event)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outs = append(s.outs, out)
	return out
}

// For returns the session of a server. Its errors say what is wrong with the token's Secret (TokenNotFound, AuthenticationFailed).
func (s *Sessions) For(ctx context.Context, server *v1alpha1.DiscordServer) (*Session, error) {
	name := types.NamespacedName{Namespace: server.Namespace, Name: server.Spec.TokenSecretRef.Name}
	meta := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	if err := s.cached.Get(ctx, name, meta); apierrors.IsNotFound(err) {
		return nil, missing(server, "does not exist")
	} else if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", name, err)
	}
	version := fmt.Sprintf("%s/%s/%s", meta.UID, meta.ResourceVersion, server.Spec.TokenSecretRef.Key)
	key := client.ObjectKeyFromObject(server)
	s.mu.Lock()
	have := s.uses[key]
	s.mu.Unlock()
	if have.version != version {
		found, err, _ := s.reading.Do(key.String()+"@"+version, func() (any, error) { return s.read(ctx, server, name, version) })
		if err != nil {
			return nil, err
		}
		have = found.(use)
	}
	session := &Session{Client: have.bot.client, bot: have.bot}
	if have.bot.client.Stats().TokenRefused {
		return nil, Refused(server)
	}
	return session, nil
}

// Last returns the session that a server had last, also when its Secret is gone by now: where a whole namespace is deleted, the Secret goes
// first, and what is on Discord has to be deleted all the same. It lasts until the server is gone.
func (s *Sessions) Last(server types.NamespacedName) (*Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.uses[server].bot
	if b == nil || b.client.Stats().TokenRefused {
		return nil, false
	}
	return &Session{Client: b.client, bot: b}, true
}

// read takes the token out of the Secret and gives the server the bot of that token.
func (s *Sessions) read(ctx context.Context, server *v1alpha1.DiscordServer, name types.NamespacedName, version string) (use, error) {
	var secret corev1.Secret
	if err := s.live.Get(ctx, name, &secret); apierrors.IsNotFound(err) {
		return use{}, missing(server, "does not exist")
	} else if err != nil {
		return use{}, fmt.Errorf("read Secret %s: %w", name, err)
	}
	key := server.Spec.TokenSecretRef.Key
	token := strings.TrimPrefix(strings.TrimSpace(string(secret.Data[key])), "Bot ")
	if token == "" {
		return use{}, missing(server, fmt.Sprintf("has no value for the key %q", key))
	}
	return s.assign(client.ObjectKeyFromObject(server), token, version)
}

// Refused says that Discord does not take the token of a server.
func Refused(server *v1alpha1.DiscordServer) error {
	return conditions.Degraded(v1alpha1.ReasonAuthenticationFailed,
		"Discord refuses the bot token in Secret %s. Replace it with a valid one: https://discord.com/developers/applications, Bot, Reset Token.",
		server.Spec.TokenSecretRef.Name)
}

func missing(server *v1alpha1.DiscordServer, what string) error {
	return conditions.Degraded(v1alpha1.ReasonTokenNotFound,
		"Secret %s %s. Create it with the bot's token: kubectl -n %s create secret generic %[1]s --from-file=%[4]s=FILE",
		server.Spec.TokenSecretRef.Name, what, server.Namespace, server.Spec.TokenSecretRef.Key)
}

// assign gives a server the bot of a token, which is started where it is the first to need it.
func (s *Sessions) assign(server types.NamespacedName, token, version string) (use, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bots[token]
	if b != nil && b.client.Stats().TokenRefused && s.uses[server].version != version {
		b = nil // somebody has touched the Secret: the same token is tried once more
	}
	if b == nil {
		var err error
		if b, err = s.start(token); err != nil {
			return use{}, conditions.Degraded(v1alpha1.ReasonAuthenticationFailed, "The bot token is not usable: %s.", err)
		}
		s.bots[token] = b
	}
	before := s.uses[server]
	b.users[server] = true
	s.uses[server] = use{version: version, bot: b, guild: before.guild}
	if before.bot != b {
		s.forget(before)
		s.drop(before.bot, server)
	}
	return s.uses[server], nil
}

// About notes which guild a server with a session is about. The guild that it was about before is not read any more, unless for another server.
func (s *Sessions) About(server types.NamespacedName, guildID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.uses[server]
	if before.bot == nil || before.guild == guildID {
		return
	}
	s.uses[server] = use{version: before.version, bot: before.bot, guild: guildID}
	s.forget(before)
}

// Release ends a server's session; the bot's connection ends with its last server.
func (s *Sessions) Release(server types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.uses[server]
	delete(s.uses, server)
	s.forget(before)
	s.drop(before.bot, server)
}

// forget ends the reading of a guild that no server of a bot is about any more: it would go on, and be told of in metrics, for as long as the bot is
// in use. The lock is held.
func (s *Sessions) forget(before use) {
	if before.bot == nil || before.guild == "" {
		return
	}
	for _, u := range s.uses {
		if u.bot == before.bot && u.guild == before.guild {
			return
		}
	}
	before.bot.client.Forget(before.guild)
}

// drop takes a server from a bot. The lock is held.
func (s *Sessions) drop(b *bot, server types.NamespacedName) {
	if b == nil {
		return
	}
	if delete(b.users, server); len(b.users) > 0 {
		return
	}
	if s.bots[b.token] == b {
		delete(s.bots, b.token)
	}
	b.stop()
}

// start connects a bot. The lock is held.
func (s *Sessions) start(token string) (*bot, error) {
	c, err := discordclient.New(discordclient.Options{
		Token: discordclient.NewSecret(token), APIURL: s.config.APIURL, Resync: s.config.Resync,
		Invalid: s.refuse, Metrics: s.config.Metrics, Log: slog.New(logr.ToSlogHandler(s.config.Log)),
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(s.ctx)
	b := &bot{token: token, client: c, users: map[types.NamespacedName]bool{}, started: time.Now(), stop: stop}
	outs := s.outs
	events := c.Subscribe(ctx)
	go func() {
		for e := range events {
			tell(ctx, outs, e)
		}
	}()
	go func() {
		if err := c.Run(ctx); err != nil { // the token was refused: the servers that use it have to be looked at
			s.config.Log.Info("the bot is disconnected", "reason", err.Error())
			tell(ctx, outs, discordclient.Event{Kind: EventRefused})
		}
	}()
	return b, nil
}

// EventRefused is the kind of an event that is about no guild: a bot's token was refused.
const EventRefused discordclient.EventKind = "refused"

func tell(ctx context.Context, outs []chan Event, e discordclient.Event) {
	for _, out := range outs {
		select {
		case out <- Event{Object: e}:
		case <-ctx.Done():
			return
		}
	}
}
