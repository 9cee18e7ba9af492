// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

var rows = resource.Rows{
	{Name: "name", Wire: "name", Limited: true}, {Name: "bitrate", Wire: "bitrate"}, {Name: "region", Wire: "rtc_region"},
	{Name: "requireTag", Wire: "flags"}, {Name: "hideMediaDownload", Wire: "flags"}, {Name: "tags", Wire: "available_tags"},
	{Name: "group", Wire: "parent_id"}, {Name: "nsfw", Wire: "nsfw"},
	{Name: "permissionOverwrites", Wire: "permission_overwrites", Guard: true},
}

func TestRefusedFields(t *testing.T) {
	t.Parallel()
	all := []string{"name", "bitrate", "region", "permissionOverwrites"}
	refused := func(class discordclient.Class, code int, paths ...string) error {
		e := &discordclient.Error{Class: class, Code: code}
		for _, p := range paths {
			e.Fields = append(e.Fields, discordclient.Field{Path: p})
		}
		return e
	}
	for name, c := range map[string]struct {
		err    error
		fields []string
		want   []string
	}{
		"no error":              {nil, all, nil},
		"another error":         {errors.New("x"), all, nil},
		"names a field":         {refused(discordclient.ClassInvalid, 50035, "bitrate"), all, []string{"bitrate"}},
		"names two fields":      {refused(discordclient.ClassInvalid, 50035, "rtc_region", "bitrate"), all, []string{"bitrate", "region"}},
		"names part of a field": {refused(discordclient.ClassInvalid, 50035, "permission_overwrites[0].allow"), all, all[3:]},
		"names no field":        {refused(discordclient.ClassInvalid, 50035), all, all[:3]},
		"names an unsent field": {refused(discordclient.ClassInvalid, 50035, "position"), all, all[:3]},
		"names no field, and no overwrites were sent": {refused(discordclient.ClassInvalid, 50035), all[:3], nil},
		"names flags, which two fields share":         {refused(discordclient.ClassInvalid, 50035, "flags"), []string{"requireTag", "hideMediaDownload", "tags"}, []string{"requireTag", "hideMediaDownload"}},
		"the category is full":                        {refused(discordclient.ClassLimit, 50035, "parent_id"), []string{"group", "nsfw"}, []string{"group"}},
		"an overwrite for a deleted role":             {refused(discordclient.ClassGone, 10011), all, all[3:]},
		"the channel is gone":                         {refused(discordclient.ClassGone, 10003), all, nil},
		"not allowed":                                 {refused(discordclient.ClassDenied, 50013), all, nil},
		"no response":                                 {refused(discordclient.ClassUnknown, 0), all, nil},
		"the rate limit of names":                     {&discordclient.RateLimited{After: time.Minute}, all, []string{"name"}},
		"a transient rate limit":                      {&discordclient.RateLimited{After: issues.MaxTransient}, all, nil},
		"a rate limit of an edit without a name":      {&discordclient.RateLimited{After: time.Minute}, all[1:], nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := refusedFields(rows, c.err, c.fields)
			if len(got) == 0 {
				got = nil
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// An edit without the refused overwrites could show everyone a topic that is meant for a few users.
func TestNothingIsShownIfTheOverwritesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.resources.Kind.Fields = rows
	r.Discord.SetPermissions(r.ID, r.Bot.UserID, all|discordtest.PermManageRoles)
	category := r.Discord.CreateChannelByHand(r.ID, discordtest.Channel{Name: "a", Type: discordtest.TypeCategory})
	hidden := []discordclient.Overwrite{{ID: r.ID, Deny: permissions.ViewChannel}}
	for name, c := range map[string]struct {
		onboarding bool
		edit       discordclient.ChannelEdit
		fields     []string
		topic      string // after the edit
		refused    bool   // whether the edit returns an error
		issues     bool   // whether the results have an issue
		calls      int
	}{
		"overwrites and other fields": {onboarding: true, fields: []string{"name", "topic", "permissionOverwrites"}, refused: true, issues: true, calls: 2,
			edit: discordclient.ChannelEdit{Name: discordclient.Set("b"), Topic: discordclient.Set("new"), Overwrites: discordclient.Set(hidden)}},
		"overwrites, a move and another field": {onboarding: true, fields: []string{"topic", "group", "permissionOverwrites"}, refused: true, issues: true, calls: 2,
			edit: discordclient.ChannelEdit{Topic: discordclient.Set("new"), ParentID: discordclient.Set(category), Overwrites: discordclient.Set(hidden)}},
		"only a move and overwrites": {onboarding: true, fields: []string{"group", "permissionOverwrites"}, refused: true, issues: true, calls: 2,
			edit: discordclient.ChannelEdit{ParentID: discordclient.Set(category), Overwrites: discordclient.Set(hidden)}},
		"only overwrites": {onboarding: true, fields: []string{"permissionOverwrites"}, refused: true, calls: 1,
			edit: discordclient.ChannelEdit{Overwrites: discordclient.Set(hidden)}},
		"a channel outside onboarding": {fields: []string{"topic", "permissionOverwrites"}, topic: "new", calls: 1,
			edit: discordclient.ChannelEdit{Topic: discordclient.Set("new"), Overwrites: discordclient.Set(hidden)}},
	} {
		t.Run(name, func(t *testing.T) {
			id := r.Discord.CreateChannelByHand(r.ID, discordtest.Channel{Name: "welcome"})
			if c.onboarding {
				r.Discord.EditGuildByHand(r.ID, func(g *discordtest.Guild) { g.OnboardingChannelIDs = []string{id} })
			}
			live, err := r.client.GetChannel(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			r.Discord.ResetRequests()
			results := Results{Live: live}
			err = r.resources.edit(t.Context(), r.client, Binding{Lookup: r.lookup()}, resource.ChannelEdit{ChannelEdit: c.edit}, c.fields, &results)
			after, _ := r.Discord.Channel(id)
			if (err != nil) != c.refused || len(results.Issues) > 0 != c.issues || len(r.Discord.Requests()) != c.calls {
				t.Errorf("%v, %v, %d calls", err, results.Issues, len(r.Discord.Requests()))
			}
			if after.Topic != c.topic || after.ParentID != "" || len(after.Overwrites) > 0 == c.onboarding {
				t.Errorf("the channel is %+v", after)
			}
		})
	}
}

func TestLeaveOut(t *testing.T) {
	t.Parallel()
	edit := discordclient.ChannelEdit{
		Bitrate: discordclient.Set(1), Overwrites: discordclient.Set([]discordclient.Overwrite{}), ParentID: discordclient.Set("1"),
	}
	p, kind := Plan{Edit: resource.ChannelEdit{ChannelEdit: edit}, Fields: []string{"bitrate", "group", "permissionOverwrites"}}, Kind{Fields: rows}
	kind.LeaveOut(&p, "bitrate", "group")
	edit = resource.EditOfChannel(p.Edit)
	if d := cmp.Diff([]string{"permissionOverwrites"}, p.Fields); d != "" || !edit.Bitrate.IsZero() ||
		!edit.ParentID.IsZero() || edit.Overwrites.IsZero() {
		t.Errorf("%+v %s", p.Edit, d)
	}
}
