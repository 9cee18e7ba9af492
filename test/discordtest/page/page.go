// SPDX-License-Identifier: Apache-2.0

// Package page serves the simulator's web page. It shows guilds, channels and messages as the
// Discord app does, and follows changes live.
package page

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"jutsu.com/operators/test/discordtest/internal/model"
)

//go:embed static
var files embed.FS

const interval = 100 * time.Millisecond

const keepAlive = 15 * time.Second

const shownMessages = 100

// Page is the handler of the web page.
type Page struct {
	discord *model.Discord
	// calls returns the number of REST calls of each route. connections returns the number of open
	// Gateway connections.
	calls       func() map[string]int
	connections func() int
	watchers    map[chan struct{}]bool // one channel per open stream; nil after Close
}

// New makes a page that shows d and the numbers of REST calls and Gateway connections.
func New(d *model.Discord, calls func() map[string]int, connections func() int) *Page {
	p := &Page{discord: d, calls: calls, connections: connections, watchers: map[chan struct{}]bool{}}
	d.OnChange = p.changed
	return p
}

// Mount adds the page's paths to a mux.
func (p *Page) Mount(mux *http.ServeMux) {
	files, err := fs.Sub(files, "static")
	if err != nil {
		panic(err)
	}
	static := http.FileServerFS(files)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		// The page must load nothing from other hosts, even if a message links to an image.
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		w.Header().Set("Cache-Control", "no-cache")
		static.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /live", p.live)
	// A channel has the same path as in the Discord app.
	mux.HandleFunc("GET /channels/{place...}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/#/"+r.PathValue("place")) // a fragment of this page, never another host
		w.WriteHeader(http.StatusFound)
	})
	// End-to-end tests read the numbers of REST calls here.
	mux.HandleFunc("GET /calls", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(model.JSON(p.calls()))
	})
}

func (p *Page) live(w http.ResponseWriter, r *http.Request) {
	changes, ok := p.watch()
	if !ok {
		http.Error(w, "the simulator stops", http.StatusServiceUnavailable)
		return
	}
	defer p.unwatch(changes)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	for {
		view := model.JSON(p.view(r.URL.Query().Get("channel")))
		if _, err := fmt.Fprintf(w, "data: %s\n\n", view); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-time.After(interval): // collect several changes in one update
		case <-r.Context().Done():
			return
		}
		if !awaitChange(r.Context(), w, changes) {
			return
		}
	}
}

// awaitChange waits for a change, and returns false if the stream ends first. Meanwhile, it sends
// SSE comments, so that proxies keep the stream open.
func awaitChange(ctx context.Context, w http.ResponseWriter, changes <-chan struct{}) bool {
	for {
		select {
		case _, open := <-changes:
			return open
		case <-ctx.Done():
			return false
		case <-time.After(keepAlive):
			if _, err := fmt.Fprint(w, ": alive\n\n"); err != nil || http.NewResponseController(w).Flush() != nil {
				return false
			}
		}
	}
}

func (p *Page) watch() (chan struct{}, bool) {
	p.discord.Lock()
	defer p.discord.Unlock()
	if p.watchers == nil {
		return nil, false
	}
	c := make(chan struct{}, 1)
	p.watchers[c] = true
	return c, true
}

func (p *Page) unwatch(c chan struct{}) {
	p.discord.Lock()
	defer p.discord.Unlock()
	delete(p.watchers, c)
}

// Callers of changed must lock model.Discord.
func (p *Page) changed() {
	for w := range p.watchers {
		select {
		case w <- struct{}{}:
		default: // the stream still has to read an earlier change
		}
	}
}

// Close ends all streams.
func (p *Page) Close() {
	p.discord.Lock()
	defer p.discord.Unlock()
	for w := range p.watchers {
		close(w)
	}
	p.watchers = nil
}

func (p *Page) view(channel string) map[string]any {
	calls := 0
	for _, n := range p.calls() {
		calls += n
	}
	view := map[string]any{"calls": calls, "gateways": p.connections()}
	p.discord.Lock()
	defer p.discord.Unlock()
	guilds, messages := []any{}, []any{}
	for _, g := range p.discord.SortedGuilds() {
		channels := []any{}
		for _, c := range g.Displayed() {
			channels = append(channels, channelView(g, c))
		}
		guilds = append(guilds, map[string]any{
			"id": g.ID, "name": g.Name, "description": g.Description, "members": len(g.Members), "channels": channels,
			"mentions": p.mentions(g),
		})
	}
	if g, c := p.discord.FindChannel(channel); c != nil {
		list := g.Messages[c.ID]
		for _, m := range list[max(0, len(list)-shownMessages):] {
			messages = append(messages, m.Wire())
		}
	}
	view["guilds"], view["messages"] = guilds, messages
	return view
}

func (p *Page) mentions(g *model.GuildState) map[string]any {
	all := map[string]any{}
	for _, m := range g.Members {
		all["@"+m.UserID] = map[string]any{"name": p.discord.Users[m.UserID].Name}
	}
	for _, r := range g.Roles {
		all["@&"+r.ID] = map[string]any{"name": r.Name, "color": r.Color}
	}
	for _, c := range g.Channels {
		all["#"+c.ID] = map[string]any{"name": c.Name}
	}
	return all
}

func channelView(g *model.GuildState, c *model.Channel) map[string]any {
	hidden, hooks := false, 0
	for _, o := range c.Overwrites {
		hidden = hidden || o.ID == g.ID && o.Deny.Has(model.PermViewChannel)
	}
	for _, w := range g.Webhooks {
		if w.ChannelID == c.ID {
			hooks++
		}
	}
	view := map[string]any{
		"id": c.ID, "type": c.Type, "name": c.Name, "parent": c.ParentID, "topic": c.Topic, "nsfw": c.NSFW,
		"slowmode": c.RateLimitPerUser, "private": hidden, "webhooks": hooks, "messages": len(g.Messages[c.ID]),
	}
	switch {
	case model.VoiceLike(c.Type):
		view["voice"] = map[string]any{
			"bitrate": c.Bitrate, "limit": c.UserLimit, "region": c.Region, "full": c.VideoQuality == 2,
		}
	case model.ForumLike(c.Type):
		view["forum"] = forumView(c)
	}
	return view
}

// forumView shows a guild's own emoji by its id, because its picture is not simulated.
func forumView(c *model.Channel) map[string]any {
	tags := []any{}
	for _, t := range c.Tags {
		tags = append(tags, map[string]any{"name": t.Name, "emoji": shown(t.Emoji), "moderated": t.Moderated})
	}
	order := ""
	if c.SortOrder != nil {
		order = []string{"Recently Active", "Date Posted"}[*c.SortOrder]
	}
	return map[string]any{
		"tags": tags, "reaction": shown(c.Reaction), "order": order, "layout": []string{"", "List", "Gallery"}[c.Layout],
		"threadSlowmode": c.ThreadSlowmode, "requireTag": c.Flags&model.FlagRequireTag != 0,
	}
}

func shown(e model.Emoji) string {
	if e.ID != "" {
		return ":" + e.ID + ":"
	}
	return e.Name
}
