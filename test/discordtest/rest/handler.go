// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
	"jutsu.com/operators/test/discordtest/rest/faults"
)

// Handler answers REST calls.
type Handler struct {
	Faults *faults.Faults

	discord *model.Discord
	opts    call.Options
	// The lock of model.Discord guards the fields below.
	windows  *limits.Windows
	banned   map[string]time.Time // end of the ban for each banned IP address
	recorder recorder
}

// New makes a handler. It records at most `keep` calls.
func New(d *model.Discord, w *limits.Windows, o call.Options, keep int) *Handler {
	return &Handler{
		Faults: faults.New(d), discord: d, opts: o, windows: w, banned: map[string]time.Time{},
		recorder: recorder{keep: keep, counts: map[string]int{}},
	}
}

func (h *Handler) serve(rt *route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, call.MaxBody))
		if err != nil {
			panic(http.ErrAbortHandler) // the client left before the request was complete
		}
		c := &call.Call{
			Discord: h.discord, Options: h.opts, Windows: h.windows, Request: r, Body: body, Header: http.Header{},
		}
		h.discord.Lock()
		rec := h.recorder.add(c, rt)
		fault := h.Faults.Pick(*rec)
		h.discord.Unlock()

		// A received call is executed even if its client disconnects during the wait.
		if !h.Faults.Before(context.WithoutCancel(r.Context()), fault) {
			panic(http.ErrAbortHandler)
		}
		a := h.decide(c, rt, rec, fault)
		h.Faults.Deliver(w, r, fault, a)
	}
}

func (h *Handler) decide(c *call.Call, rt *route, rec *call.Request, fault *faults.Fault) call.Answer {
	h.discord.Lock()
	defer h.discord.Unlock()
	c.Now = h.discord.Clock.Now()
	c.Stale = h.discord.Weakness.Stale > 0 && h.discord.Chance(h.discord.Weakness.Stale)
	addr := host(c.Request.RemoteAddr)
	until := h.banned[addr]
	banned := c.Now.Before(until)
	var a call.Answer
	switch {
	case banned:
		a = call.CloudflareBan(until.Sub(c.Now))
	case fault != nil && fault.Late > 0:
		h.discord.After(fault.Late, func() {
			c.Now = h.discord.Clock.Now()
			h.answer(c, rt)
			h.discord.OnChange()
		})
	case fault == nil || fault.Effect:
		a = h.answer(c, rt)
	}
	if a = fault.Replace(a); !banned {
		h.countInvalid(addr, a, c.Now)
	}
	rec.Status = a.Status
	h.discord.OnChange()
	return a
}

func host(addr string) string {
	if h, _, err := net.SplitHostPort(addr); err == nil {
		return h
	}
	return addr
}

func (h *Handler) answer(c *call.Call, rt *route) call.Answer {
	status, body, err := h.run(c, rt)
	if limited, ok := errors.AsType[*call.TooMany](err); ok {
		status, body = limited.Write(c.Header)
	} else if refused, ok := errors.AsType[*call.Error](err); ok {
		refused = refused.For(h.opts.Compatible)
		status, body = refused.Status, refused
	}
	a := call.Answer{Status: status, Header: c.Header}
	if body != nil {
		a.Body = model.JSON(body)
		c.Header.Set("Content-Type", "application/json")
	}
	return a
}

func (h *Handler) run(c *call.Call, rt *route) (status int, body any, err error) {
	c.Bot = h.discord.BotOf(c.Request.Header.Get("Authorization"))
	who := "address/" + host(c.Request.RemoteAddr)
	switch {
	case c.Bot != nil:
		who = "bot/" + c.Bot.UserID
	case !rt.open:
		return 0, nil, call.ErrUnauthorized
	}
	if c.Bot != nil && !h.opts.AnyUserAgent && !bytes.HasPrefix([]byte(c.Request.UserAgent()), []byte("DiscordBot (")) {
		return 0, nil, call.ErrNetwork
	}
	if err := h.admit(c, rt, who); err != nil {
		return 0, nil, err
	}
	for _, key := range rt.ids() {
		if err := call.CheckID(key, c.Path(key)); err != nil {
			return 0, nil, err
		}
	}
	return rt.handle(c)
}
