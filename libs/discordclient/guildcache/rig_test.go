// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/gateway"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// usual are the permissions that the bot asks for.
const usual = discordtest.Permissions(discordclient.PermissionsOverwrites)

// quick shortens the Gateway's times so that tests need not wait for them.
var quick = gateway.Timing{
	Hello: time.Second, Ready: time.Second, Spacing: time.Millisecond, MinWait: 5 * time.Millisecond,
	MaxWait: 20 * time.Millisecond, Invalid: time.Millisecond,
}

// rig is a simulated Discord with one guild, and a Client for a bot in it. Logs and errors are
// kept, to be searched for secrets at the end.
type rig struct {
	t      *testing.T
	srv    *discordtest.Server
	bot    discordtest.Bot
	guild  string
	client *guildcache.Client
	opts   guildcache.Options
	out    *output
}

type change func(*discordtest.Options, *guildcache.Options)

// newRig starts a Discord without rate limits and makes a Client for it, unless changes say
// otherwise.
func newRig(t *testing.T, changes ...change) *rig {
	t.Helper()
	so := discordtest.Options{Limits: discordtest.NoRateLimits(), AuditDelay: -1}
	co := guildcache.Options{Gateway: quick, Resync: time.Hour, Options: discordclient.Options{GlobalPerSecond: 100_000}}
	for _, c := range changes {
		c(&so, &co)
	}
	r := &rig{t: t, srv: discordtest.Run(t, so), out: &output{}}
	r.bot = r.srv.AddBot(discordtest.Bot{Name: "operator"})
	r.guild = r.srv.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High", Features: []string{"NEWS"}}).ID
	r.srv.AddMember(r.guild, r.bot.UserID, usual)
	co.Token, co.APIURL = discordclient.NewSecret(r.bot.Token), r.srv.APIURL()
	co.Log = slog.New(slog.NewTextHandler(r.out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if co.Transport == nil {
		tr := &http.Transport{MaxIdleConnsPerHost: 32}
		t.Cleanup(tr.CloseIdleConnections)
		co.Transport = tr
	}
	r.opts = co
	r.client = r.newClient()
	t.Cleanup(func() { r.out.mustHide(t, r.bot.Token) })
	return r
}

// newClient makes another Client for the same bot: a process that was started again.
func (r *rig) newClient() *guildcache.Client {
	r.t.Helper()
	c, err := guildcache.New(r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// run runs the Client until the test ends, and returns how to end it sooner.
func (r *rig) run() (stop func() error) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.client.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	r.t.Cleanup(func() { _ = stop() })
	return stop
}

// create makes a channel that must come about.
func (r *rig) create(in discordclient.ChannelCreate) *discordclient.Channel {
	r.t.Helper()
	c, err := r.client.CreateChannel(r.t.Context(), r.guild, in, "test")
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// calls is how many calls reached Discord in all.
func (r *rig) calls() int {
	n := 0
	for _, c := range r.srv.RequestCounts() {
		n += c
	}
	return n
}

// eventually waits until a condition holds. What it waits for comes over a network or from another
// goroutine.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// wantClass checks the class of an error.
func wantClass(t *testing.T, err error, want discordclient.Class) {
	t.Helper()
	if got := discordclient.ClassOf(err); got != want {
		t.Errorf("%v is of class %q, want %q", err, got, want)
	}
}

// patiently makes a call again for as long as it is rate limited, after the wait that the error
// names: what a reconciler does through its queue.
func patiently(do func() error) error {
	for {
		err := do()
		limited, ok := errors.AsType[*discordclient.RateLimited](err)
		if !ok {
			return err
		}
		<-time.After(limited.After)
	}
}

// output collects what was said, to be searched for secrets.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// mustHide fails when a secret was said.
func (o *output) mustHide(t testing.TB, secrets ...string) {
	t.Helper()
	text := o.String()
	for _, s := range secrets {
		if i := strings.Index(text, s); i >= 0 {
			t.Errorf("a secret was said: ...%q...", text[max(0, i-80):i])
		}
	}
}

var _ io.Writer = (*output)(nil)
