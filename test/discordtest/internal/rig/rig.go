// SPDX-License-Identifier: Apache-2.0

// Package rig is the test fixture of discordtest. If Discord's OpenAPI description is available,
// all responses are checked against it.
package rig

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/contract"
)

// Rig is a simulated Discord with one guild and one bot, and a plain HTTP client.
type Rig struct {
	T     *testing.T
	Srv   *discordtest.Server
	Bot   discordtest.Bot
	Guild string
	Last  http.Header // of the last response
	// Client makes the calls. Tests may replace it.
	Client *http.Client

	compatible bool // Options.Compatible is set, so Discord's OpenAPI description does not fully apply
}

// Usual are the permissions of the bot in most tests: those that discord-operator needs, without
// Administrator (for Community) and Connect (which @everyone has), and two that overwrites may name.
const Usual = discordtest.PermManageChannels | discordtest.PermManageGuild | discordtest.PermViewAuditLog |
	discordtest.PermViewChannel | discordtest.PermManageRoles | discordtest.PermManageWebhooks |
	discordtest.PermSendMessages | discordtest.PermReadMessageHistory

// Start is the initial time of the simulator's clock in [New].
var Start = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// New starts a Discord with a frozen clock, no rate limits and no delay of audit log entries.
func New(
	t *testing.T, p discordtest.Permissions, change ...func(*discordtest.Options, *discordtest.GuildSpec),
) *Rig {
	t.Helper()
	opts := discordtest.Options{Clock: Start, Frozen: true, Limits: discordtest.NoRateLimits(), AuditDelay: -1}
	spec := discordtest.GuildSpec{Name: "Jujutsu High"}
	for _, c := range change {
		c(&opts, &spec)
	}
	r := &Rig{T: t, Srv: discordtest.Run(t, opts), Client: http.DefaultClient, compatible: opts.Compatible}
	r.Bot = r.Srv.AddBot(discordtest.Bot{Name: "operator"})
	r.Guild = r.Srv.AddGuild(spec).ID
	r.Srv.AddMember(r.Guild, r.Bot.UserID, p)
	return r
}

// Limited returns a rig with only the rate limits that the function change sets.
func Limited(t *testing.T, change func(*discordtest.Limits)) *Rig {
	t.Helper()
	return New(t, Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { change(o.Limits) })
}

// Community is an argument of [New] that makes the guild a Community guild.
func Community(_ *discordtest.Options, g *discordtest.GuildSpec) {
	g.Features = []string{"COMMUNITY", "NEWS"}
}

// Answer is the response to a call.
type Answer struct {
	Status int
	Raw    []byte
	JSON   map[string]any
	List   []any
}

// Code returns Discord's error code in the response, or 0.
func (a Answer) Code() int {
	n, _ := a.JSON["code"].(float64)
	return int(n)
}

// ID returns the id in the response.
func (a Answer) ID() string {
	s, _ := a.JSON["id"].(string)
	return s
}

// Leaf returns the string code of the first nested error of a field.
func Leaf(a Answer, path string) string {
	at, _ := a.JSON["errors"].(map[string]any)
	for _, key := range strings.Split(path, ".") {
		at, _ = at[key].(map[string]any)
	}
	list, _ := at["_errors"].([]any)
	if len(list) == 0 {
		return ""
	}
	first, _ := list[0].(map[string]any)
	code, _ := first["code"].(string)
	return code
}

// Do makes a call as the bot. A string body is sent as it is. header alternates names and values.
func (r *Rig) Do(method, path string, body any, header ...string) Answer {
	r.T.Helper()
	return r.As("Bot "+r.Bot.Token, method, path, body, header...)
}

// As is [Rig.Do] with auth as the Authorization header, or without the header if auth is "".
func (r *Rig) As(auth, method, path string, body any, header ...string) Answer {
	r.T.Helper()
	var data io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		data = bytes.NewReader([]byte(b))
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			r.T.Fatal(err)
		}
		data = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(r.T.Context(), method, r.Srv.APIURL()+path, data)
	if err != nil {
		r.T.Fatal(err)
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
	res, err := r.Client.Do(req)
	if err != nil {
		r.T.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	a := Answer{Status: res.StatusCode}
	if a.Raw, err = io.ReadAll(res.Body); err != nil {
		r.T.Fatal(err)
	}
	r.holdAgainstContract(req, res.StatusCode, res.Header, a.Raw)
	_ = json.Unmarshal(a.Raw, &a.JSON)
	_ = json.Unmarshal(a.Raw, &a.List)
	r.Last = res.Header
	return a
}

func (r *Rig) holdAgainstContract(req *http.Request, status int, header http.Header, body []byte) {
	r.T.Helper()
	if os.Getenv(contract.Variable) == "" {
		return
	}
	held := body
	if r.compatible {
		held = withPosition(body)
	}
	for _, v := range contract.FromEnv(r.T).Response(req, status, header, held) {
		if r.compatible && v.Reason == "missing property 'roles'" {
			continue
		}
		r.T.Errorf("%s\n%s", v, body)
	}
}

// withPosition adds the position that the OpenAPI description requires and compatible servers omit.
func withPosition(body []byte) []byte {
	var channel map[string]any
	if err := json.Unmarshal(body, &channel); err != nil || channel["permission_overwrites"] == nil {
		return body
	}
	if _, ok := channel["position"]; ok {
		return body
	}
	channel["position"] = 0
	completed, err := json.Marshal(channel)
	if err != nil {
		return body
	}
	return completed
}

// Must makes a call like [Rig.Do], and ends the test unless the response has the given status.
func (r *Rig) Must(status int, method, path string, body any, header ...string) Answer {
	r.T.Helper()
	a := r.Do(method, path, body, header...)
	if a.Status != status {
		r.T.Fatalf("%s %s: got %d %s, want %d", method, path, a.Status, a.Raw, status)
	}
	return a
}

// Channel creates a channel over REST and returns its id.
func (r *Rig) Channel(fields map[string]any) string {
	r.T.Helper()
	return r.Must(201, "POST", "/guilds/"+r.Guild+"/channels", fields).ID()
}

// Obj is a JSON object.
type Obj = map[string]any

// TinyPNG is the data URI of an image of one pixel.
const TinyPNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCB" +
	"d81ytgAAAABJRU5ErkJggg=="

// Check ends the test on an error.
func Check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until ok returns true, at most 20 s.
func Eventually(t *testing.T, what string, ok func() bool) {
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
