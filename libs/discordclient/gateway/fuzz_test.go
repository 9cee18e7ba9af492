// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

type quiet struct{}

func (quiet) Connecting()                   {}
func (quiet) Dispatch(string, []byte, bool) {}
func (quiet) Alive()                        {}
func (quiet) Disconnected(error)            {}

// Whatever a Gateway sends, a connection ends with an error, and neither panics nor hangs.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"op":10,"d":{"heartbeat_interval":41250}}`, `{"op":10,"d":{"heartbeat_interval":0}}`, `{"op":10}`, `{"op":7}`, `{"op":9,"d":true}`, `{"op":9}`,
		`{"op":11}`, `{"op":1}`, `{"op":0,"t":"READY","s":1,"d":{}}`, `{"op":0,"t":"X","s":-5}`, `{"op":0,"s":1e30}`, `{}`, `[]`, `null`, `{"op":"x"}`, ``, "\xff",
	} {
		f.Add([]byte(seed), []byte(`{"op":0,"t":"X","s":3,"d":{}}`))
	}
	var first, second []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		for _, raw := range [][]byte{first, []byte(`{"op":10,"d":{"heartbeat_interval":5}}`), second} {
			if ws.Write(r.Context(), websocket.MessageText, raw) != nil {
				break
			}
		}
		_ = ws.CloseNow()
	}))
	f.Cleanup(srv.Close)
	timing := Timing{Hello: 5 * time.Second, Ready: 5 * time.Second}.withDefaults()
	f.Fuzz(func(t *testing.T, a, b []byte) {
		first, second = a, b
		c := connection{Config: Config{HTTP: http.DefaultClient, Token: func() string { return "token" }, Agent: "fuzz", Handler: quiet{}, Timing: timing}}
		if err := c.run(context.Background(), "ws"+strings.TrimPrefix(srv.URL, "http")); err == nil || strings.Contains(err.Error(), "token") {
			t.Errorf("the connection ended with %v", err)
		}
	})
}

func TestHeartbeatsAndIdentify(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "encoding=json&v=10" {
			t.Errorf("query %q", r.URL.RawQuery)
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = ws.CloseNow() }()
		say := func(text string) { _ = ws.Write(r.Context(), websocket.MessageText, []byte(text)) }
		hear := func() {
			_, raw, _ := ws.Read(r.Context())
			got <- string(raw)
		}
		// The long interval avoids regular heartbeats between the requested ones.
		say(`{"op":10,"d":{"heartbeat_interval":3600000}}`)
		hear()
		say(`{"op":1}`)
		hear()
		say(`{"op":0,"t":"READY","s":7,"d":{}}`)
		say(`{"op":1}`)
		hear()
	}))
	defer srv.Close()
	c := connection{Config: Config{HTTP: http.DefaultClient, Token: func() string { return "secret" }, Intents: 33, Handler: quiet{}, Timing: Timing{}.withDefaults()}}
	if err := c.run(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http")); err == nil {
		t.Errorf("the connection ended with %v", err)
	}
	var identify struct {
		Op int `json:"op"`
		D  struct {
			Token      string `json:"token"`
			Intents    int    `json:"intents"`
			Properties map[string]string
		} `json:"d"`
	}
	if err := json.Unmarshal([]byte(<-got), &identify); err != nil || identify.Op != 2 || identify.D.Token != "secret" || identify.D.Intents != 33 || identify.D.Properties["os"] == "" {
		t.Errorf("IDENTIFY is %+v, %v", identify, err)
	}
	for _, want := range []string{`{"d":null,"op":1}`, `{"d":7,"op":1}`} {
		if beat := <-got; beat != want {
			t.Errorf("heartbeat %s, want %s", beat, want)
		}
	}
}
