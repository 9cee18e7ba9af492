// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/discordtest/internal/rig"
)

// actions are the action types of a page of the log.
func actions(a rig.Answer) (out []int) {
	list, _ := a.JSON["audit_log_entries"].([]any)
	for _, e := range list {
		out = append(out, int(e.(obj)["action_type"].(float64)))
	}
	return out
}

// TestAuditLog writes one entry of each kind and reads them by filter.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	before := strconv.FormatUint(discordtest.SnowflakeAt(r.Srv.Now())-1, 10)
	reason := url.PathEscape("uid: 7, für alle")
	id := r.Must(201, "POST", "/guilds/"+r.Guild+"/channels", obj{"name": "a"}, "X-Audit-Log-Reason", reason).ID()
	r.Must(200, "PATCH", "/channels/"+id, obj{"name": "b", "topic": "t"})
	r.Must(200, "PATCH", "/channels/"+id, obj{"name": "b"}) // changes nothing: no entry
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

// TestAuditDelay: entries come late, or never.
func TestAuditDelay(t *testing.T) {
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
		t.Errorf("%d entries, one of three was to be lost", n)
	}
}
