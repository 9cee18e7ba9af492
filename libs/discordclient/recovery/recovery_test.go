// SPDX-License-Identifier: Apache-2.0

package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/libs/discordclient/recovery"
	"jutsu.com/operators/test/discordtest"
)

// knife cuts a connection after it has sent or received a number of bytes (the fields write and
// read). A negative number allows all bytes.
type knife struct {
	write, read   int64
	refuse        bool
	once          bool         // whether only the first connection is cut
	wrote, didGet atomic.Int64 // bytes that passed
}

func (k *knife) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if k.refuse {
		return nil, errors.New("connection refused by the test")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &cutConn{Conn: conn, knife: k}, err
}

type cutConn struct {
	net.Conn
	knife *knife
}

var errCut = errors.New("cut by the test")

func (c *cutConn) Write(p []byte) (int, error) {
	if left := c.knife.write - c.knife.wrote.Load(); c.knife.write >= 0 && int64(len(p)) > left {
		n, _ := c.Conn.Write(p[:max(left, 0)])
		c.knife.wrote.Add(int64(n))
		if c.knife.once {
			c.knife.write = -1
		}
		_ = c.Close()
		return n, errCut
	}
	c.knife.wrote.Add(int64(len(p))) // before the write: the response may come before Write returns
	return c.Conn.Write(p)
}

func (c *cutConn) Read(p []byte) (int, error) {
	left := c.knife.read - c.knife.didGet.Load()
	if c.knife.read >= 0 && left <= 0 {
		_ = c.Close()
		return 0, errCut
	}
	if c.knife.read >= 0 && int64(len(p)) > left {
		p = p[:left]
	}
	n, err := c.Conn.Read(p)
	c.knife.didGet.Add(int64(n))
	return n, err
}

type attempt struct {
	name   string
	knife  *knife
	reused bool // the connection has served another call before
	err    error
}

func (a *attempt) make(r *cachetest.Rig) {
	o := r.Options
	tr := &http.Transport{DialContext: a.knife.dial, DisableKeepAlives: !a.reused}
	defer tr.CloseIdleConnections()
	o.Transport = tr
	c, err := guildcache.New(o)
	if err != nil {
		r.Fatal(err)
	}
	if a.reused {
		cut := a.knife.write
		a.knife.write = -1
		if _, err := c.CurrentUser(r.Context()); err != nil {
			r.Fatal(err)
		}
		a.knife.wrote.Store(0)
		a.knife.write = cut
	}
	_, a.err = c.CreateChannel(r.Context(), r.Guild, discordclient.ChannelCreate{
		Name: a.name, ChannelEdit: discordclient.ChannelEdit{Topic: discordclient.Set("fire")},
	}, "uid-"+a.name)
}

// cuts returns attempts that cut the connection at many bytes of the request and the response.
func cuts(r *cachetest.Rig) []*attempt {
	whole := &attempt{name: "whole-0000", knife: &knife{write: -1, read: -1}}
	whole.make(r)
	if whole.err != nil {
		r.Fatal(whole.err)
	}
	wrote, got := whole.knife.wrote.Load(), whole.knife.didGet.Load()
	list := []*attempt{{name: "refuse-0000", knife: &knife{refuse: true}}}
	for i := int64(0); i <= wrote; i++ {
		if i%5 == 0 || i < 3 || i > wrote-3 {
			list = append(list, &attempt{name: fmt.Sprintf("write-%04d", i), knife: &knife{write: i, read: 0}})
		}
	}
	// net/http may repeat a call that failed on a reused connection.
	for i := range wrote - int64(len("Connection: close\r\n")) {
		if i%25 == 0 || i < 3 {
			list = append(list, &attempt{name: fmt.Sprintf("again-%04d", i), knife: &knife{write: i, read: -1, once: true}, reused: true})
		}
	}
	for i := range got {
		if i%5 == 0 || i < 3 || i > got-3 {
			list = append(list, &attempt{name: fmt.Sprintf("reads-%04d", i), knife: &knife{write: -1, read: i}})
		}
	}
	return list
}

func TestCutConnectionsMakeNoDuplicates(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(o *discordtest.Options, _ *guildcache.Options) { o.Limits.Channels = 5000 })
	began := time.Now()
	cuts := cuts(r)
	each(cuts, func(a *attempt) { a.make(r) })
	lastAttempt := time.Now()
	lost := 0
	for _, a := range cuts {
		switch discordclient.ClassOf(a.err) {
		case discordclient.ClassTransient: // the create was certainly not sent: repeat it without looking
			if a.knife.wrote.Load() > 0 {
				t.Errorf("%s: %v, though bytes were sent", a.name, a.err)
			}
		case discordclient.ClassUnknown:
			lost++
		default:
			t.Errorf("%s ended as %v", a.name, a.err)
		}
	}
	r.Client = r.NewClient()
	found := atomic.Int64{}
	each(cuts, func(a *attempt) {
		lost := discordclient.ClassOf(a.err) == discordclient.ClassUnknown
		if lost && recovered(r, a.name, began, lastAttempt, realClock) != "" {
			found.Add(1)
			return
		}
		if err := cachetest.RetryWhileLimited(func() error {
			_, err := r.Client.CreateChannel(t.Context(), r.Guild, discordclient.ChannelCreate{Name: a.name}, "uid-"+a.name)
			return err
		}); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
	})
	if got := r.Discord.RequestCounts()["GET /guilds/{guild_id}/audit-logs"]; got > len(cuts)/2 {
		t.Errorf("the audit log was read %d times for %d intents, want it shared", got, len(cuts))
	}
	names := map[string]int{}
	for _, c := range r.Discord.Guild(r.Guild).Channels {
		names[c.Name]++
	}
	for _, a := range cuts {
		if names[a.name] != 1 {
			t.Errorf("%s exists %d times", a.name, names[a.name])
		}
	}
	if len(cuts) < 150 {
		t.Errorf("only %d cuts were tried", len(cuts))
	}
	t.Logf("%d cuts: %d with unknown outcome, %d of them had created a channel", len(cuts), lost, found.Load())
	if found.Load() == 0 || found.Load() == int64(lost) {
		t.Error("the cuts were not on both sides of the effect")
	}
}

func each(list []*attempt, do func(*attempt)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for _, a := range list {
		slots <- struct{}{}
		wg.Go(func() { do(a); <-slots })
	}
	wg.Wait()
}

type clock struct {
	now  func() time.Time
	wait func(time.Duration)
}

var realClock = clock{time.Now, func(d time.Duration) { <-time.After(min(d, 500*time.Millisecond)) }}

// fastClock jumps instead of waiting, so use it only after Discord has executed all calls.
func fastClock() clock {
	var ahead time.Duration
	return clock{func() time.Time { return time.Now().Add(ahead) }, func(d time.Duration) { ahead += d }}
}

func recovered(r *cachetest.Rig, name string, notBefore, lastAttempt time.Time, by clock) string {
	r.Helper()
	in := recovery.Intent{
		GuildID: r.Guild, Name: name, Reason: "uid-" + name, NotBefore: notBefore, LastAttempt: lastAttempt,
		Propagation: 2 * time.Second, Now: by.now,
	}
	for range 100 {
		var got recovery.Result
		err := cachetest.RetryWhileLimited(func() (err error) {
			got, err = recovery.Channel(r.Context(), r.Client, in)
			return err
		})
		switch {
		case err != nil:
			r.Errorf("%s: %v", name, err)
			return ""
		case got.Outcome != recovery.Unsure:
			return got.ID
		}
		by.wait(got.After)
	}
	r.Errorf("%s: never sure", name)
	return ""
}

func TestLostAnswersMakeNoDuplicates(t *testing.T) {
	t.Parallel()
	audits := map[string]func(*cachetest.Rig){
		"audit log in time": func(*cachetest.Rig) {},
		"audit log lost":    func(r *cachetest.Rig) { r.Discord.Faults().LoseAudit(-1) },
		"audit log forbidden": func(r *cachetest.Rig) {
			r.Discord.SetPermissions(r.Guild, r.Bot.UserID, cachetest.Usual&^discordtest.PermViewAuditLog)
		},
	}
	faults := map[string]discordtest.Action{
		"a connection closed before the create":  discordtest.DropBefore(),
		"a connection closed after the create":   discordtest.DropAfter(),
		"a connection closed within the answer":  discordtest.CutAnswer(-5),
		"a connection closed in the status line": discordtest.CutAnswer(10),
		"an answer 502 before the create":        discordtest.FailBefore(502),
		"an answer 502 after the create":         discordtest.FailAfter(502),
		"an answer 500 after the create":         discordtest.FailAfter(500),
		"an answer 504 before the create":        discordtest.FailBefore(504),
		"an unreadable success":                  discordtest.Garbage(),
	}
	for auditName, audit := range audits {
		for name, action := range faults {
			t.Run(auditName+", "+name, func(t *testing.T) {
				t.Parallel()
				r := cachetest.New(t)
				began := time.Now()
				audit(r)
				r.Discord.Faults().Add(discordtest.Fault{Route: "POST /guilds/{guild_id}/channels", Times: 1, Action: action})
				_, err := r.Client.CreateChannel(t.Context(), r.Guild, discordclient.ChannelCreate{Name: "tokyo"}, "uid-tokyo")
				cachetest.WantClass(t, err, discordclient.ClassUnknown)
				if got := r.Discord.RequestCounts()["POST /guilds/{guild_id}/channels"]; got != 1 {
					t.Errorf("%d POSTs were sent, want one", got)
				}
				if recovered(r, "tokyo", began, time.Now(), fastClock()) == "" {
					r.Create(discordclient.ChannelCreate{Name: "tokyo"})
				}
				if got := len(r.Discord.Guild(r.Guild).Channels); got != 1 {
					t.Errorf("%d channels, want one", got)
				}
			})
		}
	}
}

func TestAProxyThatRefusesTheAuditLogProvesNothing(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	made := r.Create(discordclient.ChannelCreate{Name: "tokyo"})
	r.Discord.EditChannelByHand(made.ID, func(c *discordtest.Channel) { c.Name = "renamed" })
	r.Discord.Advance(time.Second) // the audit log has the entry
	now := time.Now().Add(2 * time.Minute)
	look := func() (recovery.Result, error) {
		return recovery.Channel(t.Context(), r.Client, recovery.Intent{
			GuildID: r.Guild, Name: "tokyo", Reason: "test", NotBefore: now.Add(-2 * time.Minute), LastAttempt: now.Add(-time.Minute),
			Now: func() time.Time { return now },
		})
	}
	r.Discord.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}/audit-logs", Times: 1, Action: discordtest.Action{
		Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html>Forbidden</html>",
	}})
	if got, err := look(); discordclient.ClassOf(err) != discordclient.ClassDenied {
		t.Errorf("%+v, %v; want the refusal", got, err)
	}
	if got, err := look(); err != nil || got.Outcome != recovery.Found || got.ID != made.ID {
		t.Errorf("%+v, %v; want %s", got, err, made.ID)
	}
}

func TestOneRefusalDoesNotEmptyTheAuditLog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		other bool // the only match is another user's
		after int  // readings before the refusal
	}{
		"reading the bot's own creates is refused":  {},
		"looking up a channel's creator is refused": {other: true, after: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := cachetest.New(t)
			want := recovery.Absent
			if c.other {
				r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "tokyo"})
			} else {
				want = recovery.Found
				made := r.Create(discordclient.ChannelCreate{Name: "tokyo"})
				r.Discord.EditChannelByHand(made.ID, func(c *discordtest.Channel) { c.Name = "renamed" })
			}
			now := time.Now().Add(2 * time.Minute)
			look := func() recovery.Result {
				got, err := recovery.Channel(t.Context(), r.Client, recovery.Intent{
					GuildID: r.Guild, Name: "tokyo", Reason: "test", NotBefore: now.Add(-3 * time.Minute), LastAttempt: now.Add(-time.Minute),
					Now: func() time.Time { return now },
				})
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			seen := 0
			r.Discord.Faults().Add(discordtest.Fault{
				Route: auditLog, Times: 1, Match: func(discordtest.Request) bool { seen++; return seen > c.after },
				Action: discordtest.Action{Status: http.StatusForbidden, Body: `{"message": "Missing Access", "code": 50001}`},
			})
			if got := look(); got.Outcome != recovery.Unsure || got.After < time.Second {
				t.Errorf("%+v; want it unsure", got)
			}
			now = now.Add(5 * time.Second)
			if got := look(); got.Outcome != want || want == recovery.Found && got.Proof != recovery.ProofAuditLog {
				t.Errorf("%+v; want it %s", got, want)
			}
		})
	}
}

func TestALongRefusedAuditLogCountsAsDenied(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	now := time.Now().Add(2 * time.Minute)
	r.Discord.Faults().Add(discordtest.Fault{
		Route: auditLog, Action: discordtest.Action{Status: http.StatusForbidden, Body: `{"message": "Missing Access", "code": 50001}`},
	})
	for i, want := range []recovery.Outcome{recovery.Unsure, recovery.Unsure, recovery.Absent, recovery.Absent} {
		got, err := recovery.Channel(t.Context(), r.Client, recovery.Intent{
			GuildID: r.Guild, Name: "tokyo", Reason: "test", NotBefore: now.Add(-2 * time.Minute), LastAttempt: now.Add(-time.Minute),
			Now: func() time.Time { return now },
		})
		if err != nil || got.Outcome != want {
			t.Errorf("%d: %+v, %v; want it %s", i, got, err, want)
		}
		now = now.Add(2500 * time.Millisecond)
	}
}

func TestADeniedAuditLogDoesNotForgetACreator(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	byHand := func() string { return r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "tokyo"}) }
	byHand()
	r.Discord.Faults().LoseAudit(2)
	unknown := []string{byHand(), byHand()}
	now := time.Now().Add(2 * time.Minute)
	look := func(want recovery.Outcome) {
		t.Helper()
		got, err := recovery.Channel(t.Context(), r.Client, recovery.Intent{
			GuildID: r.Guild, Name: "tokyo", Reason: "test", NotBefore: now.Add(-30 * time.Minute), LastAttempt: now.Add(-time.Minute),
			Now: func() time.Time { return now },
		})
		if err != nil || got.Outcome != want {
			t.Errorf("%+v, %v; want it %s", got, err, want)
		}
	}
	look(recovery.Unsure)
	now = now.Add(11 * time.Minute) // the operator asks again who created the unknown channels
	r.Discord.SetPermissions(r.Guild, r.Bot.UserID, cachetest.Usual&^discordtest.PermViewAuditLog)
	look(recovery.Unsure)
	now = now.Add(10 * time.Second) // now the log counts as denied
	look(recovery.Unsure)
	for _, id := range unknown {
		r.Discord.DeleteChannelByHand(id)
	}
	look(recovery.Absent)
}

func TestADifferingClockDoesNotHideALostCreate(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	made := r.Create(discordclient.ChannelCreate{Name: "tokyo"})
	ahead := time.Now().Add(30 * time.Minute)
	r.Discord.Advance(time.Second) // the audit log has the entry
	got, err := recovery.Channel(t.Context(), r.Client, recovery.Intent{
		GuildID: r.Guild, Name: "tokyo", Reason: "test", NotBefore: ahead, LastAttempt: ahead, Now: func() time.Time { return ahead.Add(time.Minute) },
	})
	if err != nil || got.Outcome != recovery.Found || got.ID != made.ID || got.Proof != recovery.ProofAuditLog {
		t.Errorf("%+v, %v; want %s", got, err, made.ID)
	}
}

func TestLostWebhooksAreFoundWithTheirToken(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]discordtest.Action{"before the create": discordtest.DropBefore(), "after the create": discordtest.DropAfter()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := cachetest.New(t)
			c := r.Create(discordclient.ChannelCreate{Name: "a"})
			r.Discord.CreateWebhookByHand(c.ID, "alertmanager") // a user's webhook with the same name
			r.Discord.Faults().Add(discordtest.Fault{Route: "POST /channels/{channel_id}/webhooks", Times: 1, Action: action})
			_, err := r.Client.CreateWebhook(t.Context(), c.ID, "alertmanager", "")
			cachetest.WantClass(t, err, discordclient.ClassUnknown)
			hooks, err := r.Client.ListChannelWebhooks(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			own := slices.DeleteFunc(hooks, func(w discordclient.Webhook) bool { return w.ApplicationID != r.Bot.ApplicationID })
			if created := name == "after the create"; len(own) > 1 || (len(own) == 1) != created || created && own[0].URL.IsZero() {
				t.Errorf("the bot's webhooks are %+v, want them with URLs", own)
			}
		})
	}
}
