// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func seconds(t *testing.T, r *rig.Rig, header string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(r.Last.Get(header), 64)
	if err != nil {
		t.Errorf("%s: %v", header, err)
	}
	return n
}

func TestBucket(t *testing.T) {
	t.Parallel()
	r := rig.Limited(t, func(l *discordtest.Limits) {
		l.Routes = map[string]discordtest.Rate{"GET /channels/{channel_id}": {N: 2, Per: 1500 * time.Millisecond}}
	})
	one, two := r.Channel(obj{"name": "one"}), r.Channel(obj{"name": "two"})
	for _, want := range []string{"1", "0"} {
		r.Must(200, "GET", "/channels/"+one, nil)
		if r.Last.Get("X-RateLimit-Limit") != "2" || r.Last.Get("X-RateLimit-Remaining") != want || r.Last.Get("X-RateLimit-Reset-After") != "1.500" {
			t.Errorf("headers %v", r.Last)
		}
		if at := seconds(t, r, "X-RateLimit-Reset"); at != float64(rig.Start.UnixMilli()+1500)/1000 {
			t.Errorf("reset at %f", at)
		}
	}
	bucket := r.Last.Get("X-RateLimit-Bucket")
	got := r.Must(429, "GET", "/channels/"+one, nil)
	if d := cmp.Diff(obj{"message": "You are being rate limited.", "retry_after": 1.5, "global": false, "code": 0.0}, got.JSON); d != "" {
		t.Errorf("429 (-want +got):\n%s", d)
	}
	if r.Last.Get("Retry-After") != "2" || r.Last.Get("X-RateLimit-Scope") != "user" || r.Last.Get("X-RateLimit-Global") != "" {
		t.Errorf("headers of the 429: %v", r.Last)
	}
	r.Must(200, "GET", "/channels/"+two, nil) // another channel has its own bucket
	if r.Last.Get("X-RateLimit-Bucket") != bucket {
		t.Error("the bucket's name depends on the channel")
	}
	r.Srv.Advance(1500 * time.Millisecond)
	r.Must(200, "GET", "/channels/"+one, nil)
}

func TestHiddenLimit(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		t.Run(fmt.Sprintf("name and topic count apart: %v", apart), func(t *testing.T) {
			t.Parallel()
			hiddenLimit(t, apart)
		})
	}
}

func hiddenLimit(t *testing.T, apart bool) {
	t.Helper()
	topic := map[bool]int{true: 200, false: 429}[apart]
	r := rig.Limited(t, func(l *discordtest.Limits) {
		l.NameTopic, l.NameAndTopicApart = discordtest.Rate{N: 2, Per: 10 * time.Minute}, apart
		l.Routes = map[string]discordtest.Rate{"PATCH /channels/{channel_id}": {N: 5, Per: 15 * time.Second}}
		l.Invalid = discordtest.Rate{N: 1, Per: time.Hour}
	})
	id := r.Channel(obj{"name": "a"})
	path := "/channels/" + id
	for _, tc := range []struct {
		name   string
		body   obj
		status int
	}{
		{"first change of name and topic", obj{"name": "b", "topic": "1"}, 200},
		{"edit without a change", obj{"name": "b", "topic": "1"}, 200},
		{"second change of the name", obj{"name": "c"}, 200},
		{"third change of the name", obj{"name": "d"}, 429},
		{"change of another field", obj{"nsfw": true}, 200},
		{"second change of the topic", obj{"topic": "2"}, topic},
		{"third change of the topic", obj{"topic": "3"}, 429},
		{"change of name and topic over the limit", obj{"name": "e", "topic": "4"}, 429},
	} {
		r.Srv.Advance(15 * time.Second)
		got := r.Do("PATCH", path, tc.body)
		if got.Status != tc.status {
			t.Fatalf("%s: %d %s", tc.name, got.Status, got.Raw)
		}
		if tc.status != 429 {
			continue
		}
		if wait, _ := got.JSON["retry_after"].(float64); wait < 400 || wait > 600 || r.Last.Get("X-RateLimit-Remaining") != "4" || r.Last.Get("X-RateLimit-Reset-After") != "15.000" {
			t.Errorf("%s: retry after %v with headers %v", tc.name, wait, r.Last)
		}
		if r.Last.Get("X-RateLimit-Scope") != "shared" { // a 429 with scope shared does not count for a ban
			t.Errorf("%s: scope %s", tc.name, r.Last.Get("X-RateLimit-Scope"))
		}
	}
	r.Srv.Advance(10 * time.Minute)
	if got := r.Must(200, "PATCH", path, obj{"name": "z", "topic": "z"}); got.JSON["name"] != "z" {
		t.Errorf("after ten minutes: %s", got.Raw)
	}
}

func TestGlobalLimit(t *testing.T) {
	t.Parallel()
	r := rig.Limited(t, func(l *discordtest.Limits) { l.Global = discordtest.Rate{N: 5, Per: time.Second} })
	id := r.Channel(obj{"name": "a"})
	hook := r.Must(200, "POST", "/channels/"+id+"/webhooks", obj{"name": "a"}).JSON
	for range 3 {
		r.Must(200, "GET", "/users/@me", nil)
	}
	if got := r.Must(429, "GET", "/channels/"+id, nil); got.JSON["global"] != true {
		t.Errorf("body %s", got.Raw)
	}
	if r.Last.Get("X-RateLimit-Global") != "true" || r.Last.Get("X-RateLimit-Scope") != "global" || r.Last.Get("Retry-After") != "1" {
		t.Errorf("headers %v", r.Last)
	}
	r.Must(204, "POST", "/webhooks/"+hook["id"].(string)+"/"+hook["token"].(string), obj{"content": "x"})
	other := r.Srv.AddBot(discordtest.Bot{})
	if got := r.As("Bot "+other.Token, "GET", "/users/@me", nil); got.Status != 200 {
		t.Errorf("another bot: %d", got.Status)
	}
}

func TestWebhookLimits(t *testing.T) {
	t.Parallel()
	r := rig.Limited(t, func(l *discordtest.Limits) { l.WebhookChannel = discordtest.Rate{N: 3, Per: time.Minute} })
	id := r.Channel(obj{"name": "a"})
	for i, want := range []int{204, 204, 204, 429} {
		w := r.Srv.CreateWebhookByHand(id, "w")
		if got := r.As("", "POST", "/webhooks/"+w.ID+"/"+w.Token, obj{"content": "x"}); got.Status != want {
			t.Errorf("message %d: %d", i, got.Status)
		}
	}
}

func TestBan(t *testing.T) {
	t.Parallel()
	r := rig.Limited(t, func(l *discordtest.Limits) {
		l.Invalid, l.Ban = discordtest.Rate{N: 3, Per: 10 * time.Minute}, time.Hour
	})
	for range 4 {
		if got := r.As("Bot wrong", "GET", "/users/@me", nil); got.Status != 401 {
			t.Fatalf("got %d", got.Status)
		}
	}
	got := r.Do("GET", "/users/@me", nil)
	if got.Status != 429 || !strings.HasPrefix(r.Last.Get("Content-Type"), "text/html") || !strings.Contains(string(got.Raw), "1015") {
		t.Errorf("got %d %s", got.Status, got.Raw)
	}
	if wait := seconds(t, r, "Retry-After"); wait < 3599 {
		t.Errorf("banned for %v s", wait)
	}
	r.Srv.Advance(time.Hour)
	r.Must(200, "GET", "/users/@me", nil)

	// Responses of faults count for a ban too, except a 429 with scope shared.
	r.Srv.Faults().Add(discordtest.Fault{Times: 5, Action: discordtest.RateLimited(time.Second, "shared")})
	r.Srv.Faults().Add(discordtest.Fault{Times: 2, Action: discordtest.RateLimited(time.Second, "user")})
	r.Srv.Faults().Add(discordtest.Fault{Times: 2, Action: discordtest.Action{Status: 403, Body: `{"code":50013,"message":"x"}`}})
	for range 9 {
		r.Do("GET", "/users/@me", nil)
	}
	if got := r.Do("GET", "/users/@me", nil); got.Status != 429 || !strings.Contains(string(got.Raw), "1015") {
		t.Errorf("after four faults that count: %d %s", got.Status, got.Raw)
	}
}

func TestSharedBucket(t *testing.T) {
	t.Parallel()
	r := rig.Limited(t, func(l *discordtest.Limits) {
		l.Buckets = map[string]string{"GET /channels/{channel_id}": "a channel", "PATCH /channels/{channel_id}": "a channel"}
		l.Routes = map[string]discordtest.Rate{"a channel": {N: 2, Per: time.Second}}
	})
	path := "/channels/" + r.Channel(obj{"name": "a"})
	r.Must(200, "GET", path, nil)
	bucket := r.Last.Get("X-RateLimit-Bucket")
	r.Must(200, "PATCH", path, obj{"nsfw": true})
	if r.Last.Get("X-RateLimit-Bucket") != bucket || r.Last.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("bucket %s of the first, headers of the second %v", bucket, r.Last)
	}
	r.Must(429, "GET", path, nil)
}

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	l := discordtest.DefaultLimits()
	got := []any{l.Channels, l.ChannelsPerCategory, l.WebhooksPerChannel, l.WebhooksPerGuild, l.OverwritesPerChannel, l.Global, l.NameTopic, l.Invalid, l.Identify, l.SessionStarts, l.GatewaySends}
	r := func(n int, per time.Duration) discordtest.Rate { return discordtest.Rate{N: n, Per: per} }
	want := []any{500, 50, 15, 1000, 1000, r(50, time.Second), r(2, 10*time.Minute), r(10000, 10*time.Minute), r(1, 5*time.Second), r(1000, 24*time.Hour), r(120, time.Minute)}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for route := range l.Routes {
		if !strings.Contains(strings.Join(discordtest.Routes(), "\n")+"\n", route+"\n") {
			t.Errorf("a limit for an unknown route: %s", route)
		}
	}
}

func TestSlidingWindow(t *testing.T) {
	t.Parallel()
	r := rig.Limited(t, func(l *discordtest.Limits) {
		l.Sliding = true
		l.Routes = map[string]discordtest.Rate{"GET /channels/{channel_id}": {N: 2, Per: 10 * time.Second}}
	})
	path := "/channels/" + r.Channel(obj{"name": "a"})
	for _, tc := range []struct {
		after            time.Duration
		status           int
		remaining, reset string
	}{
		{0, 200, "1", "10.000"},
		{6 * time.Second, 200, "0", "4.000"},
		{3 * time.Second, 429, "0", "1.000"},
		{time.Second, 200, "0", "6.000"}, // the first call has expired, but the second has not
		{time.Second, 429, "0", "5.000"},
		{9 * time.Second, 200, "1", "10.000"},
	} {
		r.Srv.Advance(tc.after)
		r.Must(tc.status, "GET", path, nil)
		if left, reset := r.Last.Get("X-RateLimit-Remaining"), r.Last.Get("X-RateLimit-Reset-After"); left != tc.remaining || reset != tc.reset {
			t.Errorf("after %s: remaining %s, reset after %s; want %s, %s", tc.after, left, reset, tc.remaining, tc.reset)
		}
	}
}

func TestHiddenCreates(t *testing.T) {
	t.Parallel()
	r := rig.Limited(t, func(l *discordtest.Limits) {
		l.ChannelCreates, l.WebhookCreates = discordtest.Rate{N: 2, Per: time.Minute}, discordtest.Rate{N: 1, Per: time.Minute}
		l.Routes = map[string]discordtest.Rate{
			"POST /guilds/{guild_id}/channels": {N: 9, Per: time.Second}, "POST /channels/{channel_id}/webhooks": {N: 9, Per: time.Second},
		}
	})
	one, two := r.Channel(obj{"name": "one"}), r.Channel(obj{"name": "two"})
	r.Must(200, "POST", "/channels/"+one+"/webhooks", obj{"name": "w"})
	r.Must(200, "POST", "/channels/"+two+"/webhooks", obj{"name": "w"})
	for _, call := range []struct{ path, remaining string }{
		{"/guilds/" + r.Guild + "/channels", "6"}, {"/channels/" + one + "/webhooks", "7"},
	} {
		got := r.Must(429, "POST", call.path, obj{"name": "more"})
		if left := r.Last.Get("X-RateLimit-Remaining"); left != call.remaining || r.Last.Get("X-RateLimit-Scope") != "user" || got.JSON["retry_after"] != 60.0 {
			t.Errorf("%s: %s left, headers %v, body %s", call.path, left, r.Last, got.Raw)
		}
	}
	if n := len(r.Srv.Guild(r.Guild).Channels); n != 2 {
		t.Errorf("%d channels", n)
	}
	r.Srv.Advance(time.Minute)
	r.Channel(obj{"name": "three"})
}

func TestStrictLimits(t *testing.T) {
	t.Parallel()
	l := discordtest.StrictLimits()
	if !l.Sliding || l.ChannelCreates.N == 0 || l.WebhookCreates.N == 0 || l.Global.N != 50 {
		t.Errorf("%+v", l)
	}
	for route, bucket := range l.Buckets {
		if _, ok := l.Routes[bucket]; !ok || !strings.Contains(strings.Join(discordtest.Routes(), "\n")+"\n", route+"\n") {
			t.Errorf("%s shares bucket %q, which has no rate, or is no route", route, bucket)
		}
	}
}
