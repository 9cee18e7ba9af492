// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestTheGatewayClosesWithACode(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4097)
	for name, tc := range map[string]struct {
		query string
		op    int
		d     any
		twice bool
		code  int
	}{
		"version 8":                     {query: "/?v=8&encoding=json", code: 4012},
		"no version":                    {query: "/", code: 4012},
		"encoding etf":                  {query: "/?v=10&encoding=etf", code: 4002},
		"unknown op":                    {query: latest, op: 99, code: 4001},
		"frame of more than 4096 bytes": {query: latest, op: 1, d: long, code: 4002},
		"not authenticated":             {query: latest, op: 3, d: obj{}, code: 4003},
		"wrong token":                   {query: latest, op: 2, d: obj{"token": "x", "intents": 1}, code: 4004},
		"no intents":                    {query: latest, op: 2, d: obj{"token": "{t}"}, code: 4013},
		"unknown intents":               {query: latest, op: 2, d: obj{"token": "{t}", "intents": 1 << 30}, code: 4013},
		"privileged intents":            {query: latest, op: 2, d: obj{"token": "{t}", "intents": 1 << 15}, code: 4014},
		"shard out of range":            {query: latest, op: 2, d: obj{"token": "{t}", "intents": 1, "shard": []int{1, 1}}, code: 4010},
		"no properties":                 {query: latest, op: 2, d: obj{"token": "no properties", "intents": 1}, code: 4002},
		"compress=zstd-stream":          {query: latest + "&compress=zstd-stream", code: 4002},
		"identify is no object":         {query: latest, op: 2, d: "x", code: 4002},
		"identified twice":              {query: latest, op: 2, d: obj{"token": "{t}", "intents": 1}, twice: true, code: 4005},
		"resume with bad token":         {query: latest, op: 6, d: obj{"token": "x"}, code: 4004},
		"resume is no object":           {query: latest, op: 6, d: 7, code: 4002},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Usual)
			w := dial(r, tc.query)
			if tc.op != 0 {
				var d any
				if tc.d != nil {
					rig.Check(t, json.Unmarshal([]byte(rig.Replacer("{t}", r.Bot.Token).Body(t, tc.d).(string)), &d))
				}
				w.send(tc.op, d)
				if tc.twice {
					w.send(tc.op, d)
				}
			}
			w.closed(tc.code)
		})
	}
	t.Run("not JSON", func(t *testing.T) {
		w := dial(rig.New(t, rig.Usual), latest)
		rig.Check(t, w.ws.Write(w.ctx, websocket.MessageText, []byte("hello")))
		w.closed(4002)
	})
}

func TestResume(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	w, ready := identified(r, 1)
	w.want(0, "GUILD_CREATE")
	session := ready.data()["session_id"]
	r.Srv.Gateway().Drop(0)
	w.closed(-1)
	id := r.Channel(obj{"name": "missed"})

	w = dial(r, latest)
	w.want(10, "")
	w.send(6, obj{"token": r.Bot.Token, "session_id": session, "seq": 2})
	if f := w.want(0, "CHANNEL_CREATE"); f.data()["id"] != id || *f.S != 3 {
		t.Errorf("replayed %v", f)
	}
	w.want(0, "RESUMED")
	r.Channel(obj{"name": "next"})
	if f := w.want(0, "CHANNEL_CREATE"); *f.S != 5 {
		t.Errorf("after the replay: %d", *f.S)
	}
	r.Srv.Gateway().Reconnect()
	w.want(7, "")
	r.Srv.Gateway().Invalidate(true)
	if f := w.want(9, ""); f.D != true {
		t.Errorf("op 9 %v", f.D)
	}
	rig.Check(t, w.ws.Close(4000, "")) // 4000 keeps the session
	w = dial(r, latest)
	w.want(10, "")
	w.send(6, obj{"token": r.Bot.Token, "session_id": session, "seq": 99})
	w.closed(4007)
	w = dial(r, latest)
	w.want(10, "")
	w.send(6, obj{"token": r.Bot.Token, "session_id": session, "seq": 1})
	if f := w.want(9, ""); f.D != false {
		t.Errorf("after 4007: op 9 %v", f.D)
	}
	if s := r.Srv.Gateway().Stats(); s.Resumes != 1 || s.Identifies != 1 || s.Connections != 4 {
		t.Errorf("stats %+v", s)
	}
}

func TestClientClose(t *testing.T) {
	t.Parallel()
	for code, kept := range map[websocket.StatusCode]bool{1000: false, 1001: false, 4000: true} {
		t.Run(strconv.Itoa(int(code)), func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Usual)
			w, ready := identified(r, 1)
			rig.Check(t, w.ws.Close(code, ""))
			rig.Eventually(t, "the server notices the end", func() bool { return r.Srv.Gateway().Stats().Open == 0 })
			w = dial(r, latest)
			w.want(10, "")
			w.send(6, obj{"token": r.Bot.Token, "session_id": ready.data()["session_id"], "seq": 2})
			if f, err := w.read(); err != nil || (f.T == "RESUMED") != kept || (f.Op == 9) == kept {
				t.Errorf("resume: op %d %s %v", f.Op, f.T, err)
			}
		})
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		code           int
		after          time.Duration
		sessions, left int
	}{
		{"lost connection, resumed in time", 0, 59 * time.Second, 1, 1},
		{"lost connection, resumed too late", 0, time.Minute, 1, 0},
		{"close code 4000, resumed in time", 4000, 59 * time.Second, 1, 1},
		{"close code 4004", 4004, 0, 0, 0},
		{"close code 4009", 4009, 0, 0, 0},
		{"close code 4014", 4014, 0, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.SessionLife = time.Minute })
			_, ready := identified(r, 0)
			r.Srv.Gateway().Drop(tc.code)
			if got := r.Srv.Gateway().Stats().Sessions; got != tc.sessions {
				t.Errorf("%d sessions after the drop, want %d", got, tc.sessions)
			}
			r.Srv.Advance(tc.after)
			w := dial(r, latest)
			w.want(10, "")
			w.send(6, obj{"token": r.Bot.Token, "session_id": ready.data()["session_id"], "seq": 1})
			if f, err := w.read(); err != nil || (f.T == "RESUMED") != (tc.left == 1) || f.Op == 9 && f.D != false {
				t.Errorf("resume: op %d %s %v %v", f.Op, f.T, f.D, err)
			}
			r.Srv.Advance(59 * time.Second) // a resumed session does not end
			if got := r.Srv.Gateway().Stats().Sessions; got != tc.left {
				t.Errorf("%d sessions in the end, want %d", got, tc.left)
			}
		})
	}
}

func TestSessionsDoNotPileUp(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	for range 100 {
		w, _ := identified(r, 0)
		r.Srv.Gateway().Drop(0)
		w.closed(-1)
	}
	r.Srv.Advance(3 * time.Minute)
	identified(r, 0)
	if got := r.Srv.Gateway().Stats().Sessions; got != 1 {
		t.Errorf("%d sessions are kept, want one", got)
	}
}
