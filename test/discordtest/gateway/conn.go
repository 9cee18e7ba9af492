// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/internal/model"
)

const maxFrame = 4096

// largePayload is the minimum size in bytes for compression, if IDENTIFY sets compress.
const largePayload = 1024

// outgoing is a frame, or the end of the connection if close is true. Code 0 sends no close frame.
type outgoing struct {
	frame    []byte
	compress bool
	close    bool
	code     int
	reason   string
}

// conn is one websocket connection. Only writeTo writes to the socket. Callers must lock
// model.Discord, except for open, receive, gone, take, writeTo, write and pack.
type conn struct {
	gateway   *Gateway
	session   *session
	version   int
	queue     []outgoing
	wake      chan struct{}
	ended     bool
	sends     limits.Window
	zstream   *zstream
	stopTimer func()
}

type zstream struct {
	buf bytes.Buffer
	w   *zlib.Writer
}

func newConn(g *Gateway, stream bool) *conn {
	c := &conn{gateway: g, wake: make(chan struct{}, 1), stopTimer: func() {}}
	if stream {
		c.zstream = &zstream{}
		c.zstream.w = zlib.NewWriter(&c.zstream.buf)
	}
	g.discord.Lock()
	defer g.discord.Unlock()
	g.conns = append(g.conns, c)
	g.stats.Connections++
	return c
}

func (c *conn) open(q url.Values) {
	c.gateway.discord.Lock()
	defer c.gateway.discord.Unlock()
	version, err := strconv.Atoi(q.Get("v"))
	if err != nil || version != 9 && version != 10 {
		c.close(4012, "Invalid API version.")
		return
	}
	if e := q.Get("encoding"); e != "" && e != "json" {
		c.close(4002, "Only encoding=json is simulated.")
		return
	}
	if z := q.Get("compress"); z != "" && z != "zlib-stream" {
		c.close(4002, "Only compress=zlib-stream is simulated.")
		return
	}
	c.version = version
	c.beat()
	switch f := c.gateway.faults; {
	case f.WithholdHello:
	case f.ReconnectForHello:
		c.send(frame{Op: opReconnect})
	case f.AckForHello:
		c.send(frame{Op: opAck})
	default:
		c.send(frame{Op: opHello, D: model.JSON(map[string]any{
			"heartbeat_interval": c.gateway.opts.HeartbeatInterval.Milliseconds(), "_trace": []any{}})})
	}
}

// beat restarts the heartbeat deadline. After a missed deadline, close code 4009 ends the session.
// Discord also documents a resume after missed heartbeats. 4009 is the stricter reaction.
func (c *conn) beat() {
	c.stopTimer()
	c.stopTimer = c.gateway.discord.After(c.gateway.opts.HeartbeatInterval*3/2, func() {
		c.close(4009, "Session timed out.")
	})
}

func (c *conn) receive(data []byte) {
	c.gateway.discord.Lock()
	defer c.gateway.discord.Unlock()
	if c.ended {
		return
	}
	if r := c.gateway.opts.Limits.GatewaySends; r.N > 0 {
		now := c.gateway.discord.Clock.Now()
		if !now.Before(c.sends.End) {
			c.sends = limits.Window{End: now.Add(r.Per)}
		}
		if c.sends.Used++; c.sends.Used > r.N {
			c.close(4008, "You are being rate limited.")
			return
		}
	}
	var f struct {
		Op *int            `json:"op"`
		D  json.RawMessage `json:"d"`
	}
	if len(data) > maxFrame || json.Unmarshal(data, &f) != nil || f.Op == nil {
		c.close(4002, "Error while decoding payload.")
		return
	}
	c.act(*f.Op, f.D)
}

func (c *conn) act(op int, d json.RawMessage) {
	switch op {
	case opHeartbeat:
		c.gateway.stats.Heartbeats++
		c.beat()
		if !c.gateway.faults.WithholdAcks {
			c.send(frame{Op: opAck})
		}
	case opIdentify:
		if c.session != nil {
			c.close(4005, "Already authenticated.")
			return
		}
		c.start(d)
	case opResume:
		if c.session != nil {
			c.close(4005, "Already authenticated.")
			return
		}
		c.resume(d)
	case opPresence, opVoiceState, opRequestMembers:
		if c.session == nil {
			c.close(4003, "Not authenticated.")
		}
	default:
		c.close(4001, "Unknown opcode.")
	}
}

func (c *conn) send(f frame) {
	if f.D == nil {
		f.D = json.RawMessage("null")
	}
	c.push(outgoing{frame: model.JSON(f), compress: c.session != nil && c.session.compress})
}

func (c *conn) close(code int, reason string) {
	c.push(outgoing{close: true, code: code, reason: reason})
	c.end(code)
}

func (c *conn) push(o outgoing) {
	if c.ended {
		return
	}
	c.queue = append(c.queue, o)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// end detaches the session. If code is not in endings, the session can be resumed.
func (c *conn) end(code int) {
	g, s := c.gateway, c.session
	c.ended = true
	c.stopTimer()
	g.conns = slices.DeleteFunc(g.conns, func(x *conn) bool { return x == c })
	if s == nil || s.conn != c {
		return
	}
	s.conn = nil
	if slices.Contains(endings, code) {
		delete(g.sessions, s.id)
		return
	}
	s.keep = g.discord.After(g.opts.SessionLife, func() {
		if s.conn == nil {
			delete(g.sessions, s.id)
		}
	})
}

// endings are the close codes, from either side, after which a session cannot be resumed.
var endings = []int{1000, 1001, 4004, 4007, 4009, 4010, 4011, 4012, 4013, 4014}

func (c *conn) gone(status websocket.StatusCode) {
	c.gateway.discord.Lock()
	defer c.gateway.discord.Unlock()
	c.push(outgoing{close: true})
	c.end(int(status))
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *conn) take() (out []outgoing, last bool) {
	c.gateway.discord.Lock()
	defer c.gateway.discord.Unlock()
	out, c.queue = c.queue, nil
	return out, c.ended
}

func (c *conn) writeTo(ctx context.Context, ws *websocket.Conn) {
	for {
		list, last := c.take()
		for _, o := range list {
			if o.close && o.code == 0 {
				_ = ws.CloseNow()
				return
			}
			if o.close {
				_ = ws.Close(websocket.StatusCode(o.code), o.reason)
				return
			}
			if c.write(ctx, ws, o) != nil {
				_ = ws.CloseNow()
				return
			}
		}
		if last {
			_ = ws.CloseNow()
			return
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			_ = ws.CloseNow()
			return
		}
	}
}

// write has a deadline, because the queue for a client that does not read would grow.
func (c *conn) write(ctx context.Context, ws *websocket.Conn, o outgoing) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	kind, data := c.pack(o)
	return ws.Write(ctx, kind, data)
}

func (c *conn) pack(o outgoing) (websocket.MessageType, []byte) {
	switch {
	case c.zstream != nil:
		c.zstream.buf.Reset()
		_, _ = c.zstream.w.Write(o.frame)
		_ = c.zstream.w.Flush()
		return websocket.MessageBinary, bytes.Clone(c.zstream.buf.Bytes())
	case o.compress && len(o.frame) >= largePayload:
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		_, _ = w.Write(o.frame)
		_ = w.Close()
		return websocket.MessageBinary, b.Bytes()
	}
	return websocket.MessageText, o.frame
}

// trimBot removes the prefix "Bot ", which some libraries add to the token in an IDENTIFY.
func trimBot(token string) string { return strings.TrimPrefix(token, "Bot ") }
