package discordtest

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
)

// maxFrame is the largest frame that a client may send, in bytes.
const maxFrame = 4096

// largePayload is from where on payloads are compressed for clients that asked for it in IDENTIFY.
const largePayload = 1024

// outgoing is a frame, or the end of the connection when close is set: code 0 cuts the wire.
type outgoing struct {
	frame    []byte
	compress bool
	close    bool
	code     int
	reason   string
}

// gatewayConn is one websocket. The server's lock guards it; only writeTo touches the socket.
type gatewayConn struct {
	gateway   *Gateway
	session   *session
	version   int
	queue     []outgoing
	wake      chan struct{}
	ended     bool
	sends     window
	zstream   *zstream
	stopTimer func()
}

// zstream is the shared compression context of compress=zlib-stream.
type zstream struct {
	buf bytes.Buffer
	w   *zlib.Writer
}

// newConn makes a connection that has said nothing yet.
func newConn(g *Gateway, stream bool) *gatewayConn {
	c := &gatewayConn{gateway: g, wake: make(chan struct{}, 1), stopTimer: func() {}}
	if stream {
		c.zstream = &zstream{}
		c.zstream.w = zlib.NewWriter(&c.zstream.buf)
	}
	g.srv.mu.Lock()
	defer g.srv.mu.Unlock()
	g.conns = append(g.conns, c)
	g.stats.Connections++
	return c
}

// open checks the query and says HELLO.
func (c *gatewayConn) open(q url.Values) {
	srv := c.gateway.srv
	srv.mu.Lock()
	defer srv.mu.Unlock()
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
		c.send(frame{Op: opHello, D: encode(map[string]any{
			"heartbeat_interval": srv.opts.HeartbeatInterval.Milliseconds(), "_trace": []any{}})})
	}
}

// beat gives the client one and a half heartbeat intervals from now. Its session ends with 4009: of the two things that
// Discord's documentation says about a silent client (start anew after 4009, resume after a missed heartbeat) the harder.
func (c *gatewayConn) beat() {
	srv := c.gateway.srv
	c.stopTimer()
	c.stopTimer = srv.clock.after(srv.opts.HeartbeatInterval*3/2, func() {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		c.close(4009, "Session timed out.")
	})
}

// receive acts on what a client sent.
func (c *gatewayConn) receive(data []byte) {
	srv := c.gateway.srv
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if c.ended {
		return
	}
	if r := srv.opts.Limits.GatewaySends; r.N > 0 {
		now := srv.clock.now()
		if !now.Before(c.sends.end) {
			c.sends = window{end: now.Add(r.Per)}
		}
		if c.sends.used++; c.sends.used > r.N {
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

// act is receive for a frame that could be read; callers hold the lock.
func (c *gatewayConn) act(op int, d json.RawMessage) {
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

// send queues a frame; callers hold the lock.
func (c *gatewayConn) send(f frame) {
	if f.D == nil {
		f.D = json.RawMessage("null")
	}
	c.push(outgoing{frame: encode(f), compress: c.session != nil && c.session.compress})
}

// close queues the end; callers hold the lock. Frames that were queued before still go out.
func (c *gatewayConn) close(code int, reason string) {
	c.push(outgoing{close: true, code: code, reason: reason})
	c.end(code)
}

// push queues something for writeTo.
func (c *gatewayConn) push(o outgoing) {
	if c.ended {
		return
	}
	c.queue = append(c.queue, o)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// end takes the connection off the books. The session stays for a RESUME, for a while, unless the code ends it too.
func (c *gatewayConn) end(code int) {
	g, s := c.gateway, c.session
	c.ended = true
	c.stopTimer()
	g.conns = slices.DeleteFunc(g.conns, func(x *gatewayConn) bool { return x == c })
	if s == nil || s.conn != c {
		return
	}
	s.conn = nil
	if slices.Contains(endings, code) {
		delete(g.sessions, s.id)
		return
	}
	s.keep = g.srv.clock.after(g.srv.opts.SessionLife, func() {
		g.srv.mu.Lock()
		defer g.srv.mu.Unlock()
		if s.conn == nil {
			delete(g.sessions, s.id)
		}
	})
}

// endings are the close codes, of either side, that end the session too.
var endings = []int{1000, 1001, 4004, 4007, 4009, 4010, 4011, 4012, 4013, 4014}

// gone is the end from the client's side.
func (c *gatewayConn) gone(status websocket.StatusCode) {
	c.gateway.srv.mu.Lock()
	defer c.gateway.srv.mu.Unlock()
	c.push(outgoing{close: true})
	c.end(int(status))
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// take is what is queued, and whether nothing will come after it.
func (c *gatewayConn) take() (out []outgoing, last bool) {
	c.gateway.srv.mu.Lock()
	defer c.gateway.srv.mu.Unlock()
	out, c.queue = c.queue, nil
	return out, c.ended
}

// writeTo writes what is queued to the socket until the end.
func (c *gatewayConn) writeTo(ctx context.Context, ws *websocket.Conn) {
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

// write sends one frame. A client that does not read is not waited for: its queue would grow.
func (c *gatewayConn) write(ctx context.Context, ws *websocket.Conn, o outgoing) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	kind, data := c.pack(o)
	return ws.Write(ctx, kind, data)
}

// pack compresses a frame as the client wants it.
func (c *gatewayConn) pack(o outgoing) (websocket.MessageType, []byte) {
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

// trimBot takes off the prefix that some libraries send along.
func trimBot(token string) string { return strings.TrimPrefix(token, "Bot ") }
