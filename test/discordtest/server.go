// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"jutsu.com/operators/test/discordtest/gateway"
	"jutsu.com/operators/test/discordtest/internal/clock"
	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/page"
	"jutsu.com/operators/test/discordtest/rest"
	"jutsu.com/operators/test/discordtest/rest/call"
	"jutsu.com/operators/test/discordtest/rest/faults"
)

// Server is a simulated Discord and an http.Handler. All methods are safe for concurrent use.
type Server struct {
	opts    Options
	discord *model.Discord
	rest    *rest.Handler
	gateway *Gateway
	page    *page.Page
	mux     *http.ServeMux

	mu   sync.Mutex
	http *http.Server
}

// New makes a Discord without bots and guilds. Call Start, or set PublicURL and mount the handler.
func New(opts Options) *Server {
	opts = opts.withDefaults()
	d := model.New(clock.New(opts.Clock, opts.Frozen),
		model.Options{
			Seed: opts.Seed, AuditDelay: opts.AuditDelay, AuditJitter: opts.AuditJitter,
			ShowHidden: opts.ShowHidden, Compatible: opts.Compatible,
		})
	d.URL, d.Weakness = opts.PublicURL, opts.Weakness
	windows := limits.NewWindows(opts.Limits.Sliding)
	s := &Server{opts: opts, discord: d, mux: http.NewServeMux()}
	s.gateway = gateway.New(d, windows, gateway.Options{
		Limits: opts.Limits, HeartbeatInterval: opts.HeartbeatInterval, SessionLife: opts.SessionLife,
		Compatible: opts.Compatible,
	})
	s.rest = rest.New(d, windows, call.Options{
		Limits: opts.Limits, AllowGuildDeletion: opts.AllowGuildDeletion, AnyUserAgent: opts.AnyUserAgent,
		Normalise: opts.Normalise,
		Altered:   opts.Altered, IgnoreTargetID: opts.IgnoreTargetID, Compatible: opts.Compatible,
	}, opts.KeepRequests)
	s.page = page.New(d, s.rest.RequestCounts, func() int { return s.gateway.Stats().Open })
	s.rest.Mount(s.mux)
	s.gateway.Mount(s.mux)
	s.page.Mount(s.mux)
	return s
}

// Run creates and starts a Discord, and closes it at the end of the test.
func Run(t testing.TB, opts Options) *Server {
	t.Helper()
	s := New(opts)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start listens on Options.Listen and serves until Close.
func (s *Server) Start() error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.opts.Listen)
	if err != nil {
		return fmt.Errorf("listen for the simulated Discord: %w", err)
	}
	s.discord.Lock()
	if s.discord.URL == "" {
		s.discord.URL = "http://" + l.Addr().String()
	}
	s.discord.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func(h *http.Server) {
		if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Log.Error("the simulated Discord stopped serving", "error", err)
		}
	}(s.http)
	return nil
}

func (s *Server) served() *http.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.http
}

// Close ends all connections, Gateway sessions and timers. A second call has no effect.
func (s *Server) Close() {
	s.rest.Faults.Release()
	s.gateway.Close()
	s.discord.Clock.Stop()
	if h := s.served(); h != nil {
		_ = h.Close()
	}
}

// Shutdown is [Server.Close], but lets running REST calls finish, unless ctx ends first.
func (s *Server) Shutdown(ctx context.Context) error {
	s.gateway.Close()
	s.page.Close()
	var err error
	if h := s.served(); h != nil {
		err = h.Shutdown(ctx)
	}
	s.Close()
	return err
}

// URL returns Options.PublicURL, or else the URL of the address that Start listens on. The web page
// has the same URL.
func (s *Server) URL() string {
	s.discord.Lock()
	defer s.discord.Unlock()
	return s.discord.URL
}

// APIURL returns the base of REST calls, URL()+"/api/v10".
func (s *Server) APIURL() string { return s.URL() + "/api/v10" }

// Now returns the simulator's time.
func (s *Server) Now() time.Time { return s.discord.Clock.Now() }

// Advance moves the simulator's clock forward. Before it returns, it runs all timers that are due.
func (s *Server) Advance(d time.Duration) { s.discord.Clock.Advance(d) }

// ServeHTTP answers REST calls, Gateway connections and requests for the web page.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Faults returns the faults of REST calls.
func (s *Server) Faults() *faults.Faults { return s.rest.Faults }

// Gateway returns the simulated Gateway.
func (s *Server) Gateway() *Gateway { return s.gateway }

// Weaken replaces Options.Weakness. An object that the former Weakness.Missing has hidden reappears
// only at the end of its random time (Weakness.For).
func (s *Server) Weaken(w Weakness) {
	s.discord.Lock()
	defer s.discord.Unlock()
	s.discord.Weakness = w
}

// Requests returns the newest REST calls, at most Options.KeepRequests, oldest first.
func (s *Server) Requests() []Request { return s.rest.Requests() }

// RequestsOf is [Server.Requests] with only the calls of the bot whose user id is botID.
func (s *Server) RequestsOf(botID string) []Request { return s.rest.RequestsOf(botID) }

// RequestCounts returns the number of calls of each route; the keys are "METHOD /template".
func (s *Server) RequestCounts() map[string]int { return s.rest.RequestCounts() }

// ResetRequests forgets the recorded calls and sets all counts to zero.
func (s *Server) ResetRequests() { s.rest.ResetRequests() }
