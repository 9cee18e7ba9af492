// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient"
)

func TestCreateOfAnEdit(t *testing.T) {
	t.Parallel()
	order, reaction := 1, discordclient.ParseEmoji("✅")
	edit := discordclient.ChannelEdit{
		Name: discordclient.Set("a"), Topic: discordclient.Set("x"), ParentID: discordclient.Set("7"), NSFW: discordclient.Set(true),
		Slowmode: discordclient.Set(5), Bitrate: discordclient.Set(8000), Flags: discordclient.Set(discordclient.FlagRequireTag),
		Tags: discordclient.Set([]discordclient.Tag{{Name: "bug"}}), DefaultReaction: discordclient.Set(&reaction),
		SortOrder: discordclient.Set(&order), Position: discordclient.Set(3), Overwrites: discordclient.Set([]discordclient.Overwrite{{ID: "1"}}),
	}
	want := `{"name":"a","type":0,"parent_id":"7","topic":"x","nsfw":true,"rate_limit_per_user":5,"bitrate":8000,` +
		`"available_tags":[{"name":"bug","moderated":false,"emoji_id":null,"emoji_name":null}],` +
		`"default_reaction_emoji":{"emoji_id":null,"emoji_name":"✅"},"default_sort_order":1}`
	sent, err := json.Marshal(edit.Create())
	if diff := cmp.Diff(want, string(sent)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
