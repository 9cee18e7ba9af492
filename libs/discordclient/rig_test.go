// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

const usual = discordtest.Permissions(discordclient.PermissionsOverwrites)

type rig struct {
	t      *testing.T
	srv    *discordtest.Server
	bot    discordtest.Bot
	guild  string
	client *discordclient.Client
	opts   discordclient.Options
}

type change func(*discordtest.Options, *discordclient.Options)

func newRig(t *testing.T, changes ...change) *rig {
	t.Helper()
	so := discordtest.Options{Limits: discordtest.NoRateLimits(), AuditDelay: -1}
	co := discordclient.Options{GlobalPerSecond: 100_000}
	for _, c := range changes {
		c(&so, &co)
	}
	r := &rig{t: t, srv: discordtest.Run(t, so)}
	r.bot = r.srv.AddBot(discordtest.Bot{Name: "operator"})
	r.guild = r.srv.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High", Features: []string{"NEWS"}}).ID
	r.srv.AddMember(r.guild, r.bot.UserID, usual)
	co.Token, co.APIURL = discordclient.NewSecret(r.bot.Token), r.srv.APIURL()
	if co.Transport == nil {
		tr := &http.Transport{MaxIdleConnsPerHost: 32}
		t.Cleanup(tr.CloseIdleConnections)
		co.Transport = tr
	}
	r.opts = co
	r.client = r.newClient()
	return r
}

func (r *rig) newClient() *discordclient.Client {
	r.t.Helper()
	c, err := discordclient.New(r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) create(in discordclient.ChannelCreate) *discordclient.Channel {
	r.t.Helper()
	c, err := r.client.CreateChannel(r.t.Context(), r.guild, in, "test")
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) calls() int {
	n := 0
	for _, c := range r.srv.RequestCounts() {
		n += c
	}
	return n
}

func wantClass(t *testing.T, err error, want discordclient.Class) {
	t.Helper()
	if got := discordclient.ClassOf(err); got != want {
		t.Errorf("%v is of class %q, want %q", err, got, want)
	}
}

func limited(t *testing.T, err error) *discordclient.RateLimited {
	t.Helper()
	l, ok := errors.AsType[*discordclient.RateLimited](err)
	if !ok {
		t.Fatalf("%v is no rate limit", err)
	}
	return l
}

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

// TestMain searches the standard logger's output for secrets, because net/http may log there.
func TestMain(m *testing.M) {
	said := &output{}
	log.SetOutput(said)
	code := m.Run()
	if text := said.String(); strings.Contains(text, "Bot ") || strings.Contains(text, "webhooks/") {
		fmt.Fprintln(os.Stderr, "the standard logger got a secret:", text)
		code = 1
	}
	os.Exit(code)
}
