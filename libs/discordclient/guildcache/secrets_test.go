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
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/test/discordtest"
)

// format uses only the verb v. Other verbs would print the target of a pointer, which races with a
// connection in use.
func format(o *cachetest.Output, v any) { _, _ = fmt.Fprintf(o, "%v\n%+v\n%#v\n", v, v, v) }

func say(o *cachetest.Output, v any) {
	format(o, v)
	_, _ = fmt.Fprintf(o, "%s %q %d %x\n", v, v, v, v)
	if raw, err := json.Marshal(v); err == nil {
		_, _ = o.Write(raw)
	}
	slog.New(slog.NewJSONHandler(o, nil)).Info("said", "value", v)
	for err, ok := v.(error); ok && err != nil; err = errors.Unwrap(err) {
		_, _ = fmt.Fprintf(o, "%v %#v\n", err, err)
	}
}

func TestNoFailureShowsASecret(t *testing.T) {
	t.Parallel()
	metrics := guildcache.NewMetrics()
	r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) { o.Metrics = metrics })
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	c := r.Create(discordclient.ChannelCreate{Name: "a"})
	hook, err := r.Client.CreateWebhook(t.Context(), c.ID, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	r.Options.Timeout = 200 * time.Millisecond // of the next Clients
	for _, v := range []any{hook, &hook, []discordclient.Webhook{hook}, hook.Token, hook.URL, r.Options.Token, struct{ S discordclient.Secret }{hook.URL}} {
		say(r.Printed, v)
	}
	format(r.Printed, r.Client)
	format(r.Printed, r.Options)
	for name, fault := range failures(r, hook) {
		t.Run(name, func(t *testing.T) {
			client := r.NewClient() // a new Client, because a 401 stops a Client for good
			remove := r.Discord.Faults().Add(discordtest.Fault{Action: fault})
			defer remove()
			for op, do := range everyCall(client, r.Guild, c.ID, r.Guild, hook) {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				result, err := do(ctx)
				cancel()
				if err == nil && strings.HasPrefix(name, "5") {
					t.Errorf("%s did not fail", op)
				}
				say(r.Printed, err)
				say(r.Printed, result)
			}
			say(r.Printed, client.Stats())
		})
	}
	brokenConnections(r, c.ID, hook)
	gatewayFailures(r)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		_, _ = expfmt.MetricFamilyToText(r.Printed, f)
	}
	r.Printed.MustHide(t, r.Bot.Token, hook.Token.Reveal(), hook.ID+"/"+hook.Token.Reveal(), "Bot "+r.Bot.Token[:8])
	if text := r.Printed.String(); len(text) < 100_000 || !strings.Contains(text, "[redacted]") || !strings.Contains(text, "discord_requests_total") {
		t.Errorf("only %d bytes were printed: the test saw nothing", len(text))
	}
}

func failures(r *cachetest.Rig, hook discordclient.Webhook) map[string]discordtest.Action {
	telling := fmt.Sprintf( //nolint:gocritic // sprintfQuotedString: JSON, not Go
		`{"code":50035,"message":"%s %s","errors":{"https://discord.com/api/webhooks/%s/%s":{"_errors":[{"code":"%s","message":"%s"}]}}}`,
		r.Bot.Token, hook.URL.Reveal(), hook.ID, hook.Token.Reveal(), hook.URL.Reveal(), r.Bot.Token)
	return map[string]discordtest.Action{
		"closed": discordtest.DropBefore(), "cut": discordtest.CutAnswer(20), "500": discordtest.FailBefore(500), "502": discordtest.FailBefore(502),
		"secrets in a 400": {Status: 400, Body: telling}, "secrets in a 403": {Status: 403, Body: telling}, "secrets in a 404": {Status: 404, Body: telling},
		"secrets in a 500": {Status: 500, Body: telling}, "secrets in a 200": {Status: 200, Body: telling}, "secrets in a list": {Status: 200, Body: "[" + telling + "]"},
		"secrets in a text": {Status: 500, Body: r.Bot.Token + hook.URL.Reveal()}, "banned": discordtest.Banned(time.Millisecond),
		"429": discordtest.RateLimited(time.Millisecond, "user"), "slow": discordtest.Hold(nil), "redirect": {Status: 302, Header: http.Header{"Location": {hook.URL.Reveal()}}},
		"secrets in a 401": {Status: 401, Body: telling},
	}
}

func brokenConnections(r *cachetest.Rig, channel string, hook discordclient.Webhook) {
	for _, transport := range []http.RoundTripper{
		&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("connection refused by the test")
		}},
		&http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &cutConn{conn}, err
		}},
	} {
		r.Options.Transport = transport
		for op, do := range everyCall(r.NewClient(), r.Guild, channel, r.Guild, hook) {
			_, err := do(r.Context())
			if err == nil {
				r.Errorf("%s worked without a connection", op)
			}
			say(r.Printed, err)
		}
	}
	r.Options.Transport = nil
}

type cutConn struct{ net.Conn }

func (c *cutConn) Write(p []byte) (int, error) {
	n, _ := c.Conn.Write(p[:min(30, len(p))])
	_ = c.Close()
	return n, errors.New("cut by the test")
}

func gatewayFailures(r *cachetest.Rig) {
	for _, fault := range []discordtest.GatewayFaults{{Refuse: true}, {WithholdHello: true}, {CloseOnIdentify: 4000}, {CloseOnIdentify: 4014}, {CloseOnIdentify: 4004}} {
		r.Discord.Gateway().SetFaults(fault)
		c := r.NewClient()
		c.Guild(r.Guild)
		ctx, cancel := context.WithTimeout(r.Context(), 400*time.Millisecond)
		say(r.Printed, c.Run(ctx))
		cancel()
		say(r.Printed, c.Stats())
	}
}

// net/http may log to the standard logger, so TestMain searches the logger's output for secrets.
func TestMain(m *testing.M) {
	said := &cachetest.Output{}
	log.SetOutput(said)
	code := m.Run()
	if text := said.String(); strings.Contains(text, "Bot ") || strings.Contains(text, "webhooks/") {
		fmt.Fprintln(os.Stderr, "the standard logger got a secret:", text)
		code = 1
	}
	os.Exit(code)
}
