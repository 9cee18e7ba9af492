// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestDeletion(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual|discordtest.PermAdministrator, rig.Community)
	group := r.Channel(obj{"name": "Group", "type": 4})
	child := r.Channel(obj{"name": "child", "parent_id": group, "position": 5})
	rules := r.Channel(obj{"name": "rules"})
	r.Must(200, "PATCH", "/guilds/"+r.Guild, obj{"system_channel_id": child, "rules_channel_id": rules, "features": []string{"COMMUNITY"}})
	hook := r.Must(200, "POST", "/channels/"+child+"/webhooks", obj{"name": "hook"}).ID()

	r.Must(200, "DELETE", "/channels/"+group, nil)
	if c, ok := r.Srv.Channel(child); !ok || c.ParentID != "" || c.Position != 5 {
		t.Errorf("child of a deleted category: %+v", c)
	}
	r.Must(200, "DELETE", "/channels/"+child, nil)
	if got := r.Do("GET", "/webhooks/"+hook, nil); got.Status != 404 || got.Code() != 10015 {
		t.Errorf("webhook of a deleted channel: %d %s", got.Status, got.Raw)
	}
	if got := r.Must(200, "GET", "/guilds/"+r.Guild, nil); got.JSON["system_channel_id"] != nil {
		t.Errorf("system channel is still %v", got.JSON["system_channel_id"])
	}
	if got := r.Do("DELETE", "/channels/"+rules, nil); got.Code() != 50074 {
		t.Errorf("rules channel of a Community guild: %s", got.Raw)
	}
	if got := r.Do("PATCH", "/channels/"+rules, obj{"type": 5}); got.Code() != 50086 {
		t.Errorf("rules channel made an announcement channel: %s", got.Raw)
	}
	if got := r.Do("DELETE", "/channels/"+child, nil); got.Status != 404 || got.Code() != 10003 {
		t.Errorf("deleted twice: %d %s", got.Status, got.Raw)
	}
}

func TestOnboarding(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual|discordtest.PermAdministrator)
	id := r.Channel(obj{"name": "welcome"})
	other := r.Channel(obj{"name": "other"})
	r.Srv.EditGuildByHand(r.Guild, func(g *discordtest.Guild) { g.OnboardingChannelIDs = []string{id} })
	hidden := obj{"type": 0, "deny": "1024"}
	for name, got := range map[string]rig.Answer{
		"PUT":   r.Do("PUT", "/channels/"+id+"/permissions/"+r.Guild, hidden),
		"PATCH": r.Do("PATCH", "/channels/"+id, obj{"name": "new", "permission_overwrites": []obj{{"id": r.Guild, "type": 0, "deny": "1024"}}}),
	} {
		if got.Status != 400 || got.Code() != 350003 || got.JSON["errors"] != nil {
			t.Errorf("%s: %d %s", name, got.Status, got.Raw)
		}
	}
	r.Must(200, "PATCH", "/channels/"+id, obj{"name": "new", "permission_overwrites": []obj{{"id": r.Guild, "type": 0, "deny": "2048"}}})
	r.Must(204, "PUT", "/channels/"+other+"/permissions/"+r.Guild, hidden)
}

func TestChannelLife(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	made := r.Must(201, "POST", "/guilds/"+r.Guild+"/channels", obj{"name": "Tokyo Alerts!", "type": 0, "topic": "fire"})
	if made.JSON["name"] != "tokyo-alerts" || made.JSON["topic"] != "fire" || made.JSON["parent_id"] != nil {
		t.Errorf("created %s", made.Raw)
	}
	path := "/channels/" + made.ID()
	if got := r.Must(200, "GET", path, nil); !bytes.Equal(got.Raw, made.Raw) {
		t.Errorf("read %s, created %s", got.Raw, made.Raw)
	}
	if got := r.Must(200, "PATCH", path, obj{"topic": nil, "nsfw": true}); got.JSON["topic"] != nil || got.JSON["nsfw"] != true {
		t.Errorf("edited %s", got.Raw)
	}
	if got := len(r.Must(200, "GET", "/guilds/"+r.Guild+"/channels", nil).List); got != 1 {
		t.Errorf("%d channels, want 1", got)
	}
	r.Must(200, "DELETE", path, nil)
	if got := r.Do("GET", path, nil); got.Status != 404 || got.Code() != 10003 {
		t.Errorf("after the deletion: %d %s", got.Status, got.Raw)
	}
	if got := r.Srv.RequestCounts()["GET /channels/{channel_id}"]; got != 2 {
		t.Errorf("%d reads counted, want 2", got)
	}
}

// A new channel gets its category's overwrites, and follows later changes of the category.
func TestSync(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual|discordtest.PermAdministrator)
	group := r.Channel(obj{"name": "Group", "type": 4, "permission_overwrites": []obj{{"id": r.Guild, "deny": "1024"}}})
	synced := r.Channel(obj{"name": "synced", "parent_id": group})
	own := r.Channel(obj{"name": "own", "parent_id": group, "permission_overwrites": []obj{}})
	r.Must(204, "PUT", "/channels/"+group+"/permissions/"+r.Guild, obj{"type": 0, "deny": "2048"})
	for id, want := range map[string][]discordtest.Overwrite{synced: {{ID: r.Guild, Deny: 2048}}, own: nil} {
		c, _ := r.Srv.Channel(id)
		if d := cmp.Diff(fmt.Sprint(want), fmt.Sprint(c.Overwrites)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, d)
		}
	}
	r.Must(204, "PATCH", "/guilds/"+r.Guild+"/channels", []obj{{"id": own, "lock_permissions": true, "parent_id": group}})
	if c, _ := r.Srv.Channel(own); len(c.Overwrites) != 1 {
		t.Errorf("after lock_permissions: %+v", c.Overwrites)
	}
}
