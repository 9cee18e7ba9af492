package discordtest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/discordtest/contract"
)

// rig is a Discord with one guild and one bot in it, and a plain HTTP client that speaks for the bot.
type rig struct {
	t     *testing.T
	srv   *discordtest.Server
	bot   discordtest.Bot
	guild string
	last  http.Header // of the last answer
	// client makes the calls.
	client *http.Client
}

// usual are the permissions that the operator asks for, with roles.
const usual = discordtest.PermManageChannels | discordtest.PermManageGuild | discordtest.PermViewAuditLog | discordtest.PermViewChannel |
	discordtest.PermManageRoles | discordtest.PermManageWebhooks | discordtest.PermSendMessages | discordtest.PermReadMessageHistory

// start is where the clocks of the tests stand.
var start = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// newRig starts a Discord whose clock stands still and whose rates are unlimited, unless change says otherwise.
func newRig(t *testing.T, p discordtest.Permissions, change ...func(*discordtest.Options, *discordtest.GuildSpec)) *rig {
	t.Helper()
	opts := discordtest.Options{Clock: start, Frozen: true, Limits: discordtest.NoRateLimits(), AuditDelay: -1}
	spec := discordtest.GuildSpec{Name: "Jujutsu High"}
	for _, c := range change {
		c(&opts, &spec)
	}
	r := &rig{t: t, srv: discordtest.Run(t, opts), client: http.DefaultClient}
	r.bot = r.srv.AddBot(discordtest.Bot{Name: "operator"})
	r.guild = r.srv.AddGuild(spec).ID
	r.srv.AddMember(r.guild, r.bot.UserID, p)
	return r
}

// answer is what came back.
type answer struct {
	status int
	raw    []byte
	json   map[string]any
	list   []any
}

// code is the JSON error code, or 0.
func (a answer) code() int {
	n, _ := a.json["code"].(float64)
	return int(n)
}

// id is the id of the thing in the answer.
func (a answer) id() string {
	s, _ := a.json["id"].(string)
	return s
}

// do makes a call as the bot. A body that is a string goes as it is.
func (r *rig) do(method, path string, body any, header ...string) answer {
	r.t.Helper()
	return r.as("Bot "+r.bot.Token, method, path, body, header...)
}

// as makes a call with an Authorization header ("" for none).
func (r *rig) as(auth, method, path string, body any, header ...string) answer {
	r.t.Helper()
	var data io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		data = bytes.NewReader([]byte(b))
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			r.t.Fatal(err)
		}
		data = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, r.srv.APIURL()+path, data)
	if err != nil {
		r.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "DiscordBot (https://example.com, 1)")
	if auth != "" {
		req.Header.Set("Authorization", auth)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	a := answer{status: res.StatusCode}
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		r.t.Fatal(err)
	}
	r.holdAgainstContract(req, res.StatusCode, res.Header, a.raw)
	_ = json.Unmarshal(a.raw, &a.json)
	_ = json.Unmarshal(a.raw, &a.list)
	r.last = res.Header
	return a
}

// holdAgainstContract validates an answer against Discord's OpenAPI description, in every test, when there is one.
func (r *rig) holdAgainstContract(req *http.Request, status int, header http.Header, body []byte) {
	r.t.Helper()
	if os.Getenv(contract.Variable) == "" {
		return
	}
	for _, v := range contract.FromEnv(r.t).Response(req, status, header, body) {
		r.t.Errorf("%s\n%s", v, body)
	}
}

// must is do with an expected status.
func (r *rig) must(status int, method, path string, body any, header ...string) answer {
	r.t.Helper()
	a := r.do(method, path, body, header...)
	if a.status != status {
		r.t.Fatalf("%s %s: got %d %s, want %d", method, path, a.status, a.raw, status)
	}
	return a
}

// channel makes a channel and returns its id.
func (r *rig) channel(fields map[string]any) string {
	r.t.Helper()
	return r.must(201, "POST", "/guilds/"+r.guild+"/channels", fields).id()
}

// obj is short for a JSON object.
type obj = map[string]any

// replacer puts ids into the paths and bodies of a table.
func replacer(pairs ...string) filler { return filler{strings.NewReplacer(pairs...)} }

// filler is what replacer makes.
type filler struct{ r *strings.Replacer }

// text fills a path.
func (f filler) text(s string) string { return f.r.Replace(s) }

// body fills the strings of a body.
func (f filler) body(t *testing.T, v any) any {
	t.Helper()
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	check(t, err)
	return f.r.Replace(string(raw))
}

// eventually waits for something that another goroutine brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}
