package discordtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Server is a simulated Discord. It is an http.Handler, and Start serves it on an address of its own. All methods may be
// called at any time from any goroutine.
type Server struct {
	opts  Options
	clock *clock
	mux   *http.ServeMux
	http  *http.Server
	url   string

	mu       sync.Mutex // guards everything below
	ids      snowflakes
	random   *rand.Rand
	users    map[string]*User
	bots     map[string]*bot // by token
	guilds   map[string]*guild
	limits   *limiter
	faults   Faults
	gateway  Gateway
	recorder recorder
	watchers map[chan struct{}]bool // the page's open event streams
	closed   bool
}

// New makes a Discord without bots and guilds. Serve it with Start, or mount it as a handler (then set
// Options.PublicURL).
func New(opts Options) *Server {
	s := &Server{
		opts: opts.withDefaults(), users: map[string]*User{}, bots: map[string]*bot{}, guilds: map[string]*guild{},
		watchers: map[chan struct{}]bool{},
	}
	s.clock = newClock(s.opts.Clock, s.opts.Frozen)
	s.random = rand.New(rand.NewPCG(s.opts.Seed, s.opts.Seed)) //nolint:gosec // G404: tests repeat it by its seed
	s.limits = newLimiter(s.opts.Limits)
	s.faults.srv = s
	s.gateway = Gateway{srv: s, sessions: map[string]*session{}}
	s.recorder.counts = map[string]int{}
	s.url = s.opts.PublicURL
	s.mux = s.routes()
	return s
}

// Run starts a Discord for one test and ends it with the test.
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.url == "" {
		s.url = "http://" + l.Addr().String()
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func(h *http.Server) {
		if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Log.Error("the simulated Discord stopped serving", "error", err)
		}
	}(s.http)
	return nil
}

// Close ends all connections, Gateway sessions and timers. It may be called twice.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	h := s.http
	s.faults.releaseAll()
	s.gateway.closeAll()
	s.mu.Unlock()
	s.clock.stop()
	if h != nil {
		_ = h.Close()
	}
}

// Shutdown is Close for a process: it lets running REST calls finish first, for as long as ctx allows.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	h := s.http
	s.closed = true
	s.gateway.closeAll()
	for w := range s.watchers {
		close(w)
	}
	s.watchers = nil
	s.mu.Unlock()
	var err error
	if h != nil {
		err = h.Shutdown(ctx)
	}
	s.Close()
	return err
}

// URL is the address of the server, "http://127.0.0.1:port": the live page is there.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// APIURL is the base of REST calls, URL()+"/api/v10".
func (s *Server) APIURL() string { return s.URL() + "/api/v10" }

// Now is the present on the simulator's clock.
func (s *Server) Now() time.Time { return s.clock.now() }

// Advance moves the simulator's clock forward; what becomes due meanwhile (audit log entries, heartbeat deadlines)
// happens before Advance returns.
func (s *Server) Advance(d time.Duration) { s.clock.advance(d) }

// ServeHTTP answers REST calls, Gateway connections and the live page.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// changed tells the page that there is something new to show; callers hold the lock.
func (s *Server) changed() {
	for w := range s.watchers {
		select {
		case w <- struct{}{}:
		default: // it has yet to look anyway
		}
	}
}

// newID makes an id; callers hold the lock.
func (s *Server) newID() string { return s.ids.next(s.clock.now()) }

// secret makes a random text of n characters; callers hold the lock.
func (s *Server) secret(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[s.random.IntN(len(letters))]
	}
	return string(b)
}
