// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
)

func TestWordsOfDifferences(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	asked := spec{
		Name: "a", Type: "Announcement", Topic: new("new"), NSFW: new(true), DefaultAutoArchive: v1alpha1.AutoArchiveThreeDays,
		Slowmode: &metav1.Duration{Duration: 90 * time.Second},
		Voice:    &v1alpha1.ChannelVoice{Bitrate: new(int32(2)), VideoQuality: v1alpha1.VideoQualityFull},
		Forum: &v1alpha1.ChannelForum{
			ThreadSlowmode: &metav1.Duration{Duration: 5 * time.Second}, RequireTag: new(true), HideMediaDownload: new(false),
			Layout: v1alpha1.ForumLayoutGallery, SortOrder: v1alpha1.SortOrderCreationDate, DefaultReaction: new(v1alpha1.Emoji("✅")),
			Tags: []v1alpha1.ForumTag{{Name: "bug", Moderated: true, Emoji: "🐛"}, {Name: "idea"}},
		},
	}
	live := &discordclient.Channel{
		Name: "a", Topic: "old\n", DefaultAutoArchive: 60, Bitrate: 1, VideoQuality: 1, Flags: discordclient.FlagHideMediaDownload,
	}
	var got []string
	for _, d := range resource.Changes(NewPlan(object(asked), s.observed(live, "")).Changes, s.snap) {
		got = append(got, d.String())
	}
	want := []string{
		"type: Text -> Announcement", `topic: "old\n" -> "new"`, "nsfw: false -> true", "slowmode: 0s -> 1m30s",
		"defaultAutoArchive: OneHour -> ThreeDays", "bitrate: 1 -> 2", "videoQuality: Auto -> Full",
		`tags: none -> 🐛 "bug" (moderated), "idea"`, "hideMediaDownload: true -> false", "requireTag: false -> true",
		"defaultReaction: none -> ✅", "sortOrder: NotSet -> CreationDate", "layout: NotSet -> Gallery", "threadSlowmode: 0s -> 5s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
