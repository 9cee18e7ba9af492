package discordtest_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient/discordtest"
)

// actions are the action types of a page of the log.
func actions(a answer) (out []int) {
	list, _ := a.json["audit_log_entries"].([]any)
	for _, e := range list {
		out = append(out, int(e.(obj)["action_type"].(float64)))
	}
	return out
}

// TestAuditLog writes one entry of each kind and reads them by filter.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	before := strconv.FormatUint(discordtest.SnowflakeAt(r.srv.Now())-1, 10)
	reason := url.PathEscape("uid: 7, für alle")
	id := r.must(201, "POST", "/guilds/"+r.guild+"/channels", obj{"name": "a"}, "X-Audit-Log-Reason", reason).id()
	r.must(200, "PATCH", "/channels/"+id, obj{"name": "b", "topic": "t"})
	r.must(200, "PATCH", "/channels/"+id, obj{"name": "b"}) // changes nothing: no entry
	r.must(204, "PUT", "/channels/"+id+"/permissions/"+r.guild, obj{"type": 0, "deny": "2048"})
	r.must(204, "PUT", "/channels/"+id+"/permissions/"+r.guild, obj{"type": 0, "allow": "2048"})
	r.must(204, "DELETE", "/channels/"+id+"/permissions/"+r.guild, nil)
	w := r.must(200, "POST", "/channels/"+id+"/webhooks", obj{"name": "w"}).id()
	r.must(200, "PATCH", "/webhooks/"+w, obj{"name": "x"})
	r.must(204, "DELETE", "/webhooks/"+w, nil)
	r.must(200, "PATCH", "/guilds/"+r.guild, obj{"name": "Kyoto"})
	r.must(200, "DELETE", "/channels/"+id, nil)
	r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "by-hand"})

	log := "/guilds/" + r.guild + "/audit-logs"
	for query, want := range map[string][]int{
		"":                                   {10, 12, 1, 52, 51, 50, 15, 14, 13, 11, 10},
		"?user_id=" + r.bot.UserID:           {12, 1, 52, 51, 50, 15, 14, 13, 11, 10},
		"?after=" + before:                   {10, 11, 13, 14, 15, 50, 51, 52, 1, 12, 10},
		"?limit=2":                           {10, 12},
		"?after=" + before + "&limit=2":      {10, 11},
		"?action_type=10":                    {10, 10},
		"?target_id=" + w:                    {52, 51, 50},
		"?before=" + before:                  nil,
		"?action_type=10&user_id=" + r.guild: nil,
	} {
		if d := cmp.Diff(want, actions(r.must(200, "GET", log+query, nil))); d != "" {
			t.Errorf("%s (-want +got):\n%s", query, d)
		}
	}
	made := r.must(200, "GET", log+"?action_type=10&user_id="+r.bot.UserID, nil).json["audit_log_entries"].([]any)[0].(obj)
	if made["reason"] != "uid: 7, für alle" || made["target_id"] != id || made["user_id"] != r.bot.UserID {
		t.Errorf("entry of the create: %v", made)
	}
	edit := r.must(200, "GET", log+"?action_type=11", nil).json["audit_log_entries"].([]any)[0].(obj)
	if d := cmp.Diff([]any{obj{"key": "name", "old_value": "a", "new_value": "b"}, obj{"key": "topic", "new_value": "t"}}, edit["changes"]); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	for _, bad := range []string{"?limit=0", "?limit=101", "?limit=x", "?after=x"} {
		if got := r.do("GET", log+bad, nil); got.status != 400 || got.code() != 50035 {
			t.Errorf("%s: %d %s", bad, got.status, got.raw)
		}
	}
	if got := r.do("POST", "/guilds/"+r.guild+"/channels", obj{"name": "a"}, "X-Audit-Log-Reason", strings.Repeat("x", 513)); got.status != 400 {
		t.Errorf("a reason of 513 characters: %d", got.status)
	}
}

// TestAuditDelay: entries come late, or never.
func TestAuditDelay(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.AuditDelay = 3 * time.Second })
	seen := func() int {
		return len(actions(r.must(200, "GET", "/guilds/"+r.guild+"/audit-logs?action_type=10", nil)))
	}
	r.channel(obj{"name": "a"})
	if n := seen(); n != 0 {
		t.Errorf("%d entries at once", n)
	}
	r.srv.Advance(3 * time.Second)
	if n := seen(); n != 1 {
		t.Errorf("%d entries after the delay", n)
	}
	r.srv.Faults().LoseAudit(1)
	r.channel(obj{"name": "lost"})
	r.channel(obj{"name": "kept"})
	r.srv.Advance(time.Hour)
	if n := seen(); n != 2 {
		t.Errorf("%d entries, one of three was to be lost", n)
	}
}
