// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

func forbidding(t *testing.T) (client *discordclient.Client, whole *discordclient.InvalidRequests, calls *atomic.Int64) {
	calls = &atomic.Int64{}
	now := time.Unix(1_700_000_000, 0)
	whole = discordclient.NewInvalidRequests(func() time.Time { return now })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"code":50013,"message":"Missing Permissions"}`))
	}))
	t.Cleanup(srv.Close)
	client, err := discordclient.New(discordclient.Options{
		Token: discordclient.NewSecret("token"), APIURL: srv.URL, Invalid: whole.Share(20), GlobalPerSecond: 100_000,
		Circumstances: func(string) any { return nil }, Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return client, whole, calls
}

func until(t *testing.T, c *discordclient.Client, ctx context.Context) (refused int) { //nolint:revive // t first
	for ; refused < 10_000; refused++ {
		if _, err := c.GetChannel(ctx, "1"); discordclient.ClassOf(err) == discordclient.ClassRateLimited {
			if got := limited(t, err); !got.Local || !got.Refusals {
				t.Errorf("%+v", got)
			}
			return refused
		}
	}
	return refused
}

func TestRefusalsCountForTheirTenant(t *testing.T) {
	t.Parallel()
	c, whole, _ := forbidding(t)
	tenant := discordclient.WithRefusals(t.Context(), whole.Share(20))
	if got := until(t, c, tenant); got != 428 { // 9,000 / 21
		t.Errorf("a tenant stops after %d refusals", got)
	}
	if _, err := c.GetChannel(t.Context(), "1"); discordclient.ClassOf(err) != discordclient.ClassDenied {
		t.Errorf("the bot's own call: %v", err)
	}
	if err := c.MayCreateChannel(tenant, "1"); discordclient.ClassOf(err) != discordclient.ClassRateLimited {
		t.Errorf("a create of the tenant: %v", err)
	}
	if err := c.MayCreateChannel(t.Context(), "1"); err != nil {
		t.Errorf("a create of another one: %v", err)
	}
	const alone = 220 // refusals of a bot whose tenants cause none
	if left := until(t, c, t.Context()); left < alone/2 {
		t.Errorf("%d refusals are left of %d", left, alone)
	}
}

func TestADeniedCallIsNotRepeatedWithAnotherText(t *testing.T) {
	t.Parallel()
	c, _, calls := forbidding(t)
	topic := func(s string) discordclient.ChannelEdit {
		return discordclient.ChannelEdit{Topic: discordclient.Set(s)}
	}
	overwrites := func(id string) discordclient.ChannelEdit {
		return discordclient.ChannelEdit{Overwrites: discordclient.Set([]discordclient.Overwrite{{ID: id}})}
	}
	type edit struct {
		channel string
		edit    discordclient.ChannelEdit
		reason  string
		sent    bool
	}
	for i, e := range []edit{
		{"1", topic("a"), "x", true},
		{"1", topic("b"), "x", false},
		{"1", topic(""), "x", false},
		{"1", topic("b"), "y", true}, // the edit of another object
		{"2", topic("a"), "x", true},
		{"1", discordclient.ChannelEdit{NSFW: discordclient.Set(true)}, "x", true},
		{"1", overwrites("7"), "x", true},
		{"1", overwrites("7"), "x", false},
		{"1", overwrites("8"), "x", true},
	} {
		before := calls.Load()
		_, err := c.EditChannel(t.Context(), e.channel, e.edit, e.reason)
		wantClass(t, err, discordclient.ClassDenied)
		if sent := calls.Load() > before; sent != e.sent {
			t.Errorf("%d (%s): sent %v", i, fmt.Sprint(e), sent)
		}
	}
	before := calls.Load()
	for _, name := range []string{"a", "b"} {
		_, err := c.CreateChannel(t.Context(), "1", discordclient.ChannelCreate{Name: name}, "x")
		wantClass(t, err, discordclient.ClassDenied)
	}
	if got := calls.Load() - before; got != 1 {
		t.Errorf("%d creates of one object are sent", got)
	}
}
