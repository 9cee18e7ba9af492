// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

type failing struct {
	*httptest.Server
	status, calls int
}

func newFailing(t *testing.T) *failing {
	f := &failing{status: http.StatusBadGateway}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f.calls++
		if f.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "3600")
		}
		w.WriteHeader(f.status)
		_, _ = w.Write([]byte(`{"id":"1","url":"wss://gateway.discord.gg","code":7}`))
	}))
	t.Cleanup(f.Close)
	return f
}

func TestAnOutageSlowsCallsDown(t *testing.T) {
	t.Parallel()
	srv, now := newFailing(t), time.Unix(1, 0)
	c, err := discordclient.New(discordclient.Options{
		Token: discordclient.NewSecret("token"), APIURL: srv.URL, Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error { _, err := c.GetChannel(t.Context(), "1"); return err }
	for range 600 { // as hundreds of objects do in a minute
		wantClass(t, ask(), discordclient.ClassTransient)
		now = now.Add(100 * time.Millisecond)
	}
	if srv.calls > 125 || srv.calls < 115 {
		t.Errorf("%d calls in a minute, want two in a second", srv.calls)
	}
	calls := srv.calls
	if _, err := c.CreateChannel(t.Context(), "1", discordclient.ChannelCreate{Name: "a"}, ""); srv.calls == calls {
		wantClass(t, err, discordclient.ClassTransient) // certainly not sent
	}
	if _, err := c.GatewayStart(t.Context()); err == nil || srv.calls == calls {
		t.Errorf("the Gateway was not looked up: %v", err)
	}
	srv.status = http.StatusOK
	now = now.Add(time.Second)
	for range 30 {
		wantClass(t, ask(), discordclient.ClassNone)
	}
}

// If no list or poll shows that an outage has ended, a create must get through.
func TestAnOutageAdmitsTheCreateThatItWasAskedAbout(t *testing.T) {
	t.Parallel()
	srv, now := newFailing(t), time.Unix(1, 0)
	c, err := discordclient.New(discordclient.Options{
		Token: discordclient.NewSecret("token"), APIURL: srv.URL, Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		_, err := c.GetChannel(t.Context(), "1")
		wantClass(t, err, discordclient.ClassTransient)
	}
	wantClass(t, c.MayCreateChannel(t.Context(), "1"), discordclient.ClassTransient)
	srv.status, now = http.StatusOK, now.Add(time.Second)
	for range 2 { // a question takes no call from anybody
		wantClass(t, c.MayCreateRole(t.Context(), "1"), discordclient.ClassNone)
		wantClass(t, c.MayCreateChannel(t.Context(), "1"), discordclient.ClassNone)
	}
	_, err = c.CreateChannel(t.Context(), "1", discordclient.ChannelCreate{Name: "a"}, "")
	wantClass(t, err, discordclient.ClassNone)
}

// A call that is not sent cannot show the end of the outage, so another call is admitted.
func TestAnOutageAdmitsAnotherCallInsteadOfAnUnsentOne(t *testing.T) {
	t.Parallel()
	type attempt = func(context.Context, *discordclient.Client) error
	list := func(ctx context.Context, c *discordclient.Client) error {
		_, err := c.ListChannelWebhooks(ctx, "1")
		return err
	}
	for name, c := range map[string]struct {
		unsent attempt
		want   discordclient.Class
	}{
		"the rate limiter holds the call": {list, discordclient.ClassRateLimited},
		"the guard refuses the call": {func(ctx context.Context, c *discordclient.Client) error {
			return c.DeleteChannel(ctx, "1", "")
		}, discordclient.ClassTransient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, now := newFailing(t), time.Unix(1, 0)
			client, err := discordclient.New(discordclient.Options{
				Token: discordclient.NewSecret("token"), APIURL: srv.URL, Now: func() time.Time { return now },
				Guard: func() (time.Time, error) { return time.Time{}, errors.New("the lease is lost") },
			})
			if err != nil {
				t.Fatal(err)
			}
			srv.status = http.StatusTooManyRequests
			wantClass(t, list(t.Context(), client), discordclient.ClassRateLimited)
			srv.status = http.StatusBadGateway
			get := func() error { _, err := client.GetChannel(t.Context(), "1"); return err }
			for range 4 {
				wantClass(t, get(), discordclient.ClassTransient)
			}
			srv.status, now = http.StatusOK, now.Add(time.Second)
			calls := srv.calls
			wantClass(t, c.unsent(t.Context(), client), c.want)
			if srv.calls != calls {
				t.Fatal("the call was sent")
			}
			wantClass(t, get(), discordclient.ClassNone)
		})
	}
}

func TestOnlyAnOutageSlowsCallsDown(t *testing.T) {
	t.Parallel()
	srv := newFailing(t)
	c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret("token"), APIURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	srv.status = http.StatusBadRequest
	for range 10 {
		_, err := c.GetChannel(t.Context(), "1")
		wantClass(t, err, discordclient.ClassInvalid)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	for range 10 {
		for _, ended := range []context.Context{cancelled, late} {
			_, err := c.GetChannel(ended, "1")
			wantClass(t, err, discordclient.ClassTransient)
		}
	}
	if srv.calls != 10 {
		t.Errorf("%d of 10 calls that Discord refuses were made", srv.calls)
	}
	if _, err := c.GetChannel(t.Context(), "1"); srv.calls != 11 {
		t.Errorf("a call after cancelled and late ones: %v", err)
	}
}
