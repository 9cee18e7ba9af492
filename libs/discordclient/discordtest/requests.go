package discordtest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Request is a REST call that arrived. Secrets are not in it: no Authorization, and "[token]" where a webhook's would be.
type Request struct {
	// Time of arrival on the simulator's clock.
	Time time.Time
	// Method and Route, "METHOD /template"; unknown paths have "* /".
	Method, Route string
	// Path without the host, with version.
	Path  string
	Query url.Values
	// Header without Authorization.
	Header http.Header
	Body   []byte
	// BotID is the bot user that called; empty for none or an unknown token.
	BotID string
	// Status of the answer; 0 when the connection was cut or the call is still on.
	Status int
}

// recorder remembers requests; the server's lock guards it.
type recorder struct {
	all    []*Request
	counts map[string]int
}

// add remembers a call; the oldest is forgotten when there are more than keep.
func (rc *recorder) add(c *call, now time.Time, keep int) *Request {
	rec := &Request{
		Time: now, Method: c.r.Method, Route: c.route.String(), Path: c.r.URL.Path, Query: c.r.URL.Query(),
		Header: c.r.Header.Clone(), Body: c.body,
	}
	rec.Header.Del("Authorization")
	if b := c.srv.botOf(c.r.Header.Get("Authorization")); b != nil {
		rec.BotID = b.UserID
	}
	if t := c.r.PathValue("webhook_token"); t != "" {
		rec.Path = strings.Replace(rec.Path, t, "[token]", 1)
	}
	rc.all = append(rc.all, rec)
	if len(rc.all) > keep {
		rc.all = slices.Delete(rc.all, 0, len(rc.all)-keep)
	}
	rc.counts[rec.Route]++
	return rec
}

// Requests are the REST calls so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, 0, len(s.recorder.all))
	for _, r := range s.recorder.all {
		out = append(out, *r)
	}
	return out
}

// RequestCounts is how many calls each route got so far, by "METHOD /template".
func (s *Server) RequestCounts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.recorder.counts)
}

// ResetRequests forgets the calls so far, counts too.
func (s *Server) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorder.all, s.recorder.counts = nil, map[string]int{}
}
