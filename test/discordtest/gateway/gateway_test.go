// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestSession(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	old := r.Channel(obj{"name": "old"})
	w := dial(r, latest)
	if f := w.want(10, ""); f.data()["heartbeat_interval"] != 41250.0 {
		t.Errorf("HELLO %v", f.D)
	}
	w.send(1, nil)
	w.want(11, "")
	w.send(2, obj{"token": r.Bot.Token, "intents": intents, "properties": obj{}})
	ready := w.want(0, "READY")
	if d := cmp.Diff([]any{obj{"id": r.Guild, "unavailable": true}}, ready.data()["guilds"]); d != "" || *ready.S != 1 || ready.data()["v"] != 10.0 {
		t.Errorf("READY %v\n%s", ready.D, d)
	}
	g := w.want(0, "GUILD_CREATE").data()
	first := g["channels"].([]any)[0].(obj)
	if g["id"] != r.Guild || first["id"] != old || first["guild_id"] != nil || g["member_count"] != 2.0 {
		t.Errorf("GUILD_CREATE %v", g)
	}
	id := r.Channel(obj{"name": "a"})
	if c := w.want(0, "CHANNEL_CREATE"); c.data()["id"] != id || *c.S != 3 {
		t.Errorf("CHANNEL_CREATE %v", c.D)
	}
	w.want(0, "GUILD_AUDIT_LOG_ENTRY_CREATE")
	r.Must(200, "POST", "/channels/"+id+"/webhooks", obj{"name": "a"})
	w.want(0, "GUILD_AUDIT_LOG_ENTRY_CREATE")
	if f := w.want(0, "WEBHOOKS_UPDATE"); !cmp.Equal(f.D, any(obj{"guild_id": r.Guild, "channel_id": id})) {
		t.Errorf("WEBHOOKS_UPDATE %v", f.D)
	}
	r.Srv.SetPermissions(r.Guild, r.Bot.UserID, rig.Usual&^discordtest.PermViewAuditLog)
	w.want(0, "GUILD_ROLE_UPDATE")
	r.Must(200, "DELETE", "/channels/"+id, nil) // the bot lacks VIEW_AUDIT_LOG, so no GUILD_AUDIT_LOG_ENTRY_CREATE follows
	w.want(0, "CHANNEL_DELETE")
	w.want(0, "WEBHOOKS_UPDATE")
	r.Srv.Gateway().Outage(r.Guild, true)
	if f := w.want(0, "GUILD_DELETE"); f.data()["unavailable"] != true {
		t.Errorf("outage: %v", f.D)
	}
	r.Srv.Gateway().Outage(r.Guild, false)
	w.want(0, "GUILD_CREATE")
	r.Srv.RemoveMember(r.Guild, r.Bot.UserID)
	if f := w.want(0, "GUILD_DELETE"); !cmp.Equal(f.D, any(obj{"id": r.Guild})) {
		t.Errorf("removed: %v", f.D)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a user who is no member can be removed")
			}
		}()
		r.Srv.RemoveMember(r.Guild, r.Bot.UserID)
	}()
	r.Srv.AddMember(r.Guild, r.Bot.UserID, 0)
	w.want(0, "GUILD_CREATE")
}

func TestHeartbeatDeadline(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.HeartbeatInterval = 10 * time.Second })
	w, ready := identified(r, 0)
	r.Srv.Advance(14 * time.Second)
	w.send(1, 1)
	w.want(11, "")
	r.Srv.Advance(14 * time.Second)
	w.send(1, 1)
	w.want(11, "")
	r.Srv.Advance(15 * time.Second)
	w.closed(4009)
	w = dial(r, latest)
	w.want(10, "")
	w.send(6, obj{"token": r.Bot.Token, "session_id": ready.data()["session_id"], "seq": 1})
	w.want(9, "")
}

func TestGatewayLimits(t *testing.T) {
	t.Parallel()
	r := rig.Limited(t, func(l *discordtest.Limits) {
		l.GatewaySends = discordtest.Rate{N: 3, Per: time.Minute}
		l.Identify = discordtest.Rate{N: 1, Per: 5 * time.Second}
		l.SessionStarts = discordtest.Rate{N: 2, Per: 24 * time.Hour}
	})
	w, _ := identified(r, 0)
	second := dial(r, latest)
	second.want(10, "")
	second.send(2, obj{"token": r.Bot.Token, "intents": 0})
	if f := second.want(9, ""); f.D != false {
		t.Errorf("second identify at once: %v", f.D)
	}
	r.Srv.Advance(5 * time.Second)
	second.send(2, obj{"token": r.Bot.Token, "intents": 0})
	second.want(0, "READY")
	if got := r.Must(200, "GET", "/gateway/bot", nil).JSON["session_start_limit"].(obj); got["remaining"] != 0.0 || got["total"] != 2.0 {
		t.Errorf("starts left %v", got)
	}
	r.Srv.Advance(5 * time.Second)
	third := dial(r, latest)
	third.want(10, "")
	third.send(2, obj{"token": r.Bot.Token, "intents": 0})
	third.closed(4004)
	if got := r.Do("GET", "/users/@me", nil); got.Status != 401 {
		t.Errorf("the token outlived too many starts: %d", got.Status)
	}
	w.closed(4004) // too many session starts have reset the token
	r2 := rig.Limited(t, func(l *discordtest.Limits) { l.GatewaySends = discordtest.Rate{N: 3, Per: time.Minute} })
	w = dial(r2, latest)
	for range 4 {
		w.send(1, nil)
	}
	w.closed(4008)
}

func TestCompression(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	w := dial(r, latest+"&compress=zlib-stream")
	w.want(10, "")
	w.send(2, obj{"token": r.Bot.Token, "intents": 1})
	w.want(0, "READY")
	if g := w.want(0, "GUILD_CREATE"); g.data()["id"] != r.Guild || w.zlib == nil {
		t.Errorf("GUILD_CREATE %v", g.D)
	}
	single := dial(r, latest)
	single.want(10, "")
	single.send(2, obj{"token": r.Bot.Token, "intents": 1, "compress": true})
	single.want(0, "READY")
	kind, data, err := single.ws.Read(single.ctx)
	if err != nil || kind != websocket.MessageBinary || bytes.Contains(data, []byte(r.Guild)) {
		t.Errorf("GUILD_CREATE came as %v, %d bytes (%v)", kind, len(data), err)
	}
}

func TestHeartbeatRequest(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	w, _ := identified(r, 0)
	r.Srv.Gateway().RequestHeartbeat()
	w.want(1, "")
}
