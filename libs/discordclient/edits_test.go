// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
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
	want := discordclient.ChannelCreate{
		Name: "a", Topic: "x", ParentID: "7", NSFW: true, Slowmode: 5, Bitrate: 8000, Flags: discordclient.FlagRequireTag,
		Tags: []discordclient.Tag{{Name: "bug"}}, DefaultReaction: &reaction, SortOrder: &order,
	}
	if diff := cmp.Diff(want, edit.Create()); diff != "" {
		t.Error(diff)
	}
}
