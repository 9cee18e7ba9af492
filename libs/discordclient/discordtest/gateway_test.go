package discordtest_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient/discordtest"
)

// TestGatewayWay is the way of a session: HELLO, heartbeat, READY, GUILD_CREATE, events in order.
func TestGatewayWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	old := r.channel(obj{"name": "old"})
	w := dial(r, latest)
	if f := w.want(10, ""); f.data()["heartbeat_interval"] != 41250.0 {
		t.Errorf("HELLO %v", f.D)
	}
	w.send(1, nil)
	w.want(11, "")
	w.send(2, obj{"token": r.bot.Token, "intents": intents, "properties": obj{}})
	ready := w.want(0, "READY")
	if d := cmp.Diff([]any{obj{"id": r.guild, "unavailable": true}}, ready.data()["guilds"]); d != "" || *ready.S != 1 || ready.data()["v"] != 10.0 {
		t.Errorf("READY %v\n%s", ready.D, d)
	}
	g := w.want(0, "GUILD_CREATE").data()
	first := g["channels"].([]any)[0].(obj)
	if g["id"] != r.guild || first["id"] != old || first["guild_id"] != nil || g["member_count"] != 2.0 {
		t.Errorf("GUILD_CREATE %v", g)
	}
	id := r.channel(obj{"name": "a"})
	if c := w.want(0, "CHANNEL_CREATE"); c.data()["id"] != id || *c.S != 3 {
		t.Errorf("CHANNEL_CREATE %v", c.D)
	}
	w.want(0, "GUILD_AUDIT_LOG_ENTRY_CREATE")
	r.must(200, "POST", "/channels/"+id+"/webhooks", obj{"name": "a"})
	w.want(0, "GUILD_AUDIT_LOG_ENTRY_CREATE")
	if f := w.want(0, "WEBHOOKS_UPDATE"); !cmp.Equal(f.D, any(obj{"guild_id": r.guild, "channel_id": id})) {
		t.Errorf("WEBHOOKS_UPDATE %v", f.D)
	}
	r.srv.SetPermissions(r.guild, r.bot.UserID, usual&^discordtest.PermViewAuditLog)
	w.want(0, "GUILD_ROLE_UPDATE")
	r.must(200, "DELETE", "/channels/"+id, nil) // no audit event without the permission
	w.want(0, "CHANNEL_DELETE")
	w.want(0, "WEBHOOKS_UPDATE")
	r.srv.Gateway().Outage(r.guild, true)
	if f := w.want(0, "GUILD_DELETE"); f.data()["unavailable"] != true {
		t.Errorf("outage: %v", f.D)
	}
	r.srv.Gateway().Outage(r.guild, false)
	w.want(0, "GUILD_CREATE")
	r.srv.RemoveMember(r.guild, r.bot.UserID)
	if f := w.want(0, "GUILD_DELETE"); !cmp.Equal(f.D, any(obj{"id": r.guild})) {
		t.Errorf("removed: %v", f.D)
	}
	r.srv.AddMember(r.guild, r.bot.UserID, 0)
	w.want(0, "GUILD_CREATE")
}

// TestIntents: events come by intent; content of messages needs another.
func TestIntents(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	id := r.channel(obj{"name": "a"})
	w, _ := identified(r, messages)
	r.srv.EditChannelByHand(id, func(c *discordtest.Channel) { c.Topic = "unseen" })
	r.srv.PostByHand(id, r.srv.AddUser("gojo"), "secret")
	if f := w.want(0, "MESSAGE_CREATE"); f.data()["content"] != "" || f.data()["guild_id"] != r.guild {
		t.Errorf("MESSAGE_CREATE %v", f.D)
	}
}

// TestCloseCodes is what the Gateway does not put up with.
func TestCloseCodes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4097)
	for name, tc := range map[string]struct {
		query string
		op    int
		d     any
		twice bool
		code  int
	}{
		"version 8":             {query: "/?v=8&encoding=json", code: 4012},
		"no version":            {query: "/", code: 4012},
		"encoding":              {query: "/?v=10&encoding=etf", code: 4002},
		"unknown op":            {query: latest, op: 99, code: 4001},
		"too long":              {query: latest, op: 1, d: long, code: 4002},
		"not authenticated":     {query: latest, op: 3, d: obj{}, code: 4003},
		"wrong token":           {query: latest, op: 2, d: obj{"token": "x", "intents": 1}, code: 4004},
		"no intents":            {query: latest, op: 2, d: obj{"token": "{t}"}, code: 4013},
		"unknown intents":       {query: latest, op: 2, d: obj{"token": "{t}", "intents": 1 << 30}, code: 4013},
		"privileged intents":    {query: latest, op: 2, d: obj{"token": "{t}", "intents": 1 << 15}, code: 4014},
		"shard out of range":    {query: latest, op: 2, d: obj{"token": "{t}", "intents": 1, "shard": []int{1, 1}}, code: 4010},
		"no properties":         {query: latest, op: 2, d: obj{"token": "no properties", "intents": 1}, code: 4002},
		"compression":           {query: latest + "&compress=zstd-stream", code: 4002},
		"identify is no object": {query: latest, op: 2, d: "x", code: 4002},
		"identified twice":      {query: latest, op: 2, d: obj{"token": "{t}", "intents": 1}, twice: true, code: 4005},
		"resume with bad token": {query: latest, op: 6, d: obj{"token": "x"}, code: 4004},
		"resume is no object":   {query: latest, op: 6, d: 7, code: 4002},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, usual)
			w := dial(r, tc.query)
			if tc.op != 0 {
				var d any
				if tc.d != nil {
					check(t, json.Unmarshal([]byte(replacer("{t}", r.bot.Token).body(t, tc.d).(string)), &d))
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
		w := dial(newRig(t, usual), latest)
		check(t, w.ws.Write(w.ctx, websocket.MessageText, []byte("hello")))
		w.closed(4002)
	})
}

// TestResume: what was missed comes again, with its numbers; what is not known cannot be resumed.
func TestResume(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	w, ready := identified(r, 1)
	w.want(0, "GUILD_CREATE")
	session := ready.data()["session_id"]
	r.srv.Gateway().Drop(0)
	w.closed(-1)
	id := r.channel(obj{"name": "missed"})

	w = dial(r, latest)
	w.want(10, "")
	w.send(6, obj{"token": r.bot.Token, "session_id": session, "seq": 2})
	if f := w.want(0, "CHANNEL_CREATE"); f.data()["id"] != id || *f.S != 3 {
		t.Errorf("replayed %v", f)
	}
	w.want(0, "RESUMED")
	r.channel(obj{"name": "next"})
	if f := w.want(0, "CHANNEL_CREATE"); *f.S != 5 {
		t.Errorf("after the replay: %d", *f.S)
	}
	r.srv.Gateway().Reconnect()
	w.want(7, "")
	r.srv.Gateway().Invalidate(true)
	if f := w.want(9, ""); f.D != true {
		t.Errorf("op 9 %v", f.D)
	}
	check(t, w.ws.Close(4000, "")) // keeps the session
	w = dial(r, latest)
	w.want(10, "")
	w.send(6, obj{"token": r.bot.Token, "session_id": session, "seq": 99})
	w.closed(4007)
	w = dial(r, latest)
	w.want(10, "")
	w.send(6, obj{"token": r.bot.Token, "session_id": session, "seq": 1})
	if f := w.want(9, ""); f.D != false {
		t.Errorf("after 4007: op 9 %v", f.D)
	}
	if s := r.srv.Gateway().Stats(); s.Resumes != 1 || s.Identifies != 1 || s.Connections != 4 {
		t.Errorf("stats %+v", s)
	}
}

// TestClientClose: 1000 and 1001 end a session, other codes keep it.
func TestClientClose(t *testing.T) {
	t.Parallel()
	for code, kept := range map[websocket.StatusCode]bool{1000: false, 1001: false, 4000: true} {
		t.Run(strconv.Itoa(int(code)), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, usual)
			w, ready := identified(r, 1)
			check(t, w.ws.Close(code, ""))
			eventually(t, "the server notices the end", func() bool { return r.srv.Gateway().Stats().Open == 0 })
			w = dial(r, latest)
			w.want(10, "")
			w.send(6, obj{"token": r.bot.Token, "session_id": ready.data()["session_id"], "seq": 2})
			if f, err := w.read(); err != nil || (f.T == "RESUMED") != kept || (f.Op == 9) == kept {
				t.Errorf("resume: op %d %s %v", f.Op, f.T, err)
			}
		})
	}
}

// TestHeartbeatDeadline: a silent client is closed, one that beats is not.
func TestHeartbeatDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.HeartbeatInterval = 10 * time.Second })
	w, ready := identified(r, 0)
	r.srv.Advance(14 * time.Second)
	w.send(1, 1)
	w.want(11, "")
	r.srv.Advance(14 * time.Second)
	w.send(1, 1)
	w.want(11, "")
	r.srv.Advance(15 * time.Second)
	w.closed(4009)
	w = dial(r, latest)
	w.want(10, "")
	w.send(6, obj{"token": r.bot.Token, "session_id": ready.data()["session_id"], "seq": 1})
	w.want(9, "")
}

// TestGatewayLimits: sends, identifies at a time, session starts per day.
func TestGatewayLimits(t *testing.T) {
	t.Parallel()
	r := limited(t, func(l *discordtest.Limits) {
		l.GatewaySends = discordtest.Rate{N: 3, Per: time.Minute}
		l.Identify = discordtest.Rate{N: 1, Per: 5 * time.Second}
		l.SessionStarts = discordtest.Rate{N: 2, Per: 24 * time.Hour}
	})
	w, _ := identified(r, 0)
	second := dial(r, latest)
	second.want(10, "")
	second.send(2, obj{"token": r.bot.Token, "intents": 0})
	if f := second.want(9, ""); f.D != false {
		t.Errorf("second identify at once: %v", f.D)
	}
	r.srv.Advance(5 * time.Second)
	second.send(2, obj{"token": r.bot.Token, "intents": 0})
	second.want(0, "READY")
	if got := r.must(200, "GET", "/gateway/bot", nil).json["session_start_limit"].(obj); got["remaining"] != 0.0 || got["total"] != 2.0 {
		t.Errorf("starts left %v", got)
	}
	r.srv.Advance(5 * time.Second)
	third := dial(r, latest)
	third.want(10, "")
	third.send(2, obj{"token": r.bot.Token, "intents": 0})
	third.closed(4004)
	if got := r.do("GET", "/users/@me", nil); got.status != 401 {
		t.Errorf("the token outlived too many starts: %d", got.status)
	}
	w.closed(4004) // the token was reset under it
	r2 := limited(t, func(l *discordtest.Limits) { l.GatewaySends = discordtest.Rate{N: 3, Per: time.Minute} })
	w = dial(r2, latest)
	for range 4 {
		w.send(1, nil)
	}
	w.closed(4008)
}

// TestCompression: zlib-stream over the connection, zlib for single large payloads.
func TestCompression(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	w := dial(r, latest+"&compress=zlib-stream")
	w.want(10, "")
	w.send(2, obj{"token": r.bot.Token, "intents": 1})
	w.want(0, "READY")
	if g := w.want(0, "GUILD_CREATE"); g.data()["id"] != r.guild || w.zlib == nil {
		t.Errorf("GUILD_CREATE %v", g.D)
	}
	single := dial(r, latest)
	single.want(10, "")
	single.send(2, obj{"token": r.bot.Token, "intents": 1, "compress": true})
	single.want(0, "READY")
	kind, data, err := single.ws.Read(single.ctx)
	if err != nil || kind != websocket.MessageBinary || bytes.Contains(data, []byte(r.guild)) {
		t.Errorf("GUILD_CREATE came as %v, %d bytes (%v)", kind, len(data), err)
	}
}

// TestSessionsEnd: a session that nobody resumes is forgotten after a while, one that a close code ends is at once.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		code           int
		after          time.Duration
		sessions, left int
	}{
		{"a cut wire, in time", 0, 59 * time.Second, 1, 1},
		{"a cut wire, too late", 0, time.Minute, 1, 0},
		{"4000", 4000, 59 * time.Second, 1, 1},
		{"4004", 4004, 0, 0, 0},
		{"4009", 4009, 0, 0, 0},
		{"4014", 4014, 0, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.SessionLife = time.Minute })
			_, ready := identified(r, 0)
			r.srv.Gateway().Drop(tc.code)
			if got := r.srv.Gateway().Stats().Sessions; got != tc.sessions {
				t.Errorf("%d sessions after the drop, want %d", got, tc.sessions)
			}
			r.srv.Advance(tc.after)
			w := dial(r, latest)
			w.want(10, "")
			w.send(6, obj{"token": r.bot.Token, "session_id": ready.data()["session_id"], "seq": 1})
			if f, err := w.read(); err != nil || (f.T == "RESUMED") != (tc.left == 1) || f.Op == 9 && f.D != false {
				t.Errorf("resume: op %d %s %v %v", f.Op, f.T, f.D, err)
			}
			r.srv.Advance(59 * time.Second) // what was resumed is not forgotten under way
			if got := r.srv.Gateway().Stats().Sessions; got != tc.left {
				t.Errorf("%d sessions in the end, want %d", got, tc.left)
			}
		})
	}
}

// TestSessionsDoNotPileUp: whoever starts anew each time leaves one session behind, not a hundred.
func TestSessionsDoNotPileUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	for range 100 {
		w, _ := identified(r, 0)
		r.srv.Gateway().Drop(0)
		w.closed(-1)
	}
	r.srv.Advance(3 * time.Minute)
	identified(r, 0)
	if got := r.srv.Gateway().Stats().Sessions; got != 1 {
		t.Errorf("%d sessions are kept, want one", got)
	}
}

// TestOwnRoles: a bot is told of its own roles whatever its intents, of other members' by theirs alone.
func TestOwnRoles(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	person := r.srv.AddUser("gojo")
	r.srv.AddMember(r.guild, person, 0)
	role := r.srv.AddRole(r.guild, "Sensei", 0)
	w, _ := identified(r, 0)
	roles := func() int {
		f := w.want(0, "GUILD_MEMBER_UPDATE")
		if f.data()["guild_id"] != r.guild || f.data()["user"].(obj)["id"] != r.bot.UserID {
			t.Errorf("GUILD_MEMBER_UPDATE %v", f.D)
		}
		return len(f.data()["roles"].([]any))
	}
	for _, tc := range []struct {
		what string
		do   func()
		want int
	}{
		{"given", func() { r.srv.GiveRole(r.guild, r.bot.UserID, role) }, 2},
		{"given again, and taken", func() { r.srv.GiveRole(r.guild, r.bot.UserID, role); r.srv.TakeRole(r.guild, r.bot.UserID, role) }, 1},
		{"given after it was given to a person", func() { r.srv.GiveRole(r.guild, person, role); r.srv.GiveRole(r.guild, r.bot.UserID, role) }, 2},
		{"deleted", func() { r.srv.DeleteRole(r.guild, role) }, 1},
	} {
		if tc.do(); roles() != tc.want {
			t.Errorf("%s: not %d roles", tc.what, tc.want)
		}
	}
}

// TestHeartbeatRequest: the Gateway may ask for a heartbeat.
func TestHeartbeatRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	w, _ := identified(r, 0)
	r.srv.Gateway().RequestHeartbeat()
	w.want(1, "")
}

// TestOutage: who comes during one gets a stub; who has not asked for guilds, or has another shard, hears nothing.
func TestOutage(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	r.srv.Gateway().Outage(r.guild, true)
	w, _ := identified(r, 1)
	if f := w.want(0, "GUILD_CREATE"); !cmp.Equal(f.D, any(obj{"id": r.guild, "unavailable": true})) {
		t.Errorf("GUILD_CREATE during an outage: %v", f.D)
	}
	deaf, _ := identified(r, 0)
	id, err := strconv.ParseUint(r.guild, 10, 64)
	check(t, err)
	other := dial(r, latest)
	other.want(10, "")
	other.send(2, obj{"token": r.bot.Token, "intents": 1, "shard": []uint64{1 - id>>22%2, 2}})
	if f := other.want(0, "READY"); len(f.data()["guilds"].([]any)) != 0 {
		t.Errorf("READY of the other shard: %v", f.D)
	}
	r.srv.Gateway().Outage(r.guild, false)
	r.srv.AddRole(r.guild, "Sensei", 0)
	r.srv.RemoveMember(r.guild, r.bot.UserID)
	w.want(0, "GUILD_CREATE")
	w.want(0, "GUILD_ROLE_CREATE")
	w.want(0, "GUILD_DELETE")
	for _, silent := range []*wire{deaf, other} {
		silent.send(1, nil)
		silent.want(11, "")
	}
}

// TestHiddenChannels: where Discord does not tell bots of channels that they cannot see.
func TestHiddenChannels(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.HideUnseen = true })
	seen := r.channel(obj{"name": "seen"})
	hidden := discordtest.Channel{Name: "hidden", Overwrites: []discordtest.Overwrite{{ID: r.guild, Deny: view}}}
	old := r.srv.CreateChannelByHand(r.guild, hidden)
	if got := r.must(200, "GET", "/guilds/"+r.guild+"/channels", nil).list; len(got) != 1 || got[0].(obj)["id"] != seen {
		t.Errorf("listed %v", got)
	}
	if got := r.do("GET", "/channels/"+old, nil); got.code() != 50001 {
		t.Errorf("hidden is not gone: %s", got.raw)
	}
	w, _ := identified(r, 1)
	if g := w.want(0, "GUILD_CREATE").data(); len(g["channels"].([]any)) != 1 {
		t.Errorf("GUILD_CREATE with %v", g["channels"])
	}
	r.srv.DeleteChannelByHand(r.srv.CreateChannelByHand(r.guild, hidden))
	r.srv.EditChannelByHand(old, func(c *discordtest.Channel) { c.Overwrites = nil })
	if f := w.want(0, "CHANNEL_UPDATE"); f.data()["id"] != old {
		t.Errorf("shown: %v", f.D)
	}
}
