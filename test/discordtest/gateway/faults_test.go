// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func created(event string) bool { return event == "CHANNEL_CREATE" }

var lateness = map[string]time.Duration{"CHANNEL_CREATE": 3 * time.Second, "CHANNEL_DELETE": time.Second}

func TestGatewayFaults(t *testing.T) {
	t.Parallel()
	identify := func(r *rig.Rig, w *wire) {
		w.want(10, "")
		w.send(2, obj{"token": r.Bot.Token, "intents": 1})
	}
	for name, tc := range map[string]struct {
		faults discordtest.GatewayFaults
		check  func(*rig.Rig, *wire)
	}{
		"no HELLO":               {discordtest.GatewayFaults{WithholdHello: true}, func(_ *rig.Rig, w *wire) { w.send(1, nil); w.want(11, "") }},
		"op 7 instead of HELLO":  {discordtest.GatewayFaults{ReconnectForHello: true}, func(_ *rig.Rig, w *wire) { w.want(7, "") }},
		"op 11 instead of HELLO": {discordtest.GatewayFaults{AckForHello: true}, func(_ *rig.Rig, w *wire) { w.want(11, "") }},
		"closed on IDENTIFY":     {discordtest.GatewayFaults{CloseOnIdentify: 4000}, func(r *rig.Rig, w *wire) { identify(r, w); w.closed(4000) }},
		"op 9 on IDENTIFY":       {discordtest.GatewayFaults{InvalidOnIdentify: true}, func(r *rig.Rig, w *wire) { identify(r, w); w.want(9, "") }},
		"no READY":               {discordtest.GatewayFaults{WithholdReady: true}, func(r *rig.Rig, w *wire) { identify(r, w); w.send(1, nil); w.want(11, "") }},
		"no GUILD_CREATE":        {discordtest.GatewayFaults{WithholdGuilds: true}, func(r *rig.Rig, w *wire) { identify(r, w); w.want(0, "READY"); w.send(1, nil); w.want(11, "") }},
		"op 11 before READY":     {discordtest.GatewayFaults{AckBeforeReady: true}, func(r *rig.Rig, w *wire) { identify(r, w); w.want(11, ""); w.want(0, "READY") }},
		"op 7 instead of READY":  {discordtest.GatewayFaults{ReconnectBeforeReady: true}, func(r *rig.Rig, w *wire) { identify(r, w); w.want(7, "") }},
		"no ACKs":                {discordtest.GatewayFaults{WithholdAcks: true}, func(_ *rig.Rig, w *wire) { w.want(10, ""); w.send(1, nil); w.send(99, nil); w.closed(4001) }},
		"a missed event gets no number": {discordtest.GatewayFaults{Miss: created}, func(r *rig.Rig, w *wire) {
			identify(r, w)
			w.want(0, "READY")
			w.want(0, "GUILD_CREATE")
			r.Srv.DeleteChannelByHand(r.Channel(obj{"name": "a"}))
			if f := w.want(0, "CHANNEL_DELETE"); *f.S != 3 {
				t.Errorf("number %d, want 3: such a loss leaves no gap", *f.S)
			}
		}},
		"a RESUME repeats events lost on the wire": {discordtest.GatewayFaults{LoseOnWire: created}, func(r *rig.Rig, w *wire) {
			identify(r, w)
			session := w.want(0, "READY").data()["session_id"]
			w.want(0, "GUILD_CREATE")
			r.Srv.DeleteChannelByHand(r.Channel(obj{"name": "a"}))
			if f := w.want(0, "CHANNEL_DELETE"); *f.S != 4 {
				t.Errorf("number %d, want 4: such a loss leaves a gap", *f.S)
			}
			r.Srv.Gateway().Drop(0)
			w = dial(r, latest)
			w.want(10, "")
			w.send(6, obj{"token": r.Bot.Token, "session_id": session, "seq": 2})
			w.want(0, "CHANNEL_CREATE")
			w.want(0, "CHANNEL_DELETE")
			w.want(0, "RESUMED")
		}},
		"late events stay in order": {discordtest.GatewayFaults{Delay: func(e string) time.Duration { return lateness[e] }}, func(r *rig.Rig, w *wire) {
			identify(r, w)
			w.want(0, "READY")
			w.want(0, "GUILD_CREATE")
			r.Srv.DeleteChannelByHand(r.Channel(obj{"name": "a"}))
			r.Srv.AddRole(r.Guild, "Sensei", 0)
			r.Srv.Advance(2 * time.Second)
			w.send(1, nil)
			w.want(11, "") // the delayed events have not arrived yet
			r.Srv.Advance(time.Second)
			w.want(0, "CHANNEL_CREATE")
			w.want(0, "CHANNEL_DELETE") // its delay is shorter, but it must not overtake CHANNEL_CREATE
			w.want(0, "GUILD_ROLE_CREATE")
		}},
		"events come twice": {discordtest.GatewayFaults{Twice: func(e string) bool { return e == "CHANNEL_CREATE" }}, func(r *rig.Rig, w *wire) {
			identify(r, w)
			w.want(0, "READY")
			w.want(0, "GUILD_CREATE")
			r.Channel(obj{"name": "a"})
			w.want(0, "CHANNEL_CREATE")
			w.want(0, "CHANNEL_CREATE")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Usual)
			r.Srv.Gateway().SetFaults(tc.faults)
			tc.check(r, dial(r, latest))
		})
	}
	t.Run("the Gateway refuses connections", func(t *testing.T) {
		r := rig.New(t, rig.Usual)
		r.Srv.Gateway().SetFaults(discordtest.GatewayFaults{Refuse: true})
		_, res, err := websocket.Dial(t.Context(), r.Srv.URL()+"/gateway"+latest, nil) //nolint:bodyclose // Dial closes it
		if err == nil || res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("got %v", err)
		}
	})
}

func TestCloseEndsAllConnections(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	w, _ := identified(r, 0)
	r.Srv.Close()
	w.closed(1001)
	r.Srv.Close()
	_, _, err := websocket.Dial(t.Context(), r.Srv.URL()+"/gateway"+latest, nil) //nolint:bodyclose // Dial closes it
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("connected after Close: %v", err)
	}
}
