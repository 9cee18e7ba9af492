// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// format prints a value with the verbs that fit any. (The others print what a pointer points to,
// and thereby race with a connection that is in use.)
func (o *output) format(v any) { _, _ = fmt.Fprintf(o, "%v\n%+v\n%#v\n", v, v, v) }

// say prints a value in every way that code prints values.
func (o *output) say(v any) {
	o.format(v)
	_, _ = fmt.Fprintf(o, "%s %q %d %x\n", v, v, v, v)
	if raw, err := json.Marshal(v); err == nil {
		_, _ = o.Write(raw)
	}
	slog.New(slog.NewJSONHandler(o, nil)).Info("said", "value", v)
	for err, ok := v.(error); ok && err != nil; err = errors.Unwrap(err) {
		_, _ = fmt.Fprintf(o, "%v %#v\n", err, err)
	}
}

// No failure of any call, in whatever form it is printed, shows the bot's token or a webhook's URL;
// not even when the other side writes them into its answers.
func TestSecretsAreNeverSaid(t *testing.T) {
	t.Parallel()
	metrics := guildcache.NewMetrics()
	r := newRig(t, func(_ *discordtest.Options, o *guildcache.Options) {
		o.Metrics = metrics
		o.Timeout = 200 * time.Millisecond
	})
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	c := r.create(discordclient.ChannelCreate{Name: "a"})
	hook, err := r.client.CreateWebhook(t.Context(), c.ID, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{hook, &hook, []discordclient.Webhook{hook}, hook.Token, hook.URL, r.opts.Token, struct{ S discordclient.Secret }{hook.URL}} {
		r.out.say(v)
	}
	r.out.format(r.client)
	r.out.format(r.opts)
	for name, fault := range r.failures(hook) {
		t.Run(name, func(t *testing.T) {
			client := r.newClient() // since a 401 is for good
			remove := r.srv.Faults().Add(discordtest.Fault{Action: fault})
			defer remove()
			for op, do := range everyCall(client, r.guild, c.ID, hook) {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				result, err := do(ctx)
				cancel()
				if err == nil && strings.HasPrefix(name, "5") {
					t.Errorf("%s did not fail", op)
				}
				r.out.say(err)
				r.out.say(result)
			}
			r.out.say(client.Stats())
		})
	}
	r.brokenConnections(c.ID, hook)
	r.gatewayFailures()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		_, _ = expfmt.MetricFamilyToText(r.out, f)
	}
	r.out.mustHide(t, r.bot.Token, hook.Token.Reveal(), hook.ID+"/"+hook.Token.Reveal(), "Bot "+r.bot.Token[:8])
	if text := r.out.String(); len(text) < 100_000 || !strings.Contains(text, "[redacted]") || !strings.Contains(text, "discord_requests_total") {
		t.Errorf("only %d bytes were printed: the test saw nothing", len(text))
	}
}

// failures are answers that fail in all ways, many of which quote the secrets.
func (r *rig) failures(hook discordclient.Webhook) map[string]discordtest.Action {
	telling := fmt.Sprintf( //nolint:gocritic // sprintfQuotedString: JSON, not Go
		`{"code":50035,"message":"%s %s","errors":{"https://discord.com/api/webhooks/%s/%s":{"_errors":[{"code":"%s","message":"%s"}]}}}`,
		r.bot.Token, hook.URL.Reveal(), hook.ID, hook.Token.Reveal(), hook.URL.Reveal(), r.bot.Token)
	return map[string]discordtest.Action{
		"closed": discordtest.DropBefore(), "cut": discordtest.CutAnswer(20), "500": discordtest.FailBefore(500), "502": discordtest.FailBefore(502),
		"telling 400": {Status: 400, Body: telling}, "telling 403": {Status: 403, Body: telling}, "telling 404": {Status: 404, Body: telling},
		"telling 500": {Status: 500, Body: telling}, "telling 200": {Status: 200, Body: telling}, "telling list": {Status: 200, Body: "[" + telling + "]"},
		"telling text": {Status: 500, Body: r.bot.Token + hook.URL.Reveal()}, "banned": discordtest.Banned(time.Millisecond),
		"429": discordtest.RateLimited(time.Millisecond, "user"), "slow": discordtest.Hold(nil), "redirect": {Status: 302, Header: http.Header{"Location": {hook.URL.Reveal()}}},
		"telling 401": {Status: 401, Body: telling},
	}
}

// brokenConnections makes every call fail below HTTP.
func (r *rig) brokenConnections(channel string, hook discordclient.Webhook) {
	for _, transport := range []http.RoundTripper{
		&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("connection refused by the test")
		}},
		&http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &cutConn{conn}, err
		}},
	} {
		r.opts.Transport = transport
		for op, do := range everyCall(r.newClient(), r.guild, channel, hook) {
			_, err := do(r.t.Context())
			if err == nil {
				r.t.Errorf("%s worked without a connection", op)
			}
			r.out.say(err)
		}
	}
	r.opts.Transport = nil
}

// cutConn ends with the thirtieth byte of a request.
type cutConn struct{ net.Conn }

func (c *cutConn) Write(p []byte) (int, error) {
	n, _ := c.Conn.Write(p[:min(30, len(p))])
	_ = c.Close()
	return n, errors.New("cut by the test")
}

// gatewayFailures lets the Gateway fail in several ways; what is logged lands in the rig's output.
func (r *rig) gatewayFailures() {
	for _, fault := range []discordtest.GatewayFaults{{Refuse: true}, {WithholdHello: true}, {CloseOnIdentify: 4000}, {CloseOnIdentify: 4014}, {CloseOnIdentify: 4004}} {
		r.srv.Gateway().SetFaults(fault)
		c := r.newClient()
		c.Guild(r.guild)
		ctx, cancel := context.WithTimeout(r.t.Context(), 400*time.Millisecond)
		r.out.say(c.Run(ctx))
		cancel()
		r.out.say(c.Stats())
	}
}

// net/http logs through the standard logger when it thinks it must; that is searched too.
func TestMain(m *testing.M) {
	said := &output{}
	log.SetOutput(said)
	code := m.Run()
	if text := said.String(); strings.Contains(text, "Bot ") || strings.Contains(text, "webhooks/") {
		fmt.Fprintln(os.Stderr, "the standard logger got a secret:", text)
		code = 1
	}
	os.Exit(code)
}
