// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Opcodes: https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatACK   = 11
)

// maxFrame is in bytes. GUILD_CREATE has a whole guild, and Discord documents no limit.
const maxFrame = 64 << 20

var (
	errReconnect      = errors.New("the Gateway asked for a new connection (op 7)")
	errInvalidSession = errors.New("the Gateway refused the session (op 9)")
	errZombie         = errors.New("a heartbeat was not acknowledged")
	errHello          = errors.New("no HELLO in time")
	errReady          = errors.New("no READY in time")
)

type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int64          `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
}

type connection struct {
	Config
	ws      *websocket.Conn
	seq     atomic.Int64 // sequence number of the last event; 0 before the first event
	acked   atomic.Bool  // whether Discord acknowledged the last heartbeat
	greeted bool         // whether HELLO arrived
	ready   bool         // whether READY arrived
	fail    context.CancelCauseFunc
	beats   sync.WaitGroup
}

func (c *connection) run(ctx context.Context, rawURL string) error {
	ctx, fail := context.WithCancelCause(ctx)
	c.fail = fail
	defer func() { fail(nil); c.beats.Wait() }()
	deadline := time.AfterFunc(c.Timing.Hello, func() { fail(errHello) })
	defer func() { deadline.Stop() }()
	target, err := withVersion(rawURL)
	if err != nil {
		return err
	}
	c.Handler.Connecting()
	ws, _, err := websocket.Dial(ctx, target, &websocket.DialOptions{ //nolint:bodyclose // Dial closes it
		HTTPClient: c.HTTP, HTTPHeader: http.Header{"User-Agent": {c.Agent}}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return causeOf(ctx, fmt.Errorf("connect to the Gateway: %w", err))
	}
	ws.SetReadLimit(maxFrame)
	c.ws = ws
	err = c.read(ctx, &deadline)
	if ctx.Err() == nil || errors.Is(err, errReconnect) {
		// Close ends the session on Discord's side. It takes 5 s if the peer is gone, so do not
		// wait for it.
		go func() { _ = ws.Close(websocket.StatusNormalClosure, "") }()
	} else {
		_ = ws.CloseNow()
	}
	return err
}

func (c *connection) read(ctx context.Context, deadline **time.Timer) error {
	for {
		kind, raw, err := c.ws.Read(ctx)
		if err != nil {
			return causeOf(ctx, err)
		}
		c.Handler.Alive()
		if kind != websocket.MessageText {
			return errors.New("the Gateway sent a binary frame, which was not requested")
		}
		var f frame
		if err := json.Unmarshal(raw, &f); err != nil {
			return errors.New("the Gateway sent a frame that is not JSON")
		}
		if f.Op == opHello && !c.greeted {
			(*deadline).Stop()
			*deadline = time.AfterFunc(c.Timing.Ready, func() { c.fail(errReady) })
		}
		if err := c.handle(ctx, &f); err != nil {
			return causeOf(ctx, err)
		}
		if c.ready {
			(*deadline).Stop()
		}
	}
}

func (c *connection) handle(ctx context.Context, f *frame) error {
	switch f.Op {
	case opDispatch:
		c.dispatch(f)
	case opHeartbeat:
		return c.beat(ctx)
	case opReconnect:
		return errReconnect
	case opInvalidSession:
		return errInvalidSession
	case opHello:
		return c.hello(ctx, f.Data)
	case opHeartbeatACK:
		c.acked.Store(true)
	}
	return nil
}

func (c *connection) dispatch(f *frame) {
	gap := false
	if f.Seq != nil {
		last := c.seq.Swap(*f.Seq)
		gap = last != 0 && *f.Seq > last+1
	}
	if f.Type == "READY" {
		c.ready = true
	}
	c.Handler.Dispatch(f.Type, f.Data, gap)
}

func (c *connection) hello(ctx context.Context, data []byte) error {
	var d struct {
		Interval float64 `json:"heartbeat_interval"` // milliseconds
	}
	if err := json.Unmarshal(data, &d); err != nil || d.Interval < 1 || d.Interval > 3_600_000 {
		return errors.New("the Gateway sent a HELLO without a usable heartbeat interval")
	}
	if c.greeted {
		return errors.New("the Gateway sent a second HELLO")
	}
	c.greeted = true
	c.acked.Store(true)
	c.beats.Go(func() { c.heartbeat(ctx, time.Duration(d.Interval*float64(time.Millisecond))) })
	return c.send(ctx, opIdentify, map[string]any{
		"token": c.Token(), "intents": c.Intents, "large_threshold": 50,
		"properties": map[string]string{"os": "linux", "browser": "jutsu", "device": "jutsu"},
	})
}

// heartbeat sends heartbeats. It ends the connection if Discord did not acknowledge a heartbeat:
// the connection is then dead, even if TCP has not noticed.
func (c *connection) heartbeat(ctx context.Context, interval time.Duration) {
	wait := firstBeat(interval)
	for sleep(ctx, wait) {
		if !c.acked.Swap(false) {
			c.fail(errZombie)
			return
		}
		if err := c.beat(ctx); err != nil {
			c.fail(err)
			return
		}
		wait = interval
	}
}

// firstBeat returns the pause before the first heartbeat. The pause is random, so that not all
// clients send heartbeats at once after an outage.
func firstBeat(interval time.Duration) time.Duration {
	return time.Duration(rand.Float64() * float64(interval)) //nolint:gosec // G404: jitter, no secret
}

func (c *connection) beat(ctx context.Context) error {
	var d any
	if seq := c.seq.Load(); seq != 0 {
		d = seq
	}
	return c.send(ctx, opHeartbeat, d)
}

// Errors of send do not contain the data, which may contain the token.
func (c *connection) send(ctx context.Context, op int, data any) error {
	raw, err := json.Marshal(map[string]any{"op": op, "d": data})
	if err != nil {
		return fmt.Errorf("make frame with op %d: %w", op, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, raw)
}

func withVersion(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", errors.New("the Gateway's address is not a URL")
	}
	q := u.Query()
	q.Set("v", "10")
	q.Set("encoding", "json")
	u.RawQuery = q.Encode()
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), nil
}

func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func fatalOf(err error) *Fatal {
	code := int(websocket.CloseStatus(err))
	if reason, ok := fatalCodes[code]; ok {
		return &Fatal{Code: code, Reason: reason}
	}
	return nil
}
