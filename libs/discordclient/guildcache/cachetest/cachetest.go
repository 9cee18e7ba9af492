// SPDX-License-Identifier: Apache-2.0

// Package cachetest has a simulated Discord with one guild and a guildcache.Client, for tests.
package cachetest

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/gateway"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/test/discordtest"
)

// Usual are the permissions that the bot requests.
const Usual = discordtest.Permissions(discordclient.PermissionsOverwrites)

// Quick has short pauses and long timeouts: a timeout adds a connection, and tests count
// connections.
var Quick = gateway.Timing{
	Hello: 20 * time.Second, Ready: 20 * time.Second, Spacing: time.Millisecond, MinWait: 5 * time.Millisecond,
	MaxWait: 20 * time.Millisecond, Invalid: time.Millisecond,
}

// Rig is a simulated Discord with one guild and a Client. It searches Printed for the bot's token.
type Rig struct {
	*testing.T

	Discord *discordtest.Server
	Bot     discordtest.Bot
	Guild   string // id
	Client  *guildcache.Client
	Options guildcache.Options // of the Client
	Printed *Output            // logs and errors
}

// Change changes the options of the simulated Discord and of the Client.
type Change func(*discordtest.Options, *guildcache.Options)

// New starts a Rig, by default without rate limits and without polling before the Gateway connects.
func New(t *testing.T, changes ...Change) *Rig {
	t.Helper()
	so := discordtest.Options{Limits: discordtest.NoRateLimits(), AuditDelay: -1}
	co := guildcache.Options{
		Gateway: Quick, Grace: time.Hour, Resync: time.Hour,
		Options: discordclient.Options{GlobalPerSecond: 100_000},
	}
	for _, c := range changes {
		c(&so, &co)
	}
	r := &Rig{T: t, Discord: discordtest.Run(t, so), Printed: &Output{}}
	r.Bot = r.Discord.AddBot(discordtest.Bot{Name: "operator"})
	r.Guild = r.Discord.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High", Features: []string{"NEWS"}}).ID
	r.Discord.AddMember(r.Guild, r.Bot.UserID, Usual)
	co.Token, co.APIURL = discordclient.NewSecret(r.Bot.Token), r.Discord.APIURL()
	co.Log = slog.New(slog.NewTextHandler(r.Printed, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if co.Transport == nil {
		tr := &http.Transport{MaxIdleConnsPerHost: 32}
		t.Cleanup(tr.CloseIdleConnections)
		co.Transport = tr
	}
	r.Options = co
	r.Client = r.NewClient()
	t.Cleanup(func() { r.Printed.MustHide(t, r.Bot.Token) })
	return r
}

// NewClient makes a new Client of the bot, as a restarted process would.
func (r *Rig) NewClient() *guildcache.Client {
	r.Helper()
	c, err := guildcache.New(r.Options)
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// Create makes a channel or fails the test.
func (r *Rig) Create(in discordclient.ChannelCreate) *discordclient.Channel {
	r.Helper()
	c, err := r.Client.CreateChannel(r.Context(), r.Guild, in, "test")
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// WantClass checks the class of an error.
func WantClass(t *testing.T, err error, want discordclient.Class) {
	t.Helper()
	if got := discordclient.ClassOf(err); got != want {
		t.Errorf("%v is of class %q, want %q", err, got, want)
	}
}

// RetryWhileLimited repeats a call after each rate limit, as a reconciler's queue does.
func RetryWhileLimited(do func() error) error {
	for {
		err := do()
		limited, ok := errors.AsType[*discordclient.RateLimited](err)
		if !ok {
			return err
		}
		<-time.After(limited.After)
	}
}

// Output collects text, in which tests then search for secrets.
type Output struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// MustHide fails the test if the output contains a secret.
func (o *Output) MustHide(t testing.TB, secrets ...string) {
	t.Helper()
	text := o.String()
	for _, s := range secrets {
		if i := strings.Index(text, s); i >= 0 {
			t.Errorf("a secret was said: ...%q...", text[max(0, i-80):i])
		}
	}
}

var _ io.Writer = (*Output)(nil)
