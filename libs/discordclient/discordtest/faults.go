package discordtest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Fault is something that goes wrong with REST calls.
type Fault struct {
	// Route it concerns, "METHOD /template" (see Routes); empty: all.
	Route string
	// Match narrows it further; nil: all calls of the route. It runs under the simulator's lock: don't call its methods.
	Match func(Request) bool
	// Times is how often it happens before it is over; 0: until removed.
	Times int
	// Rate is its probability, 0 to 1; 0 stands for 1.
	Rate float64
	// Action is what happens.
	Action
}

// Action is what a fault does to a call. The constructors below name the usual ones.
type Action struct {
	// Effect is whether the call is carried out.
	Effect bool
	// Before and After are waits ahead of and behind the effect, on the simulator's clock.
	Before, After time.Duration
	// Late other than 0 carries the call out only that long after the answer, on the simulator's clock.
	Late time.Duration
	// Hold keeps the answer back, after the effect, until it is closed.
	Hold <-chan struct{}
	// Status other than 0 replaces the answer, with Body and Header.
	Status int
	Body   string
	Header http.Header
	// Drop closes the connection instead of answering; with Cut, after that many bytes of the answer (headers
	// included); a negative Cut leaves that many bytes off the end.
	Drop bool
	Cut  int
}

// FailBefore answers with a 5xx without doing anything.
func FailBefore(status int) Action { return Action{Status: status, Body: gatewayError(status)} }

// FailAfter does what is asked, then answers with a 5xx.
func FailAfter(status int) Action {
	return Action{Effect: true, Status: status, Body: gatewayError(status)}
}

// GiveUp answers with a 5xx and does what is asked later: a proxy has given up on Discord, but Discord goes on.
func GiveUp(status int, late time.Duration) Action {
	return Action{Late: late, Status: status, Body: gatewayError(status)}
}

// DropBefore closes the connection without doing anything.
func DropBefore() Action { return Action{Drop: true} }

// DropAfter does what is asked, then closes the connection without an answer.
func DropAfter() Action { return Action{Effect: true, Drop: true} }

// CutAnswer does what is asked and closes the connection after n bytes of the answer; negative: n bytes before its end.
func CutAnswer(n int) Action { return Action{Effect: true, Drop: true, Cut: n} }

// Slow does what is asked and answers late.
func Slow(before, after time.Duration) Action {
	return Action{Effect: true, Before: before, After: after}
}

// Hold does what is asked and keeps the answer back until release is closed.
func Hold(release <-chan struct{}) Action { return Action{Effect: true, Hold: release} }

// RateLimited answers 429 with a scope (user, global, shared) without doing anything.
func RateLimited(after time.Duration, scope string) Action {
	h := http.Header{}
	status, body := (&tooMany{after: after, scope: scope}).write(h)
	h.Set("Content-Type", "application/json")
	return Action{Status: status, Header: h, Body: string(encode(body))}
}

// Banned answers as Cloudflare does for an address with too many invalid requests: 429 in HTML.
func Banned(left time.Duration) Action {
	a := cloudflareBan(left)
	return Action{Status: a.status, Header: a.header, Body: string(a.body)}
}

// BadGateway answers as Cloudflare does when it does not reach Discord: 502 in HTML, without doing anything.
func BadGateway() Action {
	return Action{
		Status: http.StatusBadGateway, Header: http.Header{"Content-Type": {"text/html; charset=UTF-8"}, "Server": {"cloudflare"}},
		Body: "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center><hr><center>cloudflare</center></body></html>",
	}
}

// Garbage answers 200 with something that is no JSON, without doing anything.
func Garbage() Action {
	return Action{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"id": "12`}
}

// gatewayError is the body of Discord's 5xx answers.
func gatewayError(status int) string {
	return fmt.Sprintf(`{"message": "%d: %s", "code": 0}`, status, http.StatusText(status))
}

// Faults are the faults that are switched on.
type Faults struct {
	srv       *Server
	on        []*Fault
	injected  int
	loseAudit int
	released  chan struct{}
}

// Faults switches faults on and off.
func (s *Server) Faults() *Faults { return &s.faults }

// Add switches a fault on; the returned function switches it off. The first one that fits a call is taken.
func (f *Faults) Add(fault Fault) (remove func()) {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	p := &fault
	f.on = append(f.on, p)
	return func() {
		f.srv.mu.Lock()
		defer f.srv.mu.Unlock()
		f.on = slices.DeleteFunc(f.on, func(x *Fault) bool { return x == p })
	}
}

// Clear switches all faults of REST calls off.
func (f *Faults) Clear() {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	f.on, f.loseAudit = nil, 0
}

// Injected is how many calls a fault has hit so far.
func (f *Faults) Injected() int {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	return f.injected
}

// LoseAudit makes the next n actions leave no audit log entry (negative: all), as Discord's log may.
func (f *Faults) LoseAudit(n int) {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	f.loseAudit = n
}

// pick is the fault that hits a call, or nil; callers hold the lock.
func (f *Faults) pick(r Request) *Fault {
	for i, x := range f.on {
		if x.Route != "" && x.Route != r.Route || x.Match != nil && !x.Match(r) {
			continue
		}
		if x.Rate > 0 && f.srv.random.Float64() >= x.Rate {
			continue
		}
		if x.Times > 0 {
			if x.Times--; x.Times == 0 {
				f.on = slices.Delete(f.on, i, i+1)
			}
		}
		f.injected++
		copied := *x
		return &copied
	}
	return nil
}

// releaseAll lets held answers go; callers hold the lock.
func (f *Faults) releaseAll() {
	if f.released == nil {
		f.released = make(chan struct{})
	}
	select {
	case <-f.released:
	default:
		close(f.released)
	}
}

// wait waits on the simulator's clock; false when the client has gone or the server closed.
func (f *Faults) wait(ctx context.Context, d time.Duration, hold <-chan struct{}) bool {
	if d == 0 && hold == nil {
		return true
	}
	f.srv.mu.Lock()
	if f.released == nil {
		f.released = make(chan struct{})
	}
	released := f.released
	f.srv.mu.Unlock()
	if d > 0 {
		done := make(chan struct{})
		stop := f.srv.clock.after(d, func() { close(done) })
		defer stop()
		hold = done
	}
	select {
	case <-hold:
		return true
	case <-ctx.Done():
	case <-released:
	}
	return false
}

// before waits ahead of the effect.
func (f *Faults) before(ctx context.Context, x *Fault) bool {
	return x == nil || f.wait(ctx, x.Before, nil)
}

// replace puts the fault's answer in the place of the real one.
func (x *Fault) replace(a answer) answer {
	if x == nil || x.Status == 0 {
		return a
	}
	h := x.Header.Clone()
	if h == nil {
		h = http.Header{"Content-Type": {"application/json"}}
	}
	return answer{x.Status, h, []byte(x.Body)}
}

// deliver sends the answer, late, cut or not at all when the fault says so.
func (f *Faults) deliver(w http.ResponseWriter, r *http.Request, x *Fault, a answer) {
	if x != nil {
		if !f.wait(r.Context(), x.After, nil) || !f.wait(r.Context(), 0, x.Hold) {
			panic(http.ErrAbortHandler)
		}
		if x.Drop {
			cut(w, a, x.Cut)
		}
	}
	for k, v := range a.header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	if a.status == http.StatusNoContent {
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// cut writes the first n bytes of the answer to the naked connection (negative: all but the last -n), then closes it.
// It does not return.
func cut(w http.ResponseWriter, a answer, n int) {
	defer panic(http.ErrAbortHandler)
	if n == 0 {
		return
	}
	var raw bytes.Buffer
	fmt.Fprintf(&raw, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	_ = a.header.Write(&raw)
	fmt.Fprintf(&raw, "Content-Length: %d\r\n\r\n", len(a.body))
	raw.Write(a.body)
	if n < 0 {
		n = max(0, raw.Len()+n)
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = conn.Write(raw.Bytes()[:min(n, raw.Len())])
	_ = conn.Close()
}
