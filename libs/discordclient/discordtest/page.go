package discordtest

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"time"
)

// pageFiles are the live page: plain HTML, CSS and JavaScript.
//
//go:embed page
var pageFiles embed.FS

// pageInterval is the shortest time between two updates of the page, in real time.
const pageInterval = 100 * time.Millisecond

// pageAlive is how long a stream is silent at most, in real time.
const pageAlive = 15 * time.Second

// pageMessages is how many messages of a channel the page shows, the newest ones.
const pageMessages = 100

// pageRoutes puts the live page on the root.
func (s *Server) pageRoutes(mux *http.ServeMux) {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err)
	}
	static := http.FileServerFS(files)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		// The page loads nothing from elsewhere, whatever people write into messages.
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		w.Header().Set("Cache-Control", "no-cache")
		static.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /live", s.live)
	// How many calls each route got so far, for end-to-end tests in another process.
	mux.HandleFunc("GET /calls", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(encode(s.RequestCounts()))
	})
}

// live streams what the page shows as server-sent events: everything at once, again whenever something has changed.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	changes, ok := s.watch()
	if !ok {
		http.Error(w, "the simulator stops", http.StatusServiceUnavailable)
		return
	}
	defer s.unwatch(changes)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	for {
		s.mu.Lock()
		view := encode(s.view(r.URL.Query().Get("channel")))
		s.mu.Unlock()
		if _, err := fmt.Fprintf(w, "data: %s\n\n", view); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-time.After(pageInterval): // many changes at once make one update
		case <-r.Context().Done():
			return
		}
		if !awaitChange(r.Context(), w, changes) {
			return
		}
	}
}

// awaitChange waits until something has changed; false when the stream ends. A comment now and then shows proxies that it is
// alive, and us that somebody listens.
func awaitChange(ctx context.Context, w http.ResponseWriter, changes <-chan struct{}) bool {
	for {
		select {
		case _, open := <-changes:
			return open
		case <-ctx.Done():
			return false
		case <-time.After(pageAlive):
			if _, err := fmt.Fprint(w, ": alive\n\n"); err != nil || http.NewResponseController(w).Flush() != nil {
				return false
			}
		}
	}
}

// watch opens a stream of changes; false when the server stops.
func (s *Server) watch() (chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		return nil, false
	}
	c := make(chan struct{}, 1)
	s.watchers[c] = true
	return c, true
}

// unwatch ends it.
func (s *Server) unwatch(c chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, c)
}

// view is what the page shows, with the messages of one channel; callers hold the lock.
func (s *Server) view(channel string) map[string]any {
	guilds := []any{}
	for _, g := range slices.SortedFunc(maps.Values(s.guilds), func(a, b *guild) int { return compareIDs(a.ID, b.ID) }) {
		channels := []any{}
		for _, c := range g.displayed() {
			channels = append(channels, g.channelView(c))
		}
		guilds = append(guilds, map[string]any{"id": g.ID, "name": g.Name, "description": g.Description, "members": len(g.members), "channels": channels})
	}
	calls := 0
	for _, n := range s.recorder.counts {
		calls += n
	}
	view := map[string]any{"guilds": guilds, "calls": calls, "gateways": len(s.gateway.conns), "messages": []any{}}
	if g, c := s.findChannel(channel); c != nil {
		all := []any{}
		list := g.messages[c.ID]
		for _, m := range list[max(0, len(list)-pageMessages):] {
			all = append(all, m.wire())
		}
		view["messages"] = all
	}
	return view
}

// channelView is a channel in the list.
func (g *guild) channelView(c *Channel) map[string]any {
	hidden, hooks := false, 0
	for _, o := range c.Overwrites {
		hidden = hidden || o.ID == g.ID && o.Deny.Has(PermViewChannel)
	}
	for _, w := range g.webhooks {
		if w.ChannelID == c.ID {
			hooks++
		}
	}
	return map[string]any{"id": c.ID, "type": c.Type, "name": c.Name, "parent": c.ParentID, "topic": c.Topic, "nsfw": c.NSFW,
		"slowmode": c.RateLimitPerUser, "private": hidden, "webhooks": hooks, "messages": len(g.messages[c.ID])}
}
