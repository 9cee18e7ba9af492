// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

func answering(t *testing.T, status int, header map[string]string, body string) (*discordclient.Client, *int) {
	t.Helper()
	calls := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	began := time.Now() // a fixed clock, so that the limit in a response does not end before the next call
	c, err := discordclient.New(discordclient.Options{
		Token: discordclient.NewSecret("token"), APIURL: srv.URL + "/api", Now: func() time.Time { return began },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, &calls
}

func TestEveryAnswerHasItsClass(t *testing.T) {
	t.Parallel()
	const (
		gone, denied, invalid, limit          = discordclient.ClassGone, discordclient.ClassDenied, discordclient.ClassInvalid, discordclient.ClassLimit
		transient, unknown, limitedTo, badTok = discordclient.ClassTransient, discordclient.ClassUnknown, discordclient.ClassRateLimited, discordclient.ClassBadToken
	)
	body := func(code, message string) string { return `{"code":` + code + `,"message":"` + message + `"}` }
	for name, c := range map[string]struct {
		status    int
		body      string
		get, post discordclient.Class
		says      string
	}{
		"unknown channel":                   {404, body("10003", "Unknown Channel"), gone, gone, "Unknown Channel (HTTP 404, code 10003)"},
		"unknown guild":                     {404, body("10004", "Unknown Guild"), gone, gone, "10004"},
		"gone, another code":                {404, body("40400", "no such channel"), gone, gone, "40400"},
		"no such route":                     {404, body("0", "404: Not Found"), invalid, invalid, "404: Not Found"},
		"missing access":                    {403, body("50001", "Missing Access"), denied, denied, "50001"},
		"missing permissions":               {403, body("50013", "Missing Permissions"), denied, denied, "50013"},
		"missing permissions, status 400":   {400, body("50013", "Missing Permissions"), denied, denied, "HTTP 400, code 50013"},
		"missing access, status 400":        {400, body("50001", "Missing Access"), denied, denied, "50001"},
		"forbidden in HTML":                 {403, "<html>", denied, denied, "Forbidden"},
		"anti-abuse":                        {403, body("10008", "Unknown Message"), denied, denied, "10008"},
		"bots not allowed":                  {403, body("20001", "Bots cannot use this endpoint"), denied, denied, "20001"},
		"bad token":                         {401, body("0", "401: Unauthorized"), badTok, badTok, "401: Unauthorized"},
		"bad token, with a code":            {401, body("50014", "Invalid authentication token provided"), badTok, badTok, "50014"},
		"bad webhook token":                 {401, body("50027", "Invalid Webhook Token"), gone, gone, "50027"},
		"500 channels":                      {400, body("30013", "Maximum number of guild channels reached (500)"), limit, limit, "30013"},
		"15 webhooks":                       {400, body("30007", "Maximum number of webhooks reached (15)"), limit, limit, "30007"},
		"50 channels in a category":         {400, `{"code":50035,"message":"Invalid Form Body","errors":{"parent_id":{"_errors":[{"code":"CHANNEL_PARENT_MAX_CHANNELS","message":"Maximum number of channels in category reached (50)"}]}}}`, limit, limit, "parent_id: Maximum number of channels in category reached (50) [CHANNEL_PARENT_MAX_CHANNELS]"},
		"a bad field":                       {400, `{"code":50035,"message":"Invalid Form Body","errors":{"name":{"_errors":[{"code":"BASE_TYPE_BAD_LENGTH","message":"Must be between 1 and 100 in length."}]},"permission_overwrites":{"0":{"allow":{"_errors":[{"code":7,"message":"no"}]}}}}}`, invalid, invalid, "name: Must be between 1 and 100 in length. [BASE_TYPE_BAD_LENGTH]; permission_overwrites[0].allow: no [7]"},
		"request too large":                 {400, body("40009", "split"), invalid, invalid, "40009"},
		"conflict":                          {409, "", limit, limit, "Conflict"},
		"500":                               {500, body("0", "500: Internal Server Error"), transient, unknown, "500: Internal"},
		"502 in HTML":                       {502, "<html>", transient, unknown, "Bad Gateway without an explanation"},
		"503":                               {503, "", transient, unknown, "HTTP 503"},
		"504":                               {504, "", transient, unknown, "HTTP 504"},
		"overloaded":                        {503, body("130000", "API resource is currently overloaded"), transient, unknown, "130000"},
		"unavailable":                       {503, body("40006", "temporarily disabled"), transient, unknown, "40006"},
		"unavailable, status 400":           {400, body("40006", "temporarily disabled"), transient, transient, "40006"},
		"401 of a proxy":                    {401, "<html>proxy auth</html>", transient, transient, "Unauthorized without an explanation"},
		"401 of a proxy, in JSON":           {401, `{"error":"login"}`, transient, transient, "Unauthorized without an explanation"},
		"null":                              {200, "null", transient, unknown, "cannot be read"},
		"an object without an id":           {200, "{}", transient, unknown, "without an id"},
		"a success with an unreadable body": {200, "hello", transient, unknown, "cannot be read"},
		"an empty success":                  {204, "", transient, unknown, "cannot be read"},
		"a redirect":                        {302, "", invalid, invalid, "Found"},
		"rate limited in HTML":              {429, "<html>", limitedTo, limitedTo, "rate limited (blocked) for another 1m0s"},
		"blocked in JSON":                   {403, body("40333", "internal network error"), limitedTo, limitedTo, "rate limited (blocked) for another 1m0s"},
		"rate limited":                      {429, `{"message":"You are being rate limited.","retry_after":1.5,"global":false}`, limitedTo, limitedTo, "rate limited (user) for another 1.5s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for op, want := range map[string]discordclient.Class{"get channel": c.get, "create channel": c.post} {
				client, calls := answering(t, c.status, nil, c.body)
				var err error
				if op == "get channel" {
					_, err = client.GetChannel(t.Context(), "1")
				} else {
					_, err = client.CreateChannel(t.Context(), "1", discordclient.ChannelCreate{Name: "a"}, "")
				}
				wantClass(t, err, want)
				if err == nil || !strings.HasPrefix(err.Error(), op+": ") || !strings.Contains(err.Error(), c.says) {
					t.Errorf("says %v, want %q in it", err, c.says)
				}
				if *calls != 1 {
					t.Errorf("%d requests were sent, want one", *calls)
				}
			}
		})
	}
}

func TestWithdrawnRoutesAreDenied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   discordclient.Class
	}{
		"bots not allowed":  {403, `{"code":20001,"message":"Bots cannot use this endpoint"}`, discordclient.ClassDenied},
		"no such route":     {404, `{"code":0,"message":"404: Not Found"}`, discordclient.ClassDenied},
		"no such method":    {405, `{"code":0,"message":"405: Method Not Allowed"}`, discordclient.ClassDenied},
		"unknown guild":     {404, `{"code":10004,"message":"Unknown Guild"}`, discordclient.ClassGone},
		"a bad field":       {400, `{"code":50035,"message":"Invalid Form Body"}`, discordclient.ClassInvalid},
		"the server failed": {500, ``, discordclient.ClassUnknown},
		"an empty success":  {204, ``, discordclient.ClassNone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := answering(t, c.status, nil, c.body)
			wantClass(t, client.DeleteGuild(t.Context(), "1"), c.want)
			wantClass(t, client.DeleteGuild(t.Context(), "no id"), discordclient.ClassInvalid)
		})
	}
}

func TestRateLimitsOfDiscord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header map[string]string
		body   string
		scope  string
		after  time.Duration
		others bool // calls for other channels are sent
	}{
		"the header's time is longer": {map[string]string{"Retry-After": "65", "X-RateLimit-Scope": "user"}, `{"retry_after":64.57}`, "user", 65 * time.Second, true},
		"the body's time is longer":   {map[string]string{"Retry-After": "1", "X-RateLimit-Scope": "shared"}, `{"retry_after":1.25}`, "shared", 1250 * time.Millisecond, true},
		"global":                      {map[string]string{"Retry-After": "2", "X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}, `{"retry_after":2,"global":true}`, "global", 2 * time.Second, false},
		"global in the body alone":    {nil, `{"retry_after":2,"global":true}`, "global", 2 * time.Second, false},
		"banned":                      {map[string]string{"Retry-After": "3600"}, `<html>error code: 1015</html>`, "blocked", time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, calls := answering(t, http.StatusTooManyRequests, c.header, c.body)
			_, err := client.GetChannel(t.Context(), "1")
			if got := limited(t, err); got.Scope != c.scope || got.After != c.after || got.Local {
				t.Errorf("got %+v, want %s for %s", got, c.scope, c.after)
			}
			_, err = client.GetChannel(t.Context(), "1")
			if got := limited(t, err); !got.Local || got.After > c.after || got.After <= 0 || *calls != 1 {
				t.Errorf("the next call: %+v after %d requests", got, *calls)
			}
			_, _ = client.GetChannel(t.Context(), "2")
			if (*calls == 2) != c.others {
				t.Errorf("%d requests after a call for another channel", *calls)
			}
			want := 1
			if c.scope == "shared" {
				want = 0 // neither call counts as refused: other bots caused the shared limit
			} else if c.others {
				want = 2
			}
			if got := client.Stats().TooMany; got != want {
				t.Errorf("%d refusals are counted, want %d", got, want)
			}
		})
	}
}

func TestABlockedCallDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	client, calls := answering(t, http.StatusForbidden, nil, `{"code":40333,"message":"internal network error"}`)
	for id := range 3 {
		_, err := client.GetChannel(t.Context(), strconv.Itoa(id+1))
		if got := limited(t, err); got.Scope != "blocked" || got.After != time.Minute || got.Local {
			t.Errorf("got %+v", got)
		}
	}
	if stats := client.Stats(); *calls != 3 || stats.Forbidden != 3 {
		t.Errorf("%d requests, %+v", *calls, stats)
	}
}

func TestRefusalsAreCountedAndStopBeforeTheBan(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	invalid := discordclient.NewInvalidRequests(func() time.Time { return now })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"code":50013,"message":"Missing Permissions"}`))
	}))
	defer srv.Close()
	client := func(refusals *discordclient.InvalidRequests) *discordclient.Client {
		c, err := discordclient.New(discordclient.Options{
			Token: discordclient.NewSecret("token"), APIURL: srv.URL, Invalid: refusals, GlobalPerSecond: 100_000,
			Now: func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := client(invalid)
	ask := func() error { _, err := c.GetChannel(t.Context(), "1"); return err }
	stop := func() (refusals int) {
		for ; refusals < 10_000; refusals++ {
			if err := ask(); discordclient.ClassOf(err) != discordclient.ClassDenied {
				if got := limited(t, err); got.Scope != "blocked" || !got.Local {
					t.Errorf("after %d refusals: %+v", refusals, got)
				}
				return refusals
			}
		}
		return refusals
	}
	if got := stop(); got != 4500 { // half of 9,000; the other bot has the other half
		t.Errorf("one bot stops after %d refusals, want 4500", got)
	}
	now = now.Add(11 * time.Minute)
	tenant := invalid.Share(20)
	c = client(tenant)
	if got := stop(); got != 220 { // about half of the tenant's share, which is a twentieth of 9,000
		t.Errorf("one bot of a tenant stops after %d refusals, want 220", got)
	}
	if c = client(tenant); stop() < 50 { // the tenant's other bots keep their share
		t.Error("the other bot of a tenant stops after fewer than 50 refusals")
	}
	for range 50 { // 50 tenants whose calls are all refused leave a share to another bot
		c = client(invalid.Share(20))
		if stop(); c.Stats().Forbidden >= 9000 {
			t.Fatalf("%d refusals in all", c.Stats().Forbidden)
		}
	}
	c = client(invalid.Share(20))
	for range 10 {
		wantClass(t, ask(), discordclient.ClassDenied)
	}
	now = now.Add(11 * time.Minute)
	wantClass(t, ask(), discordclient.ClassDenied)
	if got := c.Stats().Forbidden; got != 1 {
		t.Errorf("%d refusals are counted eleven minutes later, want 1", got)
	}
}

func TestACallThatIsCutOffCountsAsRefused(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-release
	}))
	defer srv.Close()
	defer close(release)
	c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret("token"), APIURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.GetChannel(ctx, "1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := c.Stats().Unauthorized; got != 1 {
		t.Errorf("%d calls are counted, want 1", got)
	}
}

func TestContextEndsACall(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer srv.Close()
	defer close(release)
	c, err := discordclient.New(discordclient.Options{
		Token: discordclient.NewSecret("token"), APIURL: srv.URL, Timeout: 3 * time.Second, // enough time to connect
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.CreateChannel(t.Context(), "1", discordclient.ChannelCreate{Name: "a"}, "")
	if wantClass(t, err, discordclient.ClassUnknown); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is no deadline", err)
	}
	_, err = c.GetChannel(t.Context(), "1")
	wantClass(t, err, discordclient.ClassTransient)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.CreateChannel(ended, "2", discordclient.ChannelCreate{Name: "a"}, "")
	if wantClass(t, err, discordclient.ClassTransient); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was never sent: %v", err)
	}
}

func TestAPIURL(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://discord.com":             "https://discord.com/api/v10",
		"https://discord.com/":            "https://discord.com/api/v10",
		"https://discord.com/api":         "https://discord.com/api/v10",
		"https://discord.com/api/":        "https://discord.com/api/v10",
		"https://discord.com/api/v10":     "https://discord.com/api/v10",
		"http://localhost:3001/chat":      "http://localhost:3001/chat/api/v10",
		"http://localhost:3001/chat/v10/": "http://localhost:3001/chat/v10",
	} {
		if got, err := discordclient.ParseAPIURL(raw); err != nil || got.String() != want {
			t.Errorf("%s is read as %v, %v; want %s", raw, got, err, want)
		}
	}
	for _, raw := range []string{"https://discord.com/api/v9", "https://discord.com/v6/", "https://discord.com/api/v100"} {
		if _, err := discordclient.ParseAPIURL(raw); err == nil || !strings.Contains(err.Error(), "only v10") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for api, want := range map[string]string{
		"": "https://discord.com", "http://localhost:3001/api": "http://localhost:3001", "http://localhost/chat/v10": "http://localhost/chat",
	} {
		c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret("token"), APIURL: api})
		if err != nil {
			t.Fatal(err)
		}
		if c.WebURL() != want {
			t.Errorf("the web of %q is at %s, want %s", api, c.WebURL(), want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	token := discordclient.NewSecret("token")
	for name, o := range map[string]discordclient.Options{
		"no token":                     {},
		"a token with line break":      {Token: discordclient.NewSecret("token\n")},
		"an address without a scheme":  {Token: token, APIURL: "discord.com"},
		"another scheme":               {Token: token, APIURL: "ftp://discord.com/api"},
		"a password in the URL":        {Token: token, APIURL: "https://me:secret@discord.com/api"},
		"a password in an invalid URL": {Token: token, APIURL: "https://me:secret@discord.com:x/api"},
	} {
		if _, err := discordclient.New(o); err == nil || strings.Contains(err.Error(), "token\n") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if discordclient.ClassOf(errors.New("other")) != discordclient.ClassTransient || discordclient.ClassOf(nil) != discordclient.ClassNone {
		t.Error("other errors have the wrong class")
	}
}
