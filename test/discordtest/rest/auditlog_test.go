// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func actions(a rig.Answer) (out []int) {
	list, _ := a.JSON["audit_log_entries"].([]any)
	for _, e := range list {
		out = append(out, int(e.(obj)["action_type"].(float64)))
	}
	return out
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	before := strconv.FormatUint(discordtest.SnowflakeAt(r.Srv.Now())-1, 10)
	reason := url.PathEscape("uid: 7, für alle")
	id := r.Must(201, "POST", "/guilds/"+r.Guild+"/channels", obj{"name": "a"}, "X-Audit-Log-Reason", reason).ID()
	r.Must(200, "PATCH", "/channels/"+id, obj{"name": "b", "topic": "t"})
	r.Must(200, "PATCH", "/channels/"+id, obj{"name": "b"}) // no change, so no entry
	r.Must(204, "PUT", "/channels/"+id+"/permissions/"+r.Guild, obj{"type": 0, "deny": "2048"})
	r.Must(204, "PUT", "/channels/"+id+"/permissions/"+r.Guild, obj{"type": 0, "allow": "2048"})
	r.Must(204, "DELETE", "/channels/"+id+"/permissions/"+r.Guild, nil)
	w := r.Must(200, "POST", "/channels/"+id+"/webhooks", obj{"name": "w"}).ID()
	r.Must(200, "PATCH", "/webhooks/"+w, obj{"name": "x"})
	r.Must(204, "DELETE", "/webhooks/"+w, nil)
	r.Must(200, "PATCH", "/guilds/"+r.Guild, obj{"name": "Kyoto"})
	r.Must(200, "DELETE", "/channels/"+id, nil)
	r.Srv.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "by-hand"})

	log := "/guilds/" + r.Guild + "/audit-logs"
	for query, want := range map[string][]int{
		"":                                   {10, 12, 1, 52, 51, 50, 15, 14, 13, 11, 10},
		"?user_id=" + r.Bot.UserID:           {12, 1, 52, 51, 50, 15, 14, 13, 11, 10},
		"?after=" + before:                   {10, 11, 13, 14, 15, 50, 51, 52, 1, 12, 10},
		"?limit=2":                           {10, 12},
		"?after=" + before + "&limit=2":      {10, 11},
		"?action_type=10":                    {10, 10},
		"?target_id=" + w:                    {52, 51, 50},
		"?before=" + before:                  nil,
		"?action_type=10&user_id=" + r.Guild: nil,
	} {
		if d := cmp.Diff(want, actions(r.Must(200, "GET", log+query, nil))); d != "" {
			t.Errorf("%s (-want +got):\n%s", query, d)
		}
	}
	made := r.Must(200, "GET", log+"?action_type=10&user_id="+r.Bot.UserID, nil).JSON["audit_log_entries"].([]any)[0].(obj)
	if made["reason"] != "uid: 7, für alle" || made["target_id"] != id || made["user_id"] != r.Bot.UserID {
		t.Errorf("entry of the create: %v", made)
	}
	edit := r.Must(200, "GET", log+"?action_type=11", nil).JSON["audit_log_entries"].([]any)[0].(obj)
	if d := cmp.Diff([]any{obj{"key": "name", "old_value": "a", "new_value": "b"}, obj{"key": "topic", "new_value": "t"}}, edit["changes"]); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	for _, bad := range []string{"?limit=0", "?limit=101", "?limit=x", "?after=x"} {
		if got := r.Do("GET", log+bad, nil); got.Status != 400 || got.Code() != 50035 {
			t.Errorf("%s: %d %s", bad, got.Status, got.Raw)
		}
	}
	if got := r.Do("POST", "/guilds/"+r.Guild+"/channels", obj{"name": "a"}, "X-Audit-Log-Reason", strings.Repeat("x", 513)); got.Status != 400 {
		t.Errorf("a reason of 513 characters: %d", got.Status)
	}
}

func TestAuditEntriesComeLateOrNever(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.AuditDelay = 3 * time.Second })
	seen := func() int {
		return len(actions(r.Must(200, "GET", "/guilds/"+r.Guild+"/audit-logs?action_type=10", nil)))
	}
	r.Channel(obj{"name": "a"})
	if n := seen(); n != 0 {
		t.Errorf("%d entries at once", n)
	}
	r.Srv.Advance(3 * time.Second)
	if n := seen(); n != 1 {
		t.Errorf("%d entries after the delay", n)
	}
	r.Srv.Faults().LoseAudit(1)
	r.Channel(obj{"name": "lost"})
	r.Channel(obj{"name": "kept"})
	r.Srv.Advance(time.Hour)
	if n := seen(); n != 2 {
		t.Errorf("%d entries, want 2, because one of three is lost", n)
	}
}

func TestAuditEntriesAreKeptFor45Days(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	seen := func() int { return len(actions(r.Must(200, "GET", "/guilds/"+r.Guild+"/audit-logs", nil))) }
	r.Channel(obj{"name": "a"})
	r.Srv.Advance(45*24*time.Hour - time.Minute)
	r.Channel(obj{"name": "b"})
	if n := seen(); n != 2 {
		t.Errorf("%d entries a minute before the first is forgotten", n)
	}
	r.Srv.Advance(time.Minute)
	if n := seen(); n != 1 {
		t.Errorf("%d entries after 45 days", n)
	}
}

func TestBusyAuditLog(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	before := strconv.FormatUint(discordtest.SnowflakeAt(r.Srv.Now())-1, 10)
	log := "/guilds/" + r.Guild + "/audit-logs?action_type=10&limit=100"
	r.Srv.FillAuditLog(r.Guild, 1000)
	id := r.Channel(obj{"name": "mine"})
	r.Srv.FillAuditLog(r.Guild, 1000)
	entries := func(query string) []any {
		return r.Must(200, "GET", log+query, nil).JSON["audit_log_entries"].([]any)
	}
	pages, last, found := 0, before, 0
	for {
		page := entries("&after=" + last)
		if len(page) == 0 {
			break
		}
		pages++
		for _, e := range page {
			if e.(obj)["target_id"] == id {
				found = pages
			}
		}
		last = page[len(page)-1].(obj)["id"].(string)
	}
	if pages != 21 || found != 11 {
		t.Errorf("%d pages, one's own entry on page %d; want 21 and 11", pages, found)
	}
	if own := entries("&user_id=" + r.Bot.UserID); len(own) != 1 || own[0].(obj)["target_id"] != id {
		t.Errorf("by user: %v", own)
	}
	if own := entries("&target_id=" + id); len(own) != 1 {
		t.Errorf("by target: %d entries", len(own))
	}
	if n := len(r.Srv.Guild(r.Guild).Channels); n != 1 {
		t.Errorf("%d channels", n)
	}

	deaf := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.IgnoreTargetID = true })
	one := deaf.Channel(obj{"name": "a"})
	deaf.Channel(obj{"name": "b"})
	if got := actions(deaf.Must(200, "GET", "/guilds/"+deaf.Guild+"/audit-logs?target_id="+one, nil)); len(got) != 2 {
		t.Errorf("an ignored target_id filters: %v", got)
	}
}

func TestAuditJitter(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.AuditJitter = 10 * time.Second })
	for range 50 {
		r.Channel(obj{"name": "a"})
	}
	visible := map[time.Time]bool{}
	for _, e := range r.Srv.Guild(r.Guild).Audit {
		if late := e.VisibleAt.Sub(r.Srv.Now()); late <= 0 || late > 10*time.Second {
			t.Errorf("an entry comes %s late", late)
		}
		visible[e.VisibleAt] = true
	}
	if len(visible) < 45 {
		t.Errorf("%d different times for 50 entries", len(visible))
	}
	seen := func() int { return len(actions(r.Must(200, "GET", "/guilds/"+r.Guild+"/audit-logs?limit=100", nil))) }
	r.Srv.Advance(5 * time.Second)
	if n := seen(); n == 0 || n == 50 {
		t.Errorf("%d of 50 entries after half of the time", n)
	}
	r.Srv.Advance(5 * time.Second)
	if n := seen(); n != 50 {
		t.Errorf("%d of 50 entries in the end", n)
	}
}
