// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

const create = "POST /guilds/{guild_id}/channels"

func try(r *rig.Rig) (status int, body []byte, err error) { return tryFor(r.T.Context(), r) }

func tryFor(ctx context.Context, r *rig.Rig) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Srv.APIURL()+"/guilds/"+r.Guild+"/channels", strings.NewReader(`{"name":"a"}`))
	rig.Check(r.T, err)
	req.Header.Set("Authorization", "Bot "+r.Bot.Token)
	req.Header.Set("User-Agent", "DiscordBot (x, 1)")
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		action discordtest.Action
		status int  // 0: no response
		broken bool // the connection fails
		made   int
	}{
		"500 before the execution":               {discordtest.FailBefore(500), 500, false, 0},
		"502 before the execution":               {discordtest.FailBefore(502), 502, false, 0},
		"500 after the execution":                {discordtest.FailAfter(500), 500, false, 1},
		"504 after the execution":                {discordtest.FailAfter(504), 504, false, 1},
		"connection closed before the execution": {discordtest.DropBefore(), 0, true, 0},
		"connection closed after the execution":  {discordtest.DropAfter(), 0, true, 1},
		"cut after one byte":                     {discordtest.CutAnswer(1), 0, true, 1},
		"cut within the headers":                 {discordtest.CutAnswer(40), 0, true, 1},
		"cut before the last byte":               {discordtest.CutAnswer(-1), 201, true, 1},
		"cut after the end of the response":      {discordtest.CutAnswer(1 << 20), 201, false, 1},
		"429 with scope user":                    {discordtest.RateLimited(2*time.Second, "user"), 429, false, 0},
		"429 with scope global":                  {discordtest.RateLimited(2*time.Second, "global"), 429, false, 0},
		"ban of the IP address":                  {discordtest.Banned(time.Hour), 429, false, 0},
		"invalid JSON":                           {discordtest.Garbage(), 200, false, 0},
		"502 of a proxy":                         {discordtest.BadGateway(), 502, false, 0},
		"another response after the execution":   {discordtest.Action{Effect: true, Status: 418, Body: "tea"}, 418, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Usual)
			r.Srv.Faults().Add(discordtest.Fault{Route: create, Times: 1, Action: tc.action})
			status, body, err := try(r)
			if status != tc.status || (err != nil) != tc.broken {
				t.Errorf("client sees %d %q (%v), want %d, broken %v", status, body, err, tc.status, tc.broken)
			}
			if n := len(r.Srv.Guild(r.Guild).Channels); n != tc.made {
				t.Errorf("%d channels made, want %d", n, tc.made)
			}
			if status, _, err := try(r); status != 201 || err != nil || r.Srv.Faults().Injected() != 1 {
				t.Errorf("after the fault: %d %v", status, err)
			}
		})
	}
}

func TestAFaultKeepsARefusal(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	garbled := discordtest.Garbage()
	garbled.Effect = true
	r.Srv.Faults().Add(discordtest.Fault{Times: 2, Action: garbled})
	if got := r.Do("DELETE", "/channels/1", nil); got.Status != 404 || got.Code() != 10003 {
		t.Errorf("the deletion of a missing channel is answered with %d %s", got.Status, got.Raw)
	}
	if status, body, err := try(r); status != 200 || err != nil || string(body) != garbled.Body {
		t.Errorf("an executed create is answered with %d %q %v", status, body, err)
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	release, done := make(chan struct{}), make(chan int, 1)
	r.Srv.Faults().Add(discordtest.Fault{Route: create, Times: 1, Action: discordtest.Hold(release)})
	go func() {
		status, _, _ := try(r)
		done <- status
	}()
	rig.Eventually(t, "the channel is made", func() bool { return len(r.Srv.Guild(r.Guild).Channels) == 1 })
	if len(done) != 0 {
		t.Error("answered before the release")
	}
	close(release)
	if status := <-done; status != 201 {
		t.Errorf("got %d", status)
	}
}

func TestLateEffect(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	made := func() int { return len(r.Srv.Guild(r.Guild).Channels) }
	r.Srv.Faults().Add(discordtest.Fault{Route: create, Times: 1, Action: discordtest.GiveUp(504, time.Minute)})
	if status, _, err := try(r); status != 504 || err != nil || made() != 0 {
		t.Errorf("got %d %v and %d channels", status, err, made())
	}
	r.Srv.Advance(time.Minute - 1)
	if n := made(); n != 0 {
		t.Errorf("%d channels too early", n)
	}
	r.Srv.Advance(1)
	if n := made(); n != 1 {
		t.Errorf("%d channels in the end, want 1", n)
	}

	r.Srv.Faults().Add(discordtest.Fault{Route: create, Times: 1, Action: discordtest.Slow(time.Minute, 0)})
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if _, _, err := tryFor(ctx, r); err == nil {
			t.Error("answered")
		}
	}()
	rig.Eventually(t, "the call has come", func() bool { return r.Srv.Faults().Injected() == 2 })
	hangUp()
	<-gone
	rig.Eventually(t, "it is done all the same", func() bool { r.Srv.Advance(time.Minute); return made() == 2 })
}

func TestDelay(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.Frozen, o.Clock = false, time.Time{} })
	r.Srv.Faults().Add(discordtest.Fault{Route: create, Times: 1, Action: discordtest.Slow(20*time.Millisecond, 30*time.Millisecond)})
	t0 := time.Now()
	if status, _, err := try(r); status != 201 || err != nil || time.Since(t0) < 50*time.Millisecond {
		t.Errorf("got %d %v after %s", status, err, time.Since(t0))
	}
}

func TestFaultSelection(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	f := r.Srv.Faults()
	remove := f.Add(discordtest.Fault{Route: create, Action: discordtest.FailBefore(500), Match: func(q discordtest.Request) bool {
		return bytes.Contains(q.Body, []byte("unlucky")) && q.BotID == r.Bot.UserID
	}})
	path := "/guilds/" + r.Guild + "/channels"
	r.Must(201, "POST", path, obj{"name": "a"})
	r.Must(500, "POST", path, obj{"name": "unlucky"})
	r.Must(500, "POST", path, obj{"name": "unlucky"})
	r.Must(200, "GET", path, nil)
	remove()
	r.Must(201, "POST", path, obj{"name": "unlucky"})

	f.Add(discordtest.Fault{Rate: 0.3, Action: discordtest.FailBefore(503)})
	count := func(r *rig.Rig) string {
		var b strings.Builder
		for range 200 {
			b.WriteString(map[int]string{200: ".", 503: "x"}[r.Do("GET", path, nil).Status])
		}
		return b.String()
	}
	first := count(r)
	if n := strings.Count(first, "x"); n < 40 || n > 80 {
		t.Errorf("%d of 200 failed, want about 60", n)
	}
	f.Clear()
	r.Must(200, "GET", path, nil)
	again := rig.New(t, rig.Usual)
	path = "/guilds/" + again.Guild + "/channels"
	again.Srv.Faults().Add(discordtest.Fault{Rate: 0.3, Action: discordtest.FailBefore(503)})
	if count(again) != first {
		t.Error("the same seed gave another run")
	}
}

func TestClosedWhileHeld(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	arrived := make(chan struct{})
	r.Srv.Faults().Add(discordtest.Fault{Times: 1, Action: discordtest.Hold(make(chan struct{})), Match: func(discordtest.Request) bool { close(arrived); return true }})
	done := make(chan error)
	go func() {
		_, _, err := try(r)
		done <- err
	}()
	<-arrived
	r.Srv.Close()
	if err := <-done; err == nil || errors.Is(err, io.ErrNoProgress) {
		t.Errorf("held client: %v", err)
	}
}
