// SPDX-License-Identifier: Apache-2.0

package issues

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/libs/manager/fence"
)

type transient struct{ error }

var errTransient = &transient{errors.New("connection refused")}

func refusal(class discordclient.Class) error {
	return fmt.Errorf("channel: %w", &discordclient.Error{Class: class, Op: "edit channel", Status: 400, Message: "No."})
}

func limited(after time.Duration) error {
	return fmt.Errorf("channel: %w", &discordclient.RateLimited{Op: "edit channel", After: after, Scope: "hidden"})
}

func queued(after time.Duration) error {
	return &discordclient.RateLimited{Op: "edit channel", After: after, Scope: "global", Local: true}
}

func exceeding(after time.Duration) error {
	return &discordclient.RateLimited{Op: "edit channel", After: after, Scope: "tenant", Local: true}
}

func TestOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 9, 10, 11, 12, 500, time.FixedZone("somewhere", 3600))
	brief, waiting := Transient(time.Second), conditions.Progressing("W", "")
	cases := map[string]struct {
		err  error
		want *conditions.Issue
	}{
		"no error":                {nil, nil},
		"keeps an issue":          {waiting, waiting},
		"keeps a transient issue": {brief, brief},
		"retries an error that is not from Discord": {errTransient, &conditions.Issue{Type: "Progressing", Reason: "Retrying", Message: "connection refused", Err: errTransient}},
		"retries while another process leads":       {fmt.Errorf("patch status: %w", fence.ErrNotLeading), Transient(notLeadingRetry)},
		"a transient rate limit":                    {limited(MaxTransient), Transient(MaxTransient)},
		"a rate limit, rounded up to the minute": {limited(48 * time.Second), conditions.Progressing("RateLimited",
			`Discord's rate limit for this kind of change, such as a new name or topic, delays the call "edit channel". The operator retries the call by 2026-08-09 09:13 UTC.`).After(48 * time.Second)},
		"a rate limit that ends on a minute": {limited(48*time.Second - 500), conditions.Progressing("RateLimited",
			`Discord's rate limit for this kind of change, such as a new name or topic, delays the call "edit channel". The operator retries the call by 2026-08-09 09:12 UTC.`).After(48*time.Second - 500)},
		"next in the call queue":         {queued(400 * time.Millisecond), Transient(1500 * time.Millisecond)},
		"a short wait in the call queue": {queued(maxQueued), Transient(38*time.Second + 500*time.Millisecond)},
		"a long wait in the call queue": {queued(maxQueued + time.Second), conditions.Progressing("RateLimited",
			`Discord's rate limit for all calls of the bot delays the call "edit channel". The operator retries the call by 2026-08-09 09:12 UTC.`).After(maxQueued + time.Second)},
		"a block by Cloudflare": {&discordclient.RateLimited{Op: "edit channel", After: time.Minute, Scope: "blocked"}, conditions.Progressing("RateLimited",
			`A proxy in front of Discord's API, usually Cloudflare, has blocked the call "edit channel". `+
				`The operator retries the call by 2026-08-09 09:13 UTC.`).After(time.Minute)},
		"a call held back by a block": {&discordclient.RateLimited{Op: "edit channel", After: time.Minute, Scope: "blocked", Local: true},
			conditions.Progressing("RateLimited", `A proxy in front of Discord's API, usually Cloudflare, has blocked the bot's calls, `+
				`so the call "edit channel" is delayed. The operator retries the call by 2026-08-09 09:13 UTC.`).After(time.Minute)},
		"a short wait for the namespace's share of calls": {exceeding(maxQueued), Transient(38*time.Second + 500*time.Millisecond)},
		"a long wait for the namespace's share of calls": {exceeding(maxQueued + time.Second), conditions.Progressing("RateLimited",
			`The bot belongs to another namespace, and the objects of this namespace have used their share of the bot's calls, so the call "edit channel" is delayed. `+
				`The operator retries the call by 2026-08-09 09:12 UTC.`).After(maxQueued + time.Second)},
		"a bad token":                     {refusal(discordclient.ClassBadToken), conditions.Progressing("WaitingForServer", "Discord refuses the bot's token. The owner of the DiscordServer must replace it.")},
		"denied":                          {refusal(discordclient.ClassDenied), conditions.Degraded("MissingPermissions", "").After(deniedRetry)},
		"a limit is reached":              {refusal(discordclient.ClassLimit), conditions.Degraded("LimitReached", "").After(fullRetry)},
		"invalid, until the spec changes": {refusal(discordclient.ClassInvalid), conditions.Degraded("Refused", "")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []conditions.Issue
			if c.want != nil {
				want = append(want, *c.want)
			}
			got := Of(c.err, now)
			if len(got) == 1 && got[0].IsDegraded() {
				if m := got[0].Message; !strings.Contains(m, "edit channel") || !strings.HasSuffix(m, ".") || strings.HasSuffix(m, "..") {
					t.Errorf("message %q", m)
				}
				got[0].Message = ""
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *transient) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
		})
	}
	if err := refusal(discordclient.ClassGone); !errors.Is(Of(err, now)[0].Err, err) {
		t.Error("a call for a deleted resource should be retried")
	}
	for _, class := range []discordclient.Class{discordclient.ClassTransient, discordclient.ClassUnknown} {
		got := Of(refusal(class), now)[0]
		if !got.Unverified || got.IsDegraded() || got.Err != nil || strings.Contains(got.Message, "edit channel") {
			t.Errorf("%s should be retried, and the message should not name the call: %+v", class, got)
		}
	}
}

func TestOfDeletion(t *testing.T) {
	t.Parallel()
	failed := v1alpha1.ReasonDeletionFailed
	theChannel := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "alerts"}}
	const forced = "`kubectl annotate discordchannels.discord.jutsu.com alerts -n team-a discord.jutsu.com/force-delete=true`."
	cases := map[string]struct {
		worst  error
		waited time.Duration
		reason string
		after  time.Duration
	}{
		"refused by Discord":                                    {refusal(discordclient.ClassDenied), 0, failed, deniedRetry},
		"hidden from the bot":                                   {Hidden("channel", "1", time.Hour), 0, failed, time.Hour},
		"already DeletionFailed":                                {DeletionFailed("No."), 0, failed, deletionRetry},
		"a refused token, within deletionGrace":                 {refusal(discordclient.ClassBadToken), time.Second, v1alpha1.ReasonWaitingForServer, deletionGrace - time.Second},
		"a refused token":                                       {refusal(discordclient.ClassBadToken), deletionGrace, failed, deletionRetry},
		"a failing Discord, within deletionGrace":               {refusal(discordclient.ClassTransient), 0, conditions.ReasonRetrying, deletionGrace},
		"a failing Discord":                                     {refusal(discordclient.ClassTransient), deletionGrace, failed, deletionRetry},
		"a guild that is gone":                                  {refusal(discordclient.ClassGone), deletionGrace, failed, deletionRetry},
		"a create with an unknown result, within deletionGrace": {conditions.Progressing(v1alpha1.ReasonCreatePending, "x").After(time.Second), 0, v1alpha1.ReasonCreatePending, time.Second},
		"a create with an unknown result":                       {conditions.Progressing(v1alpha1.ReasonCreatePending, "x").After(time.Second), deletionGrace, failed, time.Second},
		"a transient issue":                                     {Transient(time.Second), deletionGrace, v1alpha1.ReasonRateLimited, time.Second},
		"a pause":                                               {conditions.Degraded(v1alpha1.ReasonPaused, "x"), deletionGrace, v1alpha1.ReasonPaused, 0},
		"a rate limit":                                          {limited(time.Hour), deletionGrace, v1alpha1.ReasonRateLimited, time.Hour},
		"a wait for dependents":                                 {conditions.Progressing(v1alpha1.ReasonWaitingForDependents, "x"), deletionGrace, v1alpha1.ReasonWaitingForDependents, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := OfDeletion(theChannel, Worst(Of(c.worst, time.Time{})), c.waited)
			if got.Reason != c.reason || got.RequeueAfter != c.after {
				t.Errorf("got %+v", got)
			}
			if names := strings.Contains(got.Message, forced); names != (c.reason == failed) {
				t.Errorf("message %q", got.Message)
			}
		})
	}
}

func TestUnreported(t *testing.T) {
	t.Parallel()
	reported := []metav1.Condition{{Type: "Ready"}}
	cases := map[string]struct {
		end  error
		was  []metav1.Condition
		age  time.Duration
		want time.Duration
	}{
		"no issue":                                  {nil, nil, 0, 0},
		"a transient issue of a reported object":    {Transient(time.Second), reported, time.Hour, time.Second},
		"a transient issue of a new object":         {Transient(time.Second), nil, MaxTransient - time.Millisecond, time.Second},
		"a new object waits":                        {conditions.Progressing("", ""), nil, 2 * time.Second, 3 * time.Second},
		"a new object waits less than MaxTransient": {conditions.Progressing("", "").After(time.Second), nil, 0, time.Second},
		"a new object waits more than MaxTransient": {conditions.Progressing("", "").After(time.Hour), nil, 0, MaxTransient},
		"a new object has waited for MaxTransient":  {conditions.Progressing("", ""), nil, MaxTransient, 0},
		"a reported object waits":                   {conditions.Progressing("", ""), reported, 0, 0},
		"a new object is Degraded":                  {conditions.Degraded("", ""), nil, 0, 0},
		"a new object fails":                        {errTransient, nil, 0, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Unreported(conditions.Worst(conditions.Of(c.end)), c.was, c.age); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestIsTransient(t *testing.T) {
	t.Parallel()
	if IsTransient(nil) || IsTransient(conditions.Progressing("W", "").After(time.Second)) {
		t.Error("nil, or an issue with a requeue time, counts as transient")
	}
	w := Transient(time.Second)
	if !IsTransient(w) || w.IsDegraded() || w.RequeueAfter != time.Second || w.Message == "" || w.Reason != v1alpha1.ReasonRateLimited {
		t.Errorf("%+v", w)
	}
}

// Each issue in ranks is worse than the issues in earlier lines.
func TestWorst(t *testing.T) {
	t.Parallel()
	ranks := [][]error{
		{nil},
		{Transient(time.Second), limited(MaxTransient)},
		{conditions.Progressing("", ""), limited(time.Minute)},
		{errTransient, refusal(discordclient.ClassTransient), refusal(discordclient.ClassUnknown), refusal(discordclient.ClassGone)},
		{conditions.Degraded("", ""), refusal(discordclient.ClassDenied), refusal(discordclient.ClassInvalid), refusal(discordclient.ClassLimit)},
	}
	only := func(err error) *conditions.Issue { return Worst(Of(err, time.Time{})) }
	of := func(a, b error) *conditions.Issue {
		return Worst(slices.Concat(Of(a, time.Time{}), Of(b, time.Time{})))
	}
	same := cmp.Comparer(func(a, b *conditions.Issue) bool { return a == b || a != nil && b != nil && *a == *b })
	for i, worse := range ranks {
		for _, less := range ranks[:i] {
			for _, a := range worse {
				for _, b := range less {
					if diff := cmp.Diff(only(a), of(a, b), same); diff != "" {
						t.Errorf("the first of %v and %v is not the worst (-want +got):\n%s", a, b, diff)
					}
					if diff := cmp.Diff(only(a), of(b, a), same); diff != "" {
						t.Errorf("the second of %v and %v is not the worst (-want +got):\n%s", b, a, diff)
					}
				}
			}
		}
		for _, a := range worse {
			if diff := cmp.Diff(only(a), of(a, worse[0]), same); diff != "" {
				t.Errorf("of two issues of one rank, the first is not the worst (-want +got):\n%s", diff)
			}
		}
	}
}

func TestLacking(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]error{
		"The bot lacks the permission ViewChannel, which it needs. Give it to a role of the bot.":                                                 Lacking(permissions.ManageRoles, true, permissions.ManageRoles|permissions.ViewChannel, "which it needs", ""),
		"The bot lacks the permissions ManageChannels, ViewChannel, which it needs. Give them to a role of the bot, or invite the bot again: URL": Lacking(0, true, permissions.ManageChannels|permissions.ViewChannel, "which it needs", "URL"),
	} {
		wrong, ok := errors.AsType[*conditions.Issue](got)
		if !ok || !wrong.IsDegraded() || wrong.Message != want || wrong.RequeueAfter == 0 {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	if got := Lacking(0, false, permissions.ViewChannel, "which it needs", ""); got != nil {
		t.Errorf("a lack is reported although the permissions are not exact: %v", got)
	}
	if got := Lacking(permissions.ViewChannel, true, permissions.ViewChannel, "which it needs", ""); got != nil {
		t.Errorf("no permission is lacking, but this is reported: %v", got)
	}
}

func TestJoinUpToTen(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{
		"":                             nil,
		"a, b":                         {"b", "a"},
		"a, b, c, d, e, f, g, h, i, j": {"j", "i", "h", "g", "f", "e", "d", "c", "b", "a"},
		"a, b, c, d, e, f, g, h, i, j and 2 more": {"l", "k", "j", "i", "h", "g", "f", "e", "d", "c", "b", "a"},
	}
	for want, names := range cases {
		if got := JoinUpToTen(names); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
