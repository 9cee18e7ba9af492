// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"testing"
	"time"

	"jutsu.com/operators/test/discordtest/internal/clock"
	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/internal/model"
)

func FuzzGatewayFrame(f *testing.F) {
	for _, s := range []string{
		`{"op":1,"d":null}`, `{"op":1,"d":251}`, `{"op":2,"d":{"token":"T","intents":37,"properties":{}}}`, `{"op":2,"d":{"token":"T","intents":37,"shard":[0,1],"properties":{}}}`,
		`{"op":2,"d":{"token":"T","intents":1,"shard":[0,0],"properties":{}}}`, `{"op":2,"d":{"token":"Bot T","intents":-1,"properties":{}}}`, `{"op":6,"d":{"token":"T","session_id":"S","seq":1}}`,
		`{"op":6,"d":{"token":"T","session_id":"S","seq":-9223372036854775808}}`, `{"op":3}`, `{"op":8,"d":{}}`, `{"op":99}`, `{"op":"1"}`, `{}`, `[]`, `null`, `7`, `{"op":1`, "\x00", `{"op":1e400}`,
	} {
		f.Add([]byte(s), s[0] == '{')
	}
	lawful := map[int]bool{4001: true, 4002: true, 4003: true, 4004: true, 4005: true, 4007: true, 4010: true, 4013: true, 4014: true}
	f.Fuzz(func(t *testing.T, data []byte, before bool) {
		d := model.New(clock.New(time.Time{}, true), model.Options{Seed: 1})
		g := New(d, limits.NewWindows(false), Options{
			Limits: limits.None(), HeartbeatInterval: 41250 * time.Millisecond, SessionLife: 3 * time.Minute,
		})
		b := d.AddBot(model.Bot{Token: "T"})
		d.AddGuild(model.GuildSpec{ID: "1", Name: "Test server"}, "2").Members[b.UserID] = &model.Member{UserID: b.UserID}
		d.Users["2"] = &model.User{ID: "2", Name: "owner"}
		c := newConn(g, false)
		c.version = 10
		if before { // start a session with the id S, which data may resume
			c.receive([]byte(`{"op":2,"d":{"token":"T","intents":1,"properties":{}}}`))
			c.session.id = "S"
			g.sessions = map[string]*session{"S": c.session}
		}
		c.receive(data)
		list, ended := c.take()
		for i, o := range list {
			if o.close && (!lawful[o.code] || i != len(list)-1 || !ended) {
				t.Errorf("closed with %d %q as answer %d of %d", o.code, o.reason, i, len(list))
			}
		}
		if !ended && len(list) == 0 && !before {
			t.Errorf("%q gets no answer and no end", data)
		}
		g.Close()
		d.Clock.Stop()
	})
}
