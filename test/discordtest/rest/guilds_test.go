// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestGuildEdit(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	text, voice := r.Channel(obj{"name": "a"}), r.Channel(obj{"name": "V", "type": 2})
	for name, tc := range map[string]struct {
		body       obj
		field      string
		want       any
		path, leaf string
	}{
		"name is trimmed":                    {body: obj{"name": "  Kyoto "}, field: "name", want: "Kyoto"},
		"name too short":                     {body: obj{"name": "K"}, path: "name", leaf: "BASE_TYPE_BAD_LENGTH"},
		"name null":                          {body: obj{"name": nil}, path: "name", leaf: "BASE_TYPE_REQUIRED"},
		"description":                        {body: obj{"description": "school"}, field: "description", want: "school"},
		"description cleared":                {body: obj{"description": nil}, field: "description", want: nil},
		"verification level":                 {body: obj{"verification_level": 4}, field: "verification_level", want: 4.0},
		"verification level too high":        {body: obj{"verification_level": 5}, path: "verification_level", leaf: "BASE_TYPE_CHOICES"},
		"notifications of all messages":      {body: obj{"default_message_notifications": 0}, field: "default_message_notifications", want: 0.0},
		"content filter":                     {body: obj{"explicit_content_filter": 2}, field: "explicit_content_filter", want: 2.0},
		"AFK timeout of 7 seconds":           {body: obj{"afk_timeout": 7}, path: "afk_timeout", leaf: "BASE_TYPE_CHOICES"},
		"AFK channel":                        {body: obj{"afk_channel_id": voice}, field: "afk_channel_id", want: voice},
		"AFK channel is text":                {body: obj{"afk_channel_id": text}, path: "afk_channel_id", leaf: "CHANNEL_INVALID_TYPE"},
		"system channel":                     {body: obj{"system_channel_id": text}, field: "system_channel_id", want: text},
		"system channel cleared":             {body: obj{"system_channel_id": nil}, field: "system_channel_id", want: nil},
		"system channel unknown":             {body: obj{"system_channel_id": "1"}, path: "system_channel_id", leaf: "CHANNEL_INVALID"},
		"system channel flags too high":      {body: obj{"system_channel_flags": 64}, path: "system_channel_flags", leaf: "NUMBER_TYPE_MAX"},
		"locale":                             {body: obj{"preferred_locale": "ja"}, field: "preferred_locale", want: "ja"},
		"locale unknown":                     {body: obj{"preferred_locale": "tlh"}, path: "preferred_locale", leaf: "BASE_TYPE_CHOICES"},
		"icon that is no URI":                {body: obj{"icon": "hello"}, path: "icon", leaf: "IMAGE_INVALID"},
		"icon that is no base64":             {body: obj{"icon": "data:image/png;base64,!"}, path: "icon", leaf: "BINARY_TYPE_INVALID"},
		"icon that is no image":              {body: obj{"icon": "data:image/png;base64,aGVsbG8="}, path: "icon", leaf: "IMAGE_INVALID"},
		"icon of another type than declared": {body: obj{"icon": strings.Replace(rig.TinyPNG, "png", "gif", 1)}, path: "icon", leaf: "IMAGE_INVALID"},
		"icon that is too wide":              {body: obj{"icon": dataURI("png", discordtest.PNG(1025, 1, 0))}, path: "icon", leaf: "IMAGE_INVALID"},
		"icon that is animated":              {body: obj{"icon": dataURI("gif", discordtest.GIF(2))}, path: "icon", leaf: "IMAGE_INVALID"},
		"icon cleared":                       {body: obj{"icon": nil}, field: "icon", want: nil},
		"an edit cannot add VERIFIED":        {body: obj{"features": []string{"VERIFIED", "INVITES_DISABLED"}}, field: "features", want: []any{"INVITES_DISABLED"}},
		"an edit with owner_id is accepted":  {body: obj{"owner_id": "1"}, field: "name", want: "Kyoto"},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.T = t
			in.Srv.EditGuildByHand(in.Guild, func(g *discordtest.Guild) { g.Name = "Kyoto" })
			got := in.Do("PATCH", "/guilds/"+in.Guild, tc.body)
			if tc.leaf != "" {
				if got.Code() != 50035 || rig.Leaf(got, tc.path) != tc.leaf {
					t.Errorf("got %s, want %s at %s", got.Raw, tc.leaf, tc.path)
				}
			} else if d := cmp.Diff(tc.want, got.JSON[tc.field]); got.Status != 200 || d != "" {
				t.Errorf("%d %s (-want +got):\n%s", got.Status, got.Raw, d)
			}
		})
	}
}

func dataURI(format string, image []byte) string {
	return "data:image/" + format + ";base64," + base64.StdEncoding.EncodeToString(image)
}

func TestGuildIcon(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(_ *discordtest.Options, g *discordtest.GuildSpec) { g.Features = []string{"ANIMATED_ICON"} })
	icon := func(uri any) string {
		hash, _ := r.Must(200, "PATCH", "/guilds/"+r.Guild, obj{"icon": uri}).JSON["icon"].(string)
		return hash
	}
	first, still, moving := icon(rig.TinyPNG), icon(dataURI("gif", discordtest.GIF(1))), icon(dataURI("gif", discordtest.GIF(2)))
	if len(first) != 32 || len(still) != 32 || first == still || first != icon(rig.TinyPNG) {
		t.Errorf("%q and %q, want hashes of the content", first, still)
	}
	if len(moving) != 34 || !strings.HasPrefix(moving, "a_") {
		t.Errorf("an animated icon is %q", moving)
	}
	if none := icon(nil); none != "" {
		t.Errorf("cleared, it is %q", none)
	}
}

func TestCommunity(t *testing.T) {
	t.Parallel()
	r := rig.New(t, discordtest.PermAdministrator)
	path, id := "/guilds/"+r.Guild, r.Channel(obj{"name": "rules"})
	channels := obj{"rules_channel_id": id, "public_updates_channel_id": id}
	on := obj{"features": []string{"COMMUNITY", "INVITES_DISABLED"}, "rules_channel_id": id, "public_updates_channel_id": id,
		"verification_level": 1, "explicit_content_filter": 2}
	for _, tc := range []struct {
		edit obj
		want []any
		news int
	}{
		{channels, []any{}, 400},
		{on, []any{"COMMUNITY", "INVITES_DISABLED", "NEWS"}, 201},
		{obj{"features": []string{"INVITES_DISABLED"}}, []any{"INVITES_DISABLED"}, 400},
	} {
		if d := cmp.Diff(tc.want, r.Must(200, "PATCH", path, tc.edit).JSON["features"]); d != "" {
			t.Errorf("after %v (-want +got):\n%s", tc.edit, d)
		}
		if got := r.Do("POST", path+"/channels", obj{"name": "news", "type": 5}); got.Status != tc.news {
			t.Errorf("after %v an announcement channel is answered with %d %s", tc.edit, got.Status, got.Raw)
		}
	}
}

func TestCommunityIsRefused(t *testing.T) {
	t.Parallel()
	r := rig.New(t, discordtest.PermManageGuild|discordtest.PermManageChannels|discordtest.PermViewChannel)
	path, id := "/guilds/"+r.Guild, r.Channel(obj{"name": "rules"})
	on := func(change obj) obj {
		edit := obj{"features": []string{"COMMUNITY"}, "rules_channel_id": id, "public_updates_channel_id": id,
			"verification_level": 1, "explicit_content_filter": 2}
		for key, value := range change {
			if edit[key] = value; value == nil {
				delete(edit, key)
			}
		}
		return edit
	}
	refused := func(name string, edit obj, code int, path, leaf string) {
		t.Helper()
		if got := r.Do("PATCH", "/guilds/"+r.Guild, edit); got.Code() != code || leaf != "" && rig.Leaf(got, path) != leaf {
			t.Errorf("%s: %s", name, got.Raw)
		}
	}
	refused("without an administrator", on(nil), 50013, "", "")
	r.Srv.SetPermissions(r.Guild, r.Bot.UserID, discordtest.PermAdministrator)
	refused("without a rules channel", on(obj{"rules_channel_id": nil}), 40006, "", "")
	r.Must(200, "PATCH", path, obj{"rules_channel_id": id, "public_updates_channel_id": id})
	refused("with channels from an earlier edit", obj{"features": []string{"COMMUNITY"}}, 40006, "", "")
	const level, filter = "verification_level", "explicit_content_filter"
	refused("with verification level 0", on(obj{level: 0}), 50035, level, "GUILD_VERIFICATION_LEVEL_INSUFFICIENT")
	refused("with content filter 1", on(obj{filter: 1}), 50035, filter, "GUILD_EXPLICIT_CONTENT_FILTER_LEVEL_INSUFFICIENT")
	r.Must(200, "PATCH", path, on(nil))
	refused("content filter 0 after COMMUNITY", obj{filter: 0}, 50035, filter, "GUILD_EXPLICIT_CONTENT_FILTER_LEVEL_INSUFFICIENT")
	r.Srv.SetPermissions(r.Guild, r.Bot.UserID, discordtest.PermManageGuild)
	refused("COMMUNITY removed without an administrator", obj{"features": []string{}}, 50013, "", "")
}

func TestOwnGuilds(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.AllowGuildDeletion = true })
	own := r.Srv.AddGuild(discordtest.GuildSpec{Name: "Kyoto", OwnerID: r.Bot.UserID}).ID
	r.Must(201, "POST", "/guilds/"+own+"/channels", obj{"name": "a"})
	if got := r.Do("DELETE", "/guilds/"+r.Guild, nil); got.Code() != 50013 {
		t.Errorf("deleting the guild of another: %s", got.Raw)
	}
	r.Must(204, "DELETE", "/guilds/"+own, nil)
	if got := r.Do("GET", "/guilds/"+own, nil); got.Code() != 10004 {
		t.Errorf("deleted, but: %s", got.Raw)
	}
}
