// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestNormaliseName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"tokyo": "tokyo", "Tokyo Alerts": "tokyo-alerts", "a  -~ b": "a-b", "--a": "a", "a_b": "a_b", "what's up?!": "whats-up",
		"ÄÖÜ": "äöü", "東京": "東京", "🔥 fire": "🔥-fire", "a.b,c": "abc", " a ": "a", "!!!": "", "a$b+c=d": "abcd", "a\tb": "a-b",
	} {
		if got := discordtest.NormaliseName(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		if again := discordtest.NormaliseName(want); again != want {
			t.Errorf("%q is not stable: %q", want, again)
		}
	}
}

func TestCreateFields(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("ü", n) }
	r := rig.New(t, rig.Usual|discordtest.PermAdministrator, rig.Community)
	plain := rig.New(t, rig.Usual)
	text := r.Channel(obj{"name": "text"})
	group := r.Channel(obj{"name": "Group", "type": 4})
	for name, tc := range map[string]struct {
		body  any
		path  string // path of the nested error in the response
		leaf  string
		code  int    // error code; 0 if the channel is created
		field string // name of a field in the response
		want  any
		plain bool // use the guild without features
	}{
		"name is normalised":                     {body: obj{"name": "Tokyo Alerts"}, field: "name", want: "tokyo-alerts"},
		"name of a category is kept":             {body: obj{"name": "Tokyo Alerts!", "type": 4}, field: "name", want: "Tokyo Alerts!"},
		"name of a voice channel is kept":        {body: obj{"name": "The Hall", "type": 2}, field: "name", want: "The Hall"},
		"name of another channel":                {body: obj{"name": "text"}, field: "name", want: "text"},
		"name of 100 characters":                 {body: obj{"name": long(100)}, field: "name", want: long(100)},
		"name of 101 characters":                 {body: obj{"name": long(101)}, code: 50035, path: "name", leaf: "BASE_TYPE_BAD_LENGTH"},
		"name missing":                           {body: obj{}, code: 50035, path: "name", leaf: "BASE_TYPE_REQUIRED"},
		"name empty":                             {body: obj{"name": ""}, code: 50035, path: "name", leaf: "BASE_TYPE_REQUIRED"},
		"name of punctuation only":               {body: obj{"name": "?!"}, code: 50035, path: "name", leaf: "BASE_TYPE_BAD_LENGTH"},
		"name is a list":                         {body: obj{"name": []int{1}}, code: 50035, path: "name", leaf: "STRING_TYPE_CONVERT"},
		"topic of 1024 characters":               {body: obj{"name": "a", "topic": long(1024)}, field: "topic", want: long(1024)},
		"topic of 1025 characters":               {body: obj{"name": "a", "topic": long(1025)}, code: 50035, path: "topic", leaf: "BASE_TYPE_MAX_LENGTH"},
		"topic of 4096 characters in a forum":    {body: obj{"name": "a", "type": 15, "topic": long(4096)}, field: "topic", want: long(4096)},
		"empty topic becomes null":               {body: obj{"name": "a", "topic": ""}, field: "topic", want: nil},
		"topic of a category is ignored":         {body: obj{"name": "a", "type": 4, "topic": "x"}, field: "topic", want: nil},
		"slow mode":                              {body: obj{"name": "a", "rate_limit_per_user": 21600}, field: "rate_limit_per_user", want: 21600.0},
		"slow mode too long":                     {body: obj{"name": "a", "rate_limit_per_user": 21601}, code: 50035, path: "rate_limit_per_user", leaf: "NUMBER_TYPE_MAX"},
		"slow mode negative":                     {body: obj{"name": "a", "rate_limit_per_user": -1}, code: 50035, path: "rate_limit_per_user", leaf: "NUMBER_TYPE_MIN"},
		"slow mode is a word":                    {body: obj{"name": "a", "rate_limit_per_user": "soon"}, code: 50035, path: "rate_limit_per_user", leaf: "NUMBER_TYPE_COERCE"},
		"archive after a week":                   {body: obj{"name": "a", "default_auto_archive_duration": 10080}, field: "default_auto_archive_duration", want: 10080.0},
		"archive after 61 minutes":               {body: obj{"name": "a", "default_auto_archive_duration": 61}, code: 50035, path: "default_auto_archive_duration", leaf: "BASE_TYPE_CHOICES"},
		"nsfw null becomes false":                {body: obj{"name": "a", "nsfw": nil}, field: "nsfw", want: false},
		"nsfw is a word":                         {body: obj{"name": "a", "nsfw": "very"}, code: 50035, path: "nsfw", leaf: "BOOLEAN_TYPE_CONVERT"},
		"position negative":                      {body: obj{"name": "a", "position": -1}, code: 50035, path: "position", leaf: "NUMBER_TYPE_MIN"},
		"type of a direct message":               {body: obj{"name": "a", "type": 1}, code: 50035, path: "type", leaf: "BASE_TYPE_CHOICES"},
		"announcement":                           {body: obj{"name": "a", "type": 5}, field: "type", want: 5.0},
		"announcement without NEWS":              {plain: true, body: obj{"name": "a", "type": 5}, code: 50035, path: "type", leaf: "BASE_TYPE_CHOICES"},
		"forum without COMMUNITY":                {plain: true, body: obj{"name": "a", "type": 15}, code: 50024},
		"media without COMMUNITY":                {plain: true, body: obj{"name": "a", "type": 16}, code: 50024},
		"stage without COMMUNITY":                {plain: true, body: obj{"name": "a", "type": 13}, code: 50024},
		"voice without COMMUNITY":                {plain: true, body: obj{"name": "a", "type": 2}, field: "bitrate", want: 64000.0},
		"bitrate":                                {body: obj{"name": "a", "type": 2, "bitrate": 96000}, field: "bitrate", want: 96000.0},
		"bitrate too high without boosts":        {body: obj{"name": "a", "type": 2, "bitrate": 96001}, code: 50035, path: "bitrate", leaf: "NUMBER_TYPE_MAX"},
		"bitrate too low":                        {body: obj{"name": "a", "type": 2, "bitrate": 7999}, code: 50035, path: "bitrate", leaf: "NUMBER_TYPE_MIN"},
		"bitrate of a stage too high":            {body: obj{"name": "a", "type": 13, "bitrate": 64001}, code: 50035, path: "bitrate", leaf: "NUMBER_TYPE_MAX"},
		"bitrate of a text channel is ignored":   {body: obj{"name": "a", "bitrate": 1}, field: "bitrate"},
		"user limit of 99":                       {body: obj{"name": "a", "type": 2, "user_limit": 99}, field: "user_limit", want: 99.0},
		"user limit of 100":                      {body: obj{"name": "a", "type": 2, "user_limit": 100}, code: 50035, path: "user_limit", leaf: "NUMBER_TYPE_MAX"},
		"user limit of 10000 in a stage":         {body: obj{"name": "a", "type": 13, "user_limit": 10000}, field: "user_limit", want: 10000.0},
		"user limit of 10001 in a stage":         {body: obj{"name": "a", "type": 13, "user_limit": 10001}, code: 50035, path: "user_limit", leaf: "NUMBER_TYPE_MAX"},
		"region":                                 {body: obj{"name": "a", "type": 2, "rtc_region": "rotterdam"}, field: "rtc_region", want: "rotterdam"},
		"region left out":                        {body: obj{"name": "a", "type": 13}, field: "rtc_region", want: nil},
		"region unknown":                         {body: obj{"name": "a", "type": 2, "rtc_region": "atlantis"}, code: 50035, path: "rtc_region", leaf: "BASE_TYPE_CHOICES"},
		"video quality":                          {body: obj{"name": "a", "type": 13, "video_quality_mode": 2}, field: "video_quality_mode", want: 2.0},
		"video quality left out":                 {body: obj{"name": "a", "type": 2}, field: "video_quality_mode"},
		"video quality unknown":                  {body: obj{"name": "a", "type": 2, "video_quality_mode": 3}, code: 50035, path: "video_quality_mode", leaf: "BASE_TYPE_CHOICES"},
		"topic of a voice channel is ignored":    {body: obj{"name": "a", "type": 2, "topic": "x"}, field: "topic"},
		"topic of a media channel":               {body: obj{"name": "a", "type": 16, "topic": long(4096)}, field: "topic", want: long(4096)},
		"topic of 4097 characters in a forum":    {body: obj{"name": "a", "type": 15, "topic": long(4097)}, code: 50035, path: "topic", leaf: "BASE_TYPE_MAX_LENGTH"},
		"slow mode of threads":                   {body: obj{"name": "a", "type": 15, "default_thread_rate_limit_per_user": 5}, field: "default_thread_rate_limit_per_user", want: 5.0},
		"slow mode of threads too long":          {body: obj{"name": "a", "type": 15, "default_thread_rate_limit_per_user": 21601}, code: 50035, path: "default_thread_rate_limit_per_user", leaf: "NUMBER_TYPE_MAX"},
		"sort order":                             {body: obj{"name": "a", "type": 16, "default_sort_order": 0}, field: "default_sort_order", want: 0.0},
		"sort order left out":                    {body: obj{"name": "a", "type": 15}, field: "default_sort_order"},
		"sort order unknown":                     {body: obj{"name": "a", "type": 15, "default_sort_order": 2}, code: 50035, path: "default_sort_order", leaf: "BASE_TYPE_CHOICES"},
		"layout":                                 {body: obj{"name": "a", "type": 15, "default_forum_layout": 2}, field: "default_forum_layout", want: 2.0},
		"layout of a media channel is ignored":   {body: obj{"name": "a", "type": 16, "default_forum_layout": 2}, field: "default_forum_layout"},
		"reaction":                               {body: obj{"name": "a", "type": 15, "default_reaction_emoji": obj{"emoji_name": "✅"}}, field: "default_reaction_emoji", want: obj{"emoji_id": nil, "emoji_name": "✅"}},
		"reaction is no emoji":                   {body: obj{"name": "a", "type": 15, "default_reaction_emoji": obj{"emoji_name": "ok"}}, code: 10014},
		"reaction is an unknown emoji":           {body: obj{"name": "a", "type": 15, "default_reaction_emoji": obj{"emoji_id": "1234567"}}, code: 10014},
		"reaction with emoji id and emoji name":  {body: obj{"name": "a", "type": 15, "default_reaction_emoji": obj{"emoji_id": "1234567", "emoji_name": "✅"}}, code: 50035, path: "default_reaction_emoji.emoji_name", leaf: "BASE_TYPE_EXCLUSIVE"},
		"tag without a name":                     {body: obj{"name": "a", "type": 15, "available_tags": []obj{{}}}, code: 50035, path: "available_tags.0.name", leaf: "BASE_TYPE_REQUIRED"},
		"tag with a name of 21 characters":       {body: obj{"name": "a", "type": 15, "available_tags": []obj{{"name": long(21)}}}, code: 50035, path: "available_tags.0.name", leaf: "BASE_TYPE_BAD_LENGTH"},
		"21 tags":                                {body: obj{"name": "a", "type": 15, "available_tags": tags(21)}, code: 50035, path: "available_tags", leaf: "BASE_TYPE_MAX_LENGTH"},
		"two tags of one name":                   {body: obj{"name": "a", "type": 15, "available_tags": []obj{{"name": "Bug"}, {"name": "bug"}}}, code: 40061},
		"a create ignores flags":                 {body: obj{"name": "a", "type": 15, "flags": 16}, field: "flags", want: 0.0},
		"parent is a category":                   {body: obj{"name": "a", "parent_id": group}, field: "parent_id", want: group},
		"parent is no category":                  {body: obj{"name": "a", "parent_id": text}, code: 50035, path: "parent_id", leaf: "CHANNEL_PARENT_INVALID_TYPE"},
		"parent is unknown":                      {body: obj{"name": "a", "parent_id": "1"}, code: 50035, path: "parent_id", leaf: "CHANNEL_PARENT_INVALID"},
		"parent is no id":                        {body: obj{"name": "a", "parent_id": "x"}, code: 50035, path: "parent_id", leaf: "NUMBER_TYPE_COERCE"},
		"category in a category":                 {body: obj{"name": "a", "type": 4, "parent_id": group}, code: 50035, path: "parent_id", leaf: "CHANNEL_PARENT_INVALID_PARENT"},
		"overwrite of an unknown role":           {body: obj{"name": "a", "permission_overwrites": []obj{{"id": "1", "type": 0}}}, code: 10009},
		"overwrite without id":                   {body: obj{"name": "a", "permission_overwrites": []obj{{"type": 0}}}, code: 50035, path: "permission_overwrites.0.id", leaf: "BASE_TYPE_REQUIRED"},
		"overwrite with invalid permission bits": {body: obj{"name": "a", "permission_overwrites": []obj{{"id": "1", "allow": "x"}}}, code: 50035, path: "permission_overwrites.0.allow", leaf: "NUMBER_TYPE_COERCE"},
		"not JSON":                               {body: `{"name":`, code: 50109},
		"not an object":                          {body: `[]`, code: 50035, path: "_", leaf: "DICT_TYPE_CONVERT"},
		"unknown fields are ignored":             {body: obj{"name": "a", "colour": "red"}, field: "name", want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			if tc.plain {
				in = *plain
			}
			in.T = t
			got := in.Do("POST", "/guilds/"+in.Guild+"/channels", tc.body)
			if tc.code != 0 {
				if got.Status/100 != 4 || got.Code() != tc.code || tc.leaf != "" && rig.Leaf(got, tc.path) != tc.leaf {
					t.Errorf("got %d %s, want code %d and %s at %s", got.Status, got.Raw, tc.code, tc.leaf, tc.path)
				}
			} else if got.Status != 201 || !cmp.Equal(got.JSON[tc.field], tc.want) {
				t.Errorf("got %d %s, want %s %v", got.Status, got.Raw, tc.field, tc.want)
			}
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	got := r.Must(400, "POST", "/guilds/"+r.Guild+"/channels", obj{"nsfw": 3, "position": -1})
	for path, want := range map[string]string{"name": "BASE_TYPE_REQUIRED", "nsfw": "BOOLEAN_TYPE_CONVERT", "position": "NUMBER_TYPE_MIN"} {
		if rig.Leaf(got, path) != want {
			t.Errorf("%s: %q, want %q in %s", path, rig.Leaf(got, path), want, got.Raw)
		}
	}
}

func TestEditFields(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual|discordtest.PermAdministrator, rig.Community)
	group := r.Channel(obj{"name": "Group", "type": 4})
	for name, tc := range map[string]struct {
		kind  int
		body  obj
		field string
		want  any
		code  int
	}{
		"name is normalised":                       {body: obj{"name": "New Name"}, field: "name", want: "new-name"},
		"topic cleared by null":                    {body: obj{"topic": nil}, field: "topic", want: nil},
		"topic cleared by \"\"":                    {body: obj{"topic": ""}, field: "topic", want: nil},
		"parent cleared":                           {body: obj{"parent_id": nil}, field: "parent_id", want: nil},
		"overwrites cleared":                       {body: obj{"permission_overwrites": []obj{}}, field: "permission_overwrites", want: []any{}},
		"text to announcement":                     {body: obj{"type": 5}, field: "type", want: 5.0},
		"announcement to text":                     {kind: 5, body: obj{"type": 0}, field: "type", want: 0.0},
		"text to voice":                            {body: obj{"type": 2}, code: 50035},
		"voice to text":                            {kind: 2, body: obj{"type": 0}, code: 50035},
		"name null":                                {body: obj{"name": nil}, code: 50035},
		"position is stored as sent":               {body: obj{"position": 99}, field: "position", want: 99.0},
		"empty edit":                               {body: obj{}, field: "topic", want: "fire"},
		"absent fields are kept":                   {body: obj{"nsfw": true}, field: "topic", want: "fire"},
		"the response has permission bits as text": {body: obj{"permission_overwrites": []obj{{"id": r.Guild, "deny": 1024}}}, field: "permission_overwrites", want: []any{obj{"id": r.Guild, "type": 0.0, "allow": "0", "deny": "1024"}}},
		"permission bits as text are stored":       {body: obj{"permission_overwrites": []obj{{"id": r.Guild, "type": 0, "allow": "2048"}}}, field: "permission_overwrites", want: []any{obj{"id": r.Guild, "type": 0.0, "allow": "2048", "deny": "0"}}},
		"null permission bits become 0":            {body: obj{"permission_overwrites": []obj{{"id": r.Guild, "type": 0, "allow": nil, "deny": "1024"}}}, field: "permission_overwrites", want: []any{obj{"id": r.Guild, "type": 0.0, "allow": "0", "deny": "1024"}}},
		"overwrite type is found by the id":        {body: obj{"permission_overwrites": []obj{{"id": r.Bot.UserID, "allow": "1024"}}}, field: "permission_overwrites", want: []any{obj{"id": r.Bot.UserID, "type": 1.0, "allow": "1024", "deny": "0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			in := *r
			in.T = t
			id := in.Channel(obj{"name": "old", "type": tc.kind, "topic": "fire", "parent_id": group, "permission_overwrites": []obj{{"id": r.Guild, "deny": 2048}}})
			got := in.Do("PATCH", "/channels/"+id, tc.body)
			if tc.code != 0 {
				if got.Code() != tc.code {
					t.Errorf("got %s, want %d", got.Raw, tc.code)
				}
			} else if d := cmp.Diff(tc.want, got.JSON[tc.field]); got.Status != 200 || d != "" {
				t.Errorf("%d %s (-want +got):\n%s", got.Status, tc.field, d)
			}
		})
	}
}

func tags(n int) (list []obj) {
	for i := range n {
		list = append(list, obj{"name": "tag " + string(rune('a'+i))})
	}
	return list
}

func TestTags(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual|discordtest.PermAdministrator, rig.Community)
	r.Srv.EditGuildByHand(r.Guild, func(g *discordtest.Guild) { g.Emojis = []string{"1234567"} })
	forum := r.Channel(obj{"name": "ideas", "type": 15, "available_tags": []obj{
		{"name": "bug", "emoji_name": "🐛"}, {"name": "idea", "moderated": true, "emoji_id": "1234567"},
	}})
	was, _ := r.Srv.Channel(forum)
	bug, idea := was.Tags[0].ID, was.Tags[1].ID
	if bug == "" || idea == "" || bug == idea {
		t.Fatalf("got %+v, want two ids", was.Tags)
	}
	edit := func(status int, tags ...obj) rig.Answer {
		return r.Must(status, "PATCH", "/channels/"+forum, obj{"available_tags": tags})
	}
	edit(200, obj{"id": idea, "name": "proposal"}, obj{"name": "bug"})
	is, _ := r.Srv.Channel(forum)
	if is.Tags[0] != (discordtest.Tag{ID: idea, Name: "proposal"}) || is.Tags[1].ID == bug {
		t.Errorf("got %+v, want %s renamed and a new bug", is.Tags, idea)
	}
	for code, tags := range map[int][]obj{
		10087: {{"id": bug, "name": "bug"}}, 40061: {{"name": "a"}, {"name": "A"}}, 10014: {{"name": "a", "emoji_id": "7654321"}},
	} {
		if got := r.Do("PATCH", "/channels/"+forum, obj{"available_tags": tags}); got.Code() != code {
			t.Errorf("%v: got %s, want code %d", tags, got.Raw, code)
		}
	}
	if got := edit(404, obj{"id": idea, "name": "a"}, obj{"id": idea, "name": "b"}); got.Code() != 10087 {
		t.Errorf("one id twice: %s", got.Raw)
	}
	edit(200)
	if got := r.Do("PATCH", "/channels/"+forum, obj{"flags": discordtest.FlagRequireTag}); got.Code() != 40066 {
		t.Errorf("a tag is required and there is none: %s", got.Raw)
	}
	r.Must(200, "PATCH", "/channels/"+forum, obj{"flags": discordtest.FlagRequireTag | discordtest.FlagHideMediaDownload, "available_tags": tags(20)})
	if is, _ = r.Srv.Channel(forum); is.Flags != discordtest.FlagRequireTag || len(is.Tags) != 20 {
		t.Errorf("flags %d and %d tags of a forum", is.Flags, len(is.Tags))
	}
	media := r.Channel(obj{"name": "pictures", "type": 16})
	r.Must(200, "PATCH", "/channels/"+media, obj{"flags": discordtest.FlagHideMediaDownload})
	if is, _ = r.Srv.Channel(media); is.Flags != discordtest.FlagHideMediaDownload {
		t.Errorf("flags %d of a media channel", is.Flags)
	}
}

func TestBitrateByBoosts(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	voice := r.Channel(obj{"name": "Hall", "type": 2})
	highest := []int{96000, 128000, 256000, 384000}
	for tier, most := range highest {
		r.Srv.EditGuildByHand(r.Guild, func(g *discordtest.Guild) { g.PremiumTier = tier })
		r.Must(200, "PATCH", "/channels/"+voice, obj{"bitrate": most})
		r.Must(400, "PATCH", "/channels/"+voice, obj{"bitrate": most + 1})
	}
	r.Srv.EditGuildByHand(r.Guild, func(g *discordtest.Guild) { g.PremiumTier, g.Features = 0, []string{"VIP_REGIONS"} })
	r.Must(200, "PATCH", "/channels/"+voice, obj{"bitrate": 384000})
}

func TestVoiceNeedsConnect(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	deny := []discordtest.Overwrite{{ID: r.Guild, Deny: discordtest.PermConnect}}
	voice := r.Srv.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "Hall", Type: discordtest.TypeVoice, Overwrites: deny})
	text := r.Srv.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "hall", Overwrites: deny})
	r.Must(403, "PATCH", "/channels/"+voice, obj{"user_limit": 5})
	r.Must(200, "PATCH", "/channels/"+text, obj{"nsfw": true})
}
