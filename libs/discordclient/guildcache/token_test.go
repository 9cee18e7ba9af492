// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
)

func TestRefusedTokenStopsAllCalls(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	if _, err := r.Discord.RotateToken(r.Bot.Token); err != nil {
		t.Fatal(err)
	}
	stop := run(r)
	eventually(t, "the refusal", func() bool { return r.Client.Stats().TokenRefused })
	cachetest.WantClass(t, stop(), discordclient.ClassBadToken)
	calls := callsOf(r)
	for range 3 {
		_, err := r.Client.ListChannels(t.Context(), r.Guild)
		cachetest.WantClass(t, err, discordclient.ClassBadToken)
	}
	if got := callsOf(r); got != calls {
		t.Errorf("%d calls were made with a refused token", got-calls)
	}
	if s := r.Client.Stats(); !s.TokenRefused || s.Unauthorized == 0 {
		t.Errorf("stats are %+v", s)
	}
}

func TestTheLogHidesATokenInACloseReason(t *testing.T) {
	t.Parallel()
	const token = "plain-token-of-a-compatible-server"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/gateway/bot") {
			_, _ = w.Write([]byte(`{"url":"ws://` + r.Host + `","shards":1,"session_start_limit":{"total":1000,"remaining":1000}}`))
			return
		}
		if ws, err := websocket.Accept(w, r, nil); err == nil {
			_ = ws.Close(4000, "unknown session of "+token)
		}
	}))
	defer srv.Close()
	r := &cachetest.Rig{T: t, Printed: &cachetest.Output{}}
	var err error
	r.Client, err = guildcache.New(guildcache.Options{
		Options: discordclient.Options{Token: discordclient.NewSecret(token), APIURL: srv.URL},
		Gateway: cachetest.Quick, Resync: time.Hour, Log: slog.New(slog.NewTextHandler(r.Printed, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	run(r)
	eventually(t, "the reason is reported", func() bool { return strings.Contains(r.Client.Stats().GatewayError, "unknown session of") })
	if why := r.Client.Stats().GatewayError; strings.Contains(why, token[:8]) {
		t.Errorf("the reason is reported as %q", why)
	}
	r.Printed.MustHide(t, token)
}

func TestGatewayURLsThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"over http": "http://x", "without a host": "wss://"} {
		o := guildcache.Options{Options: discordclient.Options{Token: discordclient.NewSecret("token")}, GatewayURL: address}
		if _, err := guildcache.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
