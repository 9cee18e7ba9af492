// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"jutsu.com/operators/test/discordtest/internal/rig"
)

type wire struct {
	t    *testing.T
	ctx  context.Context
	ws   *websocket.Conn
	zlib io.Reader // for compress=zlib-stream
	in   bytes.Buffer
}

type frame struct {
	Op int    `json:"op"`
	D  any    `json:"d"`
	S  *int   `json:"s"`
	T  string `json:"t"`
}

func (f frame) data() obj { m, _ := f.D.(obj); return m }

func dial(r *rig.Rig, query string) *wire {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), 20*time.Second)
	r.T.Cleanup(cancel)
	ws, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(r.Srv.URL(), "http")+"/gateway"+query, nil) //nolint:bodyclose // Dial closes it
	rig.Check(r.T, err)
	ws.SetReadLimit(1 << 24)
	r.T.Cleanup(func() { _ = ws.CloseNow() })
	return &wire{t: r.T, ctx: ctx, ws: ws}
}

func (w *wire) read() (f frame, err error) {
	kind, data, err := w.ws.Read(w.ctx)
	if err != nil {
		return f, err
	}
	if kind == websocket.MessageBinary {
		if w.zlib != nil || strings.HasSuffix(string(data), "\x00\x00\xff\xff") {
			w.in.Write(data)
			if w.zlib == nil {
				if w.zlib, err = zlib.NewReader(&w.in); err != nil {
					return f, err
				}
			}
			err = json.NewDecoder(w.zlib).Decode(&f)
			return f, err
		}
		z, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return f, err
		}
		err = json.NewDecoder(z).Decode(&f)
		return f, err
	}
	err = json.Unmarshal(data, &f)
	return f, err
}

func (w *wire) want(op int, event string) frame {
	w.t.Helper()
	f, err := w.read()
	if err != nil || f.Op != op || f.T != event {
		w.t.Fatalf("got op %d %q (%v), want op %d %q", f.Op, f.T, err, op, event)
	}
	return f
}

// closed expects a close code. The code -1 means an end without a close frame.
func (w *wire) closed(code int) {
	w.t.Helper()
	for {
		if _, err := w.read(); err != nil {
			if got := int(websocket.CloseStatus(err)); got != code {
				w.t.Errorf("closed with %d (%v), want %d", got, err, code)
			}
			return
		}
	}
}

// send adds the required properties to an IDENTIFY, unless the token is "no properties".
func (w *wire) send(op int, d any) {
	w.t.Helper()
	if m, ok := d.(obj); ok && op == 2 && m["properties"] == nil && m["token"] != "no properties" {
		m["properties"] = obj{}
	}
	raw, err := json.Marshal(obj{"op": op, "d": d})
	rig.Check(w.t, err)
	rig.Check(w.t, w.ws.Write(w.ctx, websocket.MessageText, raw))
}

const (
	latest   = "/?v=10&encoding=json"
	intents  = 37 // guilds, moderation, webhooks
	messages = 1 << 9
)

func identified(r *rig.Rig, intents int) (*wire, frame) {
	r.T.Helper()
	w := dial(r, latest)
	w.want(10, "")
	w.send(2, obj{"token": r.Bot.Token, "intents": intents, "properties": obj{}})
	ready := w.want(0, "READY")
	return w, ready
}

type obj = rig.Obj
