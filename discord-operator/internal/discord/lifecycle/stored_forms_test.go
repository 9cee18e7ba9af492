// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
)

type edited struct {
	name, topic string
	slowmode    int
	overwrites  []discordclient.Overwrite
}

func row[T any](name, wire string, want func(edited) *T) resource.Field[edited, discordclient.Channel, discordclient.ChannelEdit] {
	return resource.NewField[edited, discordclient.Channel, discordclient.ChannelEdit](name, wire, want)
}

var some = resource.Table[edited, discordclient.Channel, discordclient.ChannelEdit]{
	row("name", "", func(e edited) *string { return &e.name }), row("topic", "", func(e edited) *string { return &e.topic }),
	row("slowmode", "rate_limit_per_user", func(e edited) *int { return &e.slowmode }),
	row("permissionOverwrites", "permission_overwrites", func(e edited) *[]discordclient.Overwrite { return &e.overwrites }),
}

func (e edited) differ(live *discordclient.Channel, stored resource.StoredForms) (discordclient.ChannelEdit, resource.Differences) {
	return some.Differ(e, live, stored)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	private := []discordclient.Overwrite{{ID: "1", Deny: 1024}}
	type channel = discordclient.Channel
	cases := map[string]struct {
		asked            edited
		before, answer   channel
		changed, ignored []string
		again            []string // fields of a second edit
	}{
		"Discord applies three fields": {
			asked: edited{name: "a", slowmode: 5, overwrites: private}, before: channel{Name: "b"},
			answer: channel{Name: "a", Slowmode: 5, Overwrites: private}, changed: []string{"name", "slowmode", "permissionOverwrites"},
		},
		"Discord ignores a number": {
			asked: edited{slowmode: 5}, ignored: []string{"slowmode"},
		},
		"Discord stores another number": {
			asked: edited{slowmode: 5}, answer: channel{Slowmode: 6}, changed: []string{"slowmode"},
		},
		"Discord ignores overwrites": {
			asked: edited{overwrites: private}, ignored: []string{"permissionOverwrites"},
		},
		"Discord stores another topic": {
			asked: edited{topic: "see x"}, answer: channel{Topic: "see ***"}, changed: []string{"topic"},
		},
		"Discord ignores a topic": {
			asked: edited{topic: "see x"}, before: channel{Topic: "none"}, answer: channel{Topic: "none"}, ignored: []string{"topic"},
		},
		"Discord normalises a name to the live name": {
			asked: edited{name: "On Call!"}, before: channel{Name: "on-call"}, answer: channel{Name: "on-call"},
		},
		"Discord applies one of two fields": {
			asked: edited{topic: "x", slowmode: 5}, answer: channel{Topic: "x"}, changed: []string{"topic"}, ignored: []string{"slowmode"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakePassiveClock(time.Unix(100, 0))
			records, o := NewRecords(clock, time.Minute), &v1alpha1.DiscordChannel{}
			edit, d := c.asked.differ(&c.before, records.StoredForms(o))
			changed, ignored := records.Answered(o, some.Rows(), d.Fields, edit, c.before, c.answer)
			if diff := cmp.Diff(c.changed, changed) + cmp.Diff(c.ignored, ignored); diff != "" {
				t.Error(diff)
			}
			_, d = c.asked.differ(&c.answer, records.StoredForms(o))
			if diff := cmp.Diff([]string(nil), d.Fields) + cmp.Diff(c.ignored, d.Ignored); diff != "" {
				t.Errorf("after the answer: %s", diff)
			}
			clock.SetTime(clock.Now().Add(resource.NotAppliedRetry))
			if _, d = c.asked.differ(&c.answer, records.StoredForms(o)); cmp.Diff(c.ignored, d.Fields) != "" {
				t.Errorf("after NotAppliedRetry, the fields %v are sent again, want %v", d.Fields, c.ignored)
			}
		})
	}
}

func TestIgnoredChangeIsRepeatedAfterAChange(t *testing.T) {
	t.Parallel()
	records := NewRecords(clocktesting.NewFakePassiveClock(time.Unix(100, 0)), time.Minute)
	o, asked, live := &v1alpha1.DiscordChannel{}, edited{slowmode: 5}, discordclient.Channel{}
	edit, d := asked.differ(&live, nil)
	records.Answered(o, some.Rows(), d.Fields, edit, live, live)
	again := func(asked edited, live discordclient.Channel, want bool) {
		t.Helper()
		if _, d := asked.differ(&live, records.StoredForms(o)); len(d.Fields) > 0 != want {
			t.Errorf("the field is sent again: %t, want %t", !want, want)
		}
	}
	again(asked, live, false)
	again(edited{slowmode: 6}, live, true)
	again(asked, discordclient.Channel{Slowmode: 7}, true)
	if with := records.StoredForms(o).WithFeatures([]string{"COMMUNITY"}); len(with) != 1 {
		t.Error("other features drop the stored form of a channel")
	}
	o.Generation++
	again(asked, live, true)
	records.Forget(o.UID)
	o.Generation--
	again(asked, live, true)
}

func TestIgnoredChangeIsRepeatedWithOtherFeatures(t *testing.T) {
	t.Parallel()
	records := NewRecords(clocktesting.NewFakePassiveClock(time.Unix(100, 0)), time.Minute)
	o, live := &v1alpha1.DiscordServer{}, discordclient.Guild{Features: []string{"INVITES_DISABLED"}}
	edit := discordclient.GuildEdit{Description: discordclient.Set("A school")}
	_, ignored := records.Answered(o, some.Rows(), []string{"description"}, edit, live, live)
	if len(ignored) != 1 || len(records.StoredForms(o).WithFeatures(live.Features)) != 1 {
		t.Fatalf("ignored are %v", ignored)
	}
	if again := records.StoredForms(o).WithFeatures([]string{"COMMUNITY", "INVITES_DISABLED"}); len(again) > 0 {
		t.Errorf("with other features, the guild still has the stored form %v", again)
	}
}
