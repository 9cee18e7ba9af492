// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/environment"
)

func TestLive(t *testing.T) {
	g := NewWithT(t)
	env, err := environment.Start(t.Context(), environment.Options{Operators: []environment.Operator{environment.Discord},
		Folder: t.TempDir()})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { NewWithT(t).Expect(env.Stop()).To(Succeed()) })
	expected, err := expect(t.Context(), env, t.Output())
	g.Expect(err).NotTo(HaveOccurred())
	for k, f := range expected {
		if state, noted := f["(condition)"]; noted {
			g.Expect(state).To(Equal("Ready"), "%v", k)
		}
	}

	t.Run("discordtest does not differ from itself", func(t *testing.T) {
		NewWithT(t).Expect(written(t, env, expected, nil, discordtest.Options{})).
			To(ContainSubstring("Nothing: all compared fields are equal."))
	})
	t.Run("a planted difference is in the table", func(t *testing.T) {
		NewWithT(t).Expect(written(t, env, expected, withoutLastMessage, discordtest.Options{})).To(And(
			ContainSubstring("| `GET /channels/{channel_id}` | `last_message_id` | `null` | `(absent)` |"),
			ContainSubstring("adopt (adopted)"), Not(ContainSubstring("`name`"))))
	})
	t.Run("a compatible server has the known differences", func(t *testing.T) {
		NewWithT(t).Expect(written(t, env, expected, nil, discordtest.Options{Compatible: true})).To(And(
			ContainSubstring("| `GET /guilds/{guild_id}` | `roles` | `array` | `(absent)` | access |"),
			ContainSubstring("| `GET /channels/{channel_id}` | `position` | `number` | `(absent)` |"),
			ContainSubstring("| `GET /channels/{channel_id}` | `code` | `10003` | `404` | delete (alerts), "),
			ContainSubstring("| `DiscordChannel edited` | `(condition)` | `Ready` | `Degraded NotApplied` | edit |"),
			ContainSubstring("`audit_log_entries[action 10]` | `present` | `(absent)` | audit log |"),
			Not(ContainSubstring("`the corrected channel`")), Not(ContainSubstring("order of"))))
	})
	t.Run("an interrupted run leaves nothing behind", func(t *testing.T) {
		g := NewWithT(t)
		d, simulated, before := crowded(t, discordtest.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		progress := &interrupter{at: "lost answer", cancel: cancel, out: t.Output()}
		_, err := conduct(ctx, env, simulated, quick(), progress)
		g.Expect(err).To(MatchError(context.Canceled))
		g.Expect(contents(d, simulated.guild)).To(Equal(before))
	})
	t.Run("a write to an object outside the run is refused and reported", func(t *testing.T) {
		g := NewWithT(t)
		_, simulated, before := crowded(t, discordtest.Options{})
		p, err := startProxy(simulated.api, newTerritory(simulated.guild, newPrefix()))
		g.Expect(err).NotTo(HaveOccurred())
		defer p.close()
		b := &bot{apiURL: p.apiURL(), token: simulated.token}
		for _, c := range before.channels {
			r, err := b.do(t.Context(), http.MethodDelete, "/channels/"+c.ID, nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.status).To(Equal(http.StatusForbidden))
		}
		g.Expect(p.violations()).To(MatchError(ContainSubstring("DELETE /channels/{channel_id}: an object of others")))
	})
}

func TestIncompleteCleanUp(t *testing.T) {
	g := NewWithT(t)
	d, simulated, _ := crowded(t, discordtest.Options{})
	own := newTerritory(simulated.guild, newPrefix())
	id := d.CreateChannelByHand(simulated.guild, discordtest.Channel{Type: discordtest.TypeCategory, Name: own.prefix})
	d.Faults().Add(discordtest.Fault{Route: "DELETE /channels/{channel_id}", Times: 1,
		Action: discordtest.FailBefore(http.StatusForbidden)})
	p, err := startProxy(simulated.api, own)
	g.Expect(err).NotTo(HaveOccurred())
	defer p.close()
	b := &bot{apiURL: p.apiURL(), token: simulated.token}
	g.Expect(cleanUp(t.Context(), b, own)).To(MatchError(And(
		ContainSubstring("Delete by hand the objects whose names begin with "+own.prefix+": category ("+id+")"),
		ContainSubstring("DELETE /channels/"+id+": status 403"))))
	g.Expect(cleanUp(t.Context(), b, own)).To(Succeed())
}

// The proxy connects to the Gateway with TLS and HTTP/1.1, although the Gateway also offers HTTP/2.
func TestGateway(t *testing.T) {
	g := NewWithT(t)
	var upstream *httptest.Server
	upstream = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v10/gateway/bot" {
			_, _ = fmt.Fprintf(w, `{"url": "wss://%s", "shards": 1}`, upstream.Listener.Addr())
			return
		}
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Seen", r.Proto+" "+r.URL.String())
		w.WriteHeader(http.StatusSwitchingProtocols)
	}))
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	defer upstream.Close()
	plain := httptest.NewServer(upstream.Config.Handler)
	defer plain.Close()
	api, err := url.Parse(plain.URL + apiPath)
	g.Expect(err).NotTo(HaveOccurred())
	p, err := startProxy(api, newTerritory("1001", newPrefix()))
	g.Expect(err).NotTo(HaveOccurred())
	defer p.close()
	p.dial = upstream.Client().Transport
	start, err := (&bot{apiURL: p.apiURL()}).do(t.Context(), http.MethodGet, "/gateway/bot", nil)
	g.Expect(err).NotTo(HaveOccurred())
	address := text(asObject(start.body), "url")
	g.Expect(address).To(Equal("ws" + strings.TrimPrefix(p.url, "http") + gatewayPath + "/"))

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		strings.Replace(address, "ws", "http", 1)+"?v=10&encoding=json", nil)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	response, err := http.DefaultTransport.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	g.Expect(response.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	g.Expect(response.Header.Get("Seen")).To(Equal("HTTP/1.1 /?v=10&encoding=json"))
}

func TestPlan(t *testing.T) {
	g := NewWithT(t)
	d, simulated, before := crowded(t, discordtest.Options{})
	file := filepath.Join(t.TempDir(), "bot.token")
	g.Expect(os.WriteFile(file, []byte(simulated.token+"\n"), 0o600)).To(Succeed())
	plan := func() (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), []string{"--plan", "--token-file=" + file, "--server-id=" + simulated.guild,
			"--api-url=" + d.URL()}, &out)
		return out.String(), err
	}
	text, err := plan()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(And(ContainSubstring(`In the server "Jujutsu High" (`+simulated.guild+`) at 127.0.0.1`),
		ContainSubstring("hide         create a channel named private, which @everyone may not view"),
		Not(ContainSubstring(simulated.token)), Not(ContainSubstring("of other runs"))))

	d.CreateChannelByHand(simulated.guild, discordtest.Channel{Name: "jutsu-live-0123abcd-alerts"})
	text, err = plan()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(MatchRegexp(`These objects are of other runs. If no other run is in progress, delete them by hand: jutsu-live-0123abcd-alerts \([0-9]+\)\n$`))

	for _, r := range before.roles {
		if r.Name == "operator" {
			r.Permissions &^= discordtest.PermManageRoles | discordtest.PermViewAuditLog
			d.EditRoleByHand(simulated.guild, r.ID, func(now *discordtest.Role) { *now = r })
		}
	}
	text, err = plan()
	g.Expect(err).To(MatchError(ContainSubstring("the bot lacks permissions in the server " + simulated.guild +
		": ViewAuditLog, ManageRoles. Nothing was changed")))
	g.Expect(text).To(BeEmpty())

	g.Expect(os.WriteFile(file, []byte("another-token"), 0o600)).To(Succeed())
	_, err = plan()
	g.Expect(err).To(MatchError("the API refuses the bot's token; check --token-file"))
	for _, request := range d.Requests() {
		g.Expect(request.Route).To(HavePrefix("GET "))
	}
}

// written returns the table of differences, and expects that existing objects stay unchanged.
func written(t *testing.T, env *environment.Environment, expected recording, alter func(*url.URL) http.Handler,
	o discordtest.Options) string {
	t.Helper()
	g := NewWithT(t)
	d, simulated, before := crowded(t, o)
	if alter != nil {
		altered := httptest.NewServer(alter(simulated.api))
		t.Cleanup(altered.Close)
		simulated.api.Host = strings.TrimPrefix(altered.URL, "http://")
	}
	var out bytes.Buffer
	report := filepath.Join(t.TempDir(), "report.md")
	options := &options{report: report, target: simulated, settings: quick()}
	g.Expect(compareWith(t.Context(), env, options, expected, io.MultiWriter(&out, t.Output()))).To(Succeed())
	g.Expect(contents(d, simulated.guild)).To(Equal(before))
	text, err := os.ReadFile(report)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text) + out.String()).NotTo(ContainSubstring(simulated.token))
	g.Expect(string(text)).NotTo(ContainSubstring(simulated.guild))
	t.Logf("%s", text)
	return string(text)
}

// quick makes the operator poll often, because in a compatible server it finds drift only by
// polling.
func quick() settings {
	return settings{limit: 20 * time.Second, interval: 200 * time.Millisecond,
		operatorArgs: []string{"--recovery-wait=2s", "--resync-period=3s", "--live-resync-period=3s"}}
}

func crowded(t *testing.T, o discordtest.Options) (*discordtest.Server, target, state) {
	t.Helper()
	d, simulated, err := simulate(o)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(d.Close)
	category := d.CreateChannelByHand(simulated.guild,
		discordtest.Channel{Type: discordtest.TypeCategory, Name: "jutsu-live-of-others"})
	d.CreateChannelByHand(simulated.guild, discordtest.Channel{Name: "general", ParentID: category})
	d.CreateChannelByHand(simulated.guild, discordtest.Channel{Name: "alerts"})
	d.CreateRoleByHand(simulated.guild, discordtest.Role{Name: "others"})
	return d, simulated, contents(d, simulated.guild)
}

type state struct {
	channels []discordtest.Channel
	roles    []discordtest.Role
	webhooks int
	members  string
}

func contents(d *discordtest.Server, guild string) state {
	g := d.Guild(guild)
	return state{g.Channels, g.Roles, len(g.Webhooks), fmt.Sprint(g.Members)}
}

func withoutLastMessage(api *url.URL) http.Handler {
	upstream := *api
	upstream.Path = ""
	forward := httputil.NewSingleHostReverseProxy(&upstream)
	forward.ModifyResponse = func(r *http.Response) error {
		if !strings.Contains(r.Request.URL.Path, "/channels") || r.StatusCode == http.StatusNoContent {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		object := map[string]any{}
		if json.Unmarshal(text, &object) == nil {
			delete(object, "last_message_id")
			if text, err = json.Marshal(object); err != nil {
				return err
			}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return nil
	}
	return forward
}

type interrupter struct {
	at     string
	cancel func()
	out    io.Writer
}

func (i *interrupter) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte(i.at)) {
		i.cancel()
	}
	return i.out.Write(text)
}
