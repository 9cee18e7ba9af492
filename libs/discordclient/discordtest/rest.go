package discordtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// call is one REST call on its way through the simulator.
type call struct {
	srv   *Server
	r     *http.Request
	route *route
	body  []byte
	bot   *bot // nil on calls that need no authorization and bring none
	addr  string
	now   time.Time
	head  http.Header // of the answer
}

// answer is what goes back: JSON of body, or text when it is set (what proxies in front of Discord say).
type answer struct {
	status int
	header http.Header
	body   []byte
}

// maxBody is the largest request body that is read, 25 MiB, Discord's limit of uploads.
const maxBody = 25 << 20

// serve is the handler of a route: read, decide under the lock, then answer as the faults will have it.
func (s *Server) serve(rt *route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			panic(http.ErrAbortHandler) // the client went away in mid-sentence: nothing has happened
		}
		c := &call{srv: s, r: r, route: rt, body: body, head: http.Header{}, addr: host(r.RemoteAddr)}
		s.mu.Lock()
		rec := s.recorder.add(c, s.clock.now(), s.opts.KeepRequests)
		fault := s.faults.pick(*rec)
		s.mu.Unlock()

		// What has come whole is carried out, also when whoever asked for it has hung up meanwhile.
		if !s.faults.before(context.WithoutCancel(r.Context()), fault) {
			panic(http.ErrAbortHandler)
		}
		s.mu.Lock()
		c.now = s.clock.now()
		a, banned := c.banned()
		switch {
		case banned:
		case fault != nil && fault.Late > 0:
			s.doLater(c, fault.Late)
		case fault == nil || fault.Effect:
			a = c.answer()
		}
		if a = fault.replace(a); !banned {
			s.limits.judge(c.addr, a, c.now)
		}
		rec.Status = a.status
		s.changed()
		s.mu.Unlock()
		s.faults.deliver(w, r, fault, a)
	}
}

// doLater carries a call out that was answered already; callers hold the lock.
func (s *Server) doLater(c *call, late time.Duration) {
	s.clock.after(late, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.now = s.clock.now()
		c.answer()
		s.changed()
	})
}

// host is the address without the port.
func host(addr string) string {
	if h, _, err := net.SplitHostPort(addr); err == nil {
		return h
	}
	return addr
}

// banned is the answer to an address that is banned; callers hold the lock.
func (c *call) banned() (answer, bool) {
	until := c.srv.limits.banned[c.addr]
	return cloudflareBan(until.Sub(c.now)), c.now.Before(until)
}

// answer decides what to say, and does what is asked; callers hold the lock.
func (c *call) answer() answer {
	status, body, err := c.run()
	if limited, ok := errors.AsType[*tooMany](err); ok {
		status, body = limited.write(c.head)
	} else if refused, ok := errors.AsType[*apiError](err); ok {
		status, body = refused.Status, refused
	}
	a := answer{status: status, header: c.head}
	if body != nil {
		a.body = encode(body)
		c.head.Set("Content-Type", "application/json")
	}
	return a
}

// run checks who calls and how often, then lets the route do its work.
func (c *call) run() (status int, body any, err error) {
	c.bot = c.srv.botOf(c.r.Header.Get("Authorization"))
	who := "address/" + c.addr
	switch {
	case c.bot != nil:
		who = "bot/" + c.bot.UserID
	case !c.route.open:
		return 0, nil, errUnauthorized
	}
	if c.bot != nil && !c.srv.opts.AnyUserAgent && !bytes.HasPrefix([]byte(c.r.UserAgent()), []byte("DiscordBot (")) {
		return 0, nil, errNetwork
	}
	if err := c.srv.limits.admit(c.head, c.route, who, c.major(), c.now); err != nil {
		return 0, nil, err
	}
	return c.route.handle(c)
}

// major is the part of the path that a bucket is kept apart by.
func (c *call) major() string {
	for _, name := range []string{"webhook_id", "channel_id", "guild_id"} {
		if v := c.r.PathValue(name); v != "" {
			return v + "/" + c.r.PathValue("webhook_token")
		}
	}
	return ""
}

// flag reads a boolean of the query: true, True or 1.
func (c *call) flag(name string) bool {
	switch c.r.URL.Query().Get(name) {
	case "true", "True", "1":
		return true
	}
	return false
}

// number reads an integer of the query within bounds; absent is the default.
func (c *call) number(name string, def, lo, hi int) (int, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, invalidForm(fieldError{name, "NUMBER_TYPE_COERCE", "Value \"" + text + "\" is not int."})
	case n < lo:
		return 0, invalidForm(fieldError{name, "NUMBER_TYPE_MIN", "int value should be greater than or equal to " + strconv.Itoa(lo) + "."})
	case n > hi:
		return 0, invalidForm(fieldError{name, "NUMBER_TYPE_MAX", "int value should be less than or equal to " + strconv.Itoa(hi) + "."})
	}
	return n, nil
}

// cloudflareBan is what an address gets that made too many invalid requests: HTML, no JSON.
func cloudflareBan(left time.Duration) answer {
	h := http.Header{"Content-Type": {"text/html; charset=UTF-8"}, "Retry-After": {strconv.Itoa(int(left.Seconds()) + 1)}, "Server": {"cloudflare"}}
	return answer{http.StatusTooManyRequests, h, []byte("<!DOCTYPE html>" +
		"<title>Access denied | discord.com used Cloudflare to restrict access</title><p>Error 1015: You are being rate limited</p>")}
}
