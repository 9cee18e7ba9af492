package discordtest_test

import (
	"bytes"
	"testing"
)

// TestChannelLife creates, reads, edits and deletes a channel.
func TestChannelLife(t *testing.T) {
	t.Parallel()
	r := newRig(t, usual)
	made := r.must(201, "POST", "/guilds/"+r.guild+"/channels", obj{"name": "Tokyo Alarms!", "type": 0, "topic": "fire"})
	if made.json["name"] != "tokyo-alarms" || made.json["topic"] != "fire" || made.json["parent_id"] != nil {
		t.Errorf("created %s", made.raw)
	}
	path := "/channels/" + made.id()
	if got := r.must(200, "GET", path, nil); !bytes.Equal(got.raw, made.raw) {
		t.Errorf("read %s, created %s", got.raw, made.raw)
	}
	if got := r.must(200, "PATCH", path, obj{"topic": nil, "nsfw": true}); got.json["topic"] != nil || got.json["nsfw"] != true {
		t.Errorf("edited %s", got.raw)
	}
	if got := len(r.must(200, "GET", "/guilds/"+r.guild+"/channels", nil).list); got != 1 {
		t.Errorf("%d channels, want 1", got)
	}
	r.must(200, "DELETE", path, nil)
	if got := r.do("GET", path, nil); got.status != 404 || got.code() != 10003 {
		t.Errorf("after the deletion: %d %s", got.status, got.raw)
	}
	if got := r.srv.RequestCounts()["GET /channels/{channel_id}"]; got != 2 {
		t.Errorf("%d reads counted, want 2", got)
	}
}
