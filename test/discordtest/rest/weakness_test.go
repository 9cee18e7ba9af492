// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

// lasting is the default of Weakness.For.
const lasting = 2 * time.Second

func weak(t *testing.T, w discordtest.Weakness) *rig.Rig {
	return rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.Weakness = w })
}

func TestStaleReads(t *testing.T) {
	t.Parallel()
	r := weak(t, discordtest.Weakness{Stale: 1})
	list := "/guilds/" + r.Guild + "/channels"
	id := r.Channel(obj{"name": "a"})
	path := "/channels/" + id
	for _, method := range []string{"GET", "PATCH"} {
		if got := r.Do(method, path, obj{"topic": "t"}); got.Status != 404 || got.Code() != 10003 {
			t.Errorf("%s of a new channel: %d %s", method, got.Status, got.Raw)
		}
	}
	if got := r.Must(200, "GET", list, nil).List; len(got) != 0 {
		t.Errorf("listed just after the create: %v", got)
	}
	if c, _ := r.Srv.Channel(id); c.Topic != "" {
		t.Error("an edit with the answer 404 has been applied")
	}
	r.Srv.Advance(lasting)
	if got := r.Must(200, "PATCH", path, obj{"topic": "t"}); got.JSON["topic"] != "t" {
		t.Errorf("an edit answers with %s", got.Raw)
	}
	if got := r.Must(200, "GET", path, nil); got.JSON["topic"] != nil {
		t.Errorf("a read after the edit answers with %s", got.Raw)
	}
	hook := r.Must(200, "POST", path+"/webhooks", obj{"name": "w"}).ID()
	if got := r.Must(200, "GET", path+"/webhooks", nil).List; len(got) != 0 {
		t.Errorf("webhooks listed just after the create: %v", got)
	}
	if got := r.Do("GET", "/webhooks/"+hook, nil); got.Code() != 10015 {
		t.Errorf("the webhook made just now: %d %s", got.Status, got.Raw)
	}
	r.Must(200, "PATCH", "/guilds/"+r.Guild, obj{"name": "Kyoto"})
	if got := r.Must(200, "GET", "/guilds/"+r.Guild, nil); got.JSON["name"] != "Jujutsu High" {
		t.Errorf("the guild after its edit: %s", got.Raw)
	}
	r.Srv.Advance(lasting)
	if got := r.Must(200, "GET", path, nil); got.JSON["topic"] != "t" {
		t.Errorf("a read in the end answers with %s", got.Raw)
	}
	r.Must(200, "GET", "/webhooks/"+hook, nil)
	r.Must(200, "DELETE", path, nil)
	r.Must(200, "GET", path, nil)
	if got := r.Must(200, "GET", list, nil).List; len(got) != 1 {
		t.Errorf("listed just after the deletion: %v", got)
	}
	if got := r.Do("PATCH", path, obj{"topic": "u"}); got.Code() != 10003 {
		t.Errorf("an edit of a deleted channel: %d %s", got.Status, got.Raw)
	}
	r.Srv.Advance(lasting)
	if got := r.Do("GET", path, nil); got.Code() != 10003 {
		t.Errorf("a read of a deleted channel: %s", got.Raw)
	}
	if got := r.Must(200, "GET", "/guilds/"+r.Guild, nil); got.JSON["name"] != "Kyoto" {
		t.Errorf("the guild in the end: %s", got.Raw)
	}
}

func TestStaleDeletion(t *testing.T) {
	t.Parallel()
	r := weak(t, discordtest.Weakness{})
	group := r.Channel(obj{"name": "Alerts", "type": 4})
	child := r.Channel(obj{"name": "a", "parent_id": group})
	hooked := r.Channel(obj{"name": "b"})
	hook := r.Must(200, "POST", "/channels/"+hooked+"/webhooks", obj{"name": "w"}).ID()
	r.Srv.Weaken(discordtest.Weakness{Stale: 1})
	r.Must(200, "DELETE", "/channels/"+group, nil)
	r.Must(200, "DELETE", "/channels/"+hooked, nil)
	parent := func() any { return r.Must(200, "GET", "/channels/"+child, nil).JSON["parent_id"] }
	if got := parent(); got != group {
		t.Errorf("parent %v just after the deletion of the category, want the deleted category", got)
	}
	r.Must(200, "GET", "/webhooks/"+hook, nil)
	other := r.Srv.AddBot(discordtest.Bot{Name: "other"})
	r.Srv.AddMember(r.Guild, other.UserID, rig.Usual)
	if got := r.As("Bot "+other.Token, "GET", "/webhooks/"+hook, nil); got.Status != 200 {
		t.Errorf("another application's webhook just after the deletion of its channel: %d %s", got.Status, got.Raw)
	}
	r.Srv.Advance(lasting)
	if got := parent(); got != nil {
		t.Errorf("parent %v in the end", got)
	}
	if got := r.Do("GET", "/webhooks/"+hook, nil); got.Code() != 10015 {
		t.Errorf("the webhook in the end: %d %s", got.Status, got.Raw)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	r := weak(t, discordtest.Weakness{})
	id := r.Channel(obj{"name": "a"})
	path := "/channels/" + id
	hook := r.Must(200, "POST", path+"/webhooks", obj{"name": "w"}).ID()
	r.Srv.Weaken(discordtest.Weakness{Missing: 1})
	r.Must(200, "PATCH", path, obj{"topic": "t"})
	r.Must(200, "PATCH", "/webhooks/"+hook, obj{"name": "x"})
	for call, code := range map[[2]string]int{
		{"GET", path}: 10003, {"PATCH", path}: 10003, {"GET", "/webhooks/" + hook}: 10015, {"PATCH", "/webhooks/" + hook}: 10015,
	} {
		if got := r.Do(call[0], call[1], obj{"name": "b"}); got.Status != 404 || got.Code() != code {
			t.Errorf("%s %s: %d %s", call[0], call[1], got.Status, got.Raw)
		}
	}
	for _, list := range []string{"/guilds/" + r.Guild + "/channels", "/guilds/" + r.Guild + "/webhooks"} {
		if got := r.Must(200, "GET", list, nil).List; len(got) != 0 {
			t.Errorf("%s: %v", list, got)
		}
	}
	r.Srv.Advance(lasting)
	if got := r.Must(200, "GET", path, nil); got.JSON["topic"] != "t" {
		t.Errorf("there again: %s", got.Raw)
	}
	r.Must(200, "PATCH", path, obj{"topic": "u"})
	r.Must(200, "DELETE", path, nil)
}

func TestWeaknessIsSeeded(t *testing.T) {
	t.Parallel()
	run := func() (string, map[int]int) {
		r := weak(t, discordtest.Weakness{Stale: 0.3, Unauthorized: 0.1, Forbidden: 0.1, ServerErrors: 0.2})
		var log strings.Builder
		counts := map[int]int{}
		r.Must(200, "GET", "/gateway", nil)
		for range 300 {
			got := r.Do("GET", "/users/@me", nil)
			counts[got.Status/100*100+min(got.Status%100, 3)]++ // a 404 would count as 403, and a 504 as 503
			log.WriteString(strconv.Itoa(got.Status))
			if got.Status == 403 && got.Code() != 50001 || got.Status == 401 && got.JSON["message"] != "401: Unauthorized" {
				t.Errorf("%d %s", got.Status, got.Raw)
			}
		}
		for range 100 { // calls without a token do not fail
			if got := r.As("", "GET", "/gateway", nil); got.Status != 200 {
				t.Errorf("an open route: %d", got.Status)
			}
		}
		return log.String(), counts
	}
	first, counts := run()
	for status, n := range map[int]int{401: 30, 403: 27} {
		if got := counts[status]; got < n/2 || got > n*2 {
			t.Errorf("%d answers %d of 300, want about %d", got, status, n)
		}
	}
	if got := counts[500] + counts[502]; got < 25 || got > 100 {
		t.Errorf("%d answers 5xx of 300, want about 49", got)
	}
	if again, _ := run(); again != first {
		t.Error("the same seed gave another run")
	}
}

func TestServerErrorsMayHaveWorked(t *testing.T) {
	t.Parallel()
	r := weak(t, discordtest.Weakness{ServerErrors: 1})
	for range 40 {
		if got := r.Do("POST", "/guilds/"+r.Guild+"/channels", obj{"name": "a"}); got.Status < 500 {
			t.Fatalf("got %d %s", got.Status, got.Raw)
		}
	}
	if n := len(r.Srv.Guild(r.Guild).Channels); n == 0 || n > 20 {
		t.Errorf("%d of 40 made their channel, want about 10", n)
	}
}
