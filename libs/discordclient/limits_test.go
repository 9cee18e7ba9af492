// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
	"jutsu.com/operators/test/discordtest"
)

type watch struct {
	next    http.RoundTripper
	tooMany atomic.Int64
}

func (w *watch) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		w.tooMany.Add(1)
	}
	return resp, err
}

func TestHiddenLimitOfNamesAndTopics(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(so *discordtest.Options, _ *discordclient.Options) {
		so.Frozen, so.Clock = true, time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
		so.Limits = discordtest.DefaultLimits()
		so.Limits.Routes["PATCH /channels/{channel_id}"] = discordtest.Rate{N: 10, Per: 15 * time.Second}
	})
	r.opts.Now = r.srv.Now
	r.client = r.newClient()
	a, b := r.create(discordclient.ChannelCreate{Name: "a"}), r.create(discordclient.ChannelCreate{Name: "b"})
	edit := func(c *discordclient.Channel, e discordclient.ChannelEdit) error {
		_, err := r.client.EditChannel(t.Context(), c.ID, e, "")
		return err
	}
	rename := func(name string) discordclient.ChannelEdit {
		return discordclient.ChannelEdit{Name: discordclient.Set(name)}
	}
	for _, name := range []string{"a1", "a2"} {
		if err := edit(a, rename(name)); err != nil {
			t.Fatal(err)
		}
	}
	first := limited(t, edit(a, rename("a3")))
	if first.Local || first.After < 9*time.Minute {
		t.Errorf("the third rename: %+v", first)
	}
	calls := r.calls()
	topic := limited(t, edit(a, discordclient.ChannelEdit{Topic: discordclient.Set("fire")}))
	if !topic.Local || topic.Scope != ratelimit.ScopeHidden || r.calls() != calls {
		t.Errorf("a topic after it: %+v, %d calls", topic, r.calls()-calls)
	}
	if err := edit(a, discordclient.ChannelEdit{NSFW: discordclient.Set(true)}); err != nil {
		t.Errorf("another field of the same channel: %v", err)
	}
	if err := edit(b, rename("b1")); err != nil {
		t.Errorf("another channel: %v", err)
	}
	r.srv.Advance(topic.After)
	if err := edit(a, rename("a3")); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

func TestEditsDoNotStarveCreatesAndDeletes(t *testing.T) {
	t.Parallel()
	wire := &watch{next: &http.Transport{MaxIdleConnsPerHost: 32}}
	r := newRig(t, func(so *discordtest.Options, co *discordclient.Options) {
		so.Frozen, so.Clock = true, time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
		so.Limits = discordtest.NoRateLimits()
		so.Limits.Global = discordtest.Rate{N: 50, Per: time.Second}
		co.GlobalPerSecond, co.Transport = 50, wire
	})
	r.opts.Now = r.srv.Now
	r.client = r.newClient()
	c := r.create(discordclient.ChannelCreate{Name: "a"})
	if err := r.client.DeleteChannel(t.Context(), r.create(discordclient.ChannelCreate{Name: "b"}).ID, ""); err != nil {
		t.Fatal(err)
	}
	r.srv.Advance(time.Second)
	edits := 0
	for ; edits < 100; edits++ {
		if _, err := r.client.EditChannel(t.Context(), c.ID, discordclient.ChannelEdit{NSFW: discordclient.Set(edits%2 == 0)}, ""); err != nil {
			if got := limited(t, err); !got.Local || got.Scope != ratelimit.ScopeGlobal {
				t.Errorf("edits ended with %+v", got)
			}
			break
		}
	}
	if edits != 40 {
		t.Errorf("%d edits in one second, want 40", edits)
	}
	for range 5 {
		if err := r.client.DeleteChannel(t.Context(), r.create(discordclient.ChannelCreate{Name: "c"}).ID, ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := wire.tooMany.Load(); got != 0 {
		t.Errorf("Discord refused %d calls", got)
	}
}

func TestATenantLeavesHalfOfTheLimit(t *testing.T) {
	t.Parallel()
	wire := &watch{next: &http.Transport{MaxIdleConnsPerHost: 32}}
	r := newRig(t, func(so *discordtest.Options, co *discordclient.Options) {
		so.Frozen, so.Clock = true, time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
		so.Limits = discordtest.NoRateLimits()
		so.Limits.Global = discordtest.Rate{N: 50, Per: time.Second}
		co.GlobalPerSecond, co.Transport = 50, wire
		co.Owner = func(tenant string) bool { return tenant == "owner" }
	})
	r.opts.Now = r.srv.Now
	r.client = r.newClient()
	c := r.create(discordclient.ChannelCreate{Name: "a"})
	if err := r.client.DeleteChannel(t.Context(), r.create(discordclient.ChannelCreate{Name: "b"}).ID, ""); err != nil {
		t.Fatal(err)
	}
	tenant := discordclient.WithTenant(t.Context(), "tenant")
	owner := discordclient.WithTenant(t.Context(), "owner")
	edit := func(ctx context.Context) error {
		_, err := r.client.EditChannel(ctx, c.ID, discordclient.ChannelEdit{NSFW: discordclient.Set(true)}, "")
		return err
	}
	create := func(ctx context.Context) error {
		_, err := r.client.CreateChannel(ctx, r.guild, discordclient.ChannelCreate{Name: "c"}, "")
		return err
	}
	until := func(ctx context.Context, call func(context.Context) error) (n int, held *discordclient.RateLimited) {
		t.Helper()
		for ; n < 100; n++ {
			if err := call(ctx); err != nil {
				return n, limited(t, err)
			}
		}
		t.Fatal("no call is limited")
		return n, nil
	}
	if err := edit(t.Context()); err != nil { // the first call of its route
		t.Fatal(err)
	}
	r.srv.Advance(time.Second)
	edits, held := until(tenant, edit)
	if edits != 20 || !held.ExceedsShare() || !held.Queued() {
		t.Errorf("a tenant makes %d edits, want 20, and then %+v", edits, held)
	}
	if creates, held := until(tenant, create); creates != 5 || !held.ExceedsShare() || !held.Queued() {
		t.Errorf("a tenant makes %d creates beside them, want 5, and then %+v", creates, held)
	}
	if err := r.client.MayCreateChannel(tenant, r.guild); err == nil || !limited(t, err).ExceedsShare() {
		t.Errorf("another create of the tenant: %v", err)
	}
	if err := r.client.MayCreateChannel(owner, r.guild); err != nil {
		t.Errorf("a create of the owner: %v", err)
	}
	edits, _ = until(owner, edit)
	creates, held := until(owner, create)
	if edits != 20 || creates != 5 || held.ExceedsShare() || !held.Queued() {
		t.Errorf("the owner makes %d edits and %d creates beside, want 20 and 5, and then %+v", edits, creates, held)
	}
	r.srv.Advance(3 * time.Second) // the waiting callers' reservations expire, since no caller tries again
	if creates, _ := until(owner, create); creates != 50 {
		t.Errorf("the owner makes %d creates in a second alone, want 50", creates)
	}
	if got := wire.tooMany.Load(); got != 0 {
		t.Errorf("Discord refused %d calls", got)
	}
}
