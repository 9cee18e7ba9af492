// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
)

func TestNullAndEmptyAnswersAreErrors(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"null", " null\n", "{}"} {
		c, _ := answering(t, 200, nil, body)
		ctx := t.Context()
		_, list := c.ListChannels(ctx, "1")
		_, guild := c.GetGuild(ctx, "1")
		_, hooks := c.ListChannelWebhooks(ctx, "1")
		_, channel := c.GetChannel(ctx, "1")
		for _, err := range []error{list, guild, hooks, channel} {
			wantClass(t, err, discordclient.ClassTransient)
		}
		_, created := c.CreateWebhook(ctx, "1", "x", "")
		_, edited := c.EditGuild(ctx, "1", discordclient.GuildEdit{}, "")
		for _, err := range []error{created, edited} {
			wantClass(t, err, discordclient.ClassUnknown)
		}
	}
}

func TestUnusedFieldsMayHaveAnyForm(t *testing.T) {
	t.Parallel()
	const odd = `,"flags":"x","last_pin_timestamp":7,"applied_tags":"x","recipients":{},"thread_metadata":[],"color":"red","user":7,"avatar":{},"application":7`
	c, _ := answering(t, 200, nil, `[{"id":"1","name":"a","type":0,"permissions":"8"`+odd+`}]`)
	for name, err := range map[string]error{
		"channels": second(c.ListChannels(t.Context(), "1")),
		"roles":    second(c.ListRoles(t.Context(), "1")),
		"webhooks": second(c.ListChannelWebhooks(t.Context(), "1")),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, _ = answering(t, 200, nil, `{"audit_log_entries":[{"id":"1","action_type":10,"changes":"x","options":[]}],"users":"x","webhooks":[7]}`)
	if entries, err := c.ListAuditLog(t.Context(), "1", discordclient.AuditQuery{}); err != nil || len(entries) != 1 || entries[0].Action != discordgo.AuditLogActionChannelCreate {
		t.Errorf("audit log: %+v, %v", entries, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestTokensOfAnyFormAreHidden(t *testing.T) {
	t.Parallel()
	const token = "plain-token-of-a-compatible-server"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(strings.ReplaceAll(`{"code":50035,"message":"`+strings.Repeat("x", 290)+
			` SECRET","errors":{"SECRET":{"_errors":[{"code":"SECRET","message":"you sent SECRET"}]}}}`, "SECRET", token)))
	}))
	defer srv.Close()
	c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret(token), APIURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.GetGuild(t.Context(), "1")
	if err == nil || strings.Contains(err.Error(), token[:8]) || !strings.Contains(err.Error(), "[redacted]") {
		t.Errorf("says %v", err)
	}
}

func TestA401OfAProxyDoesNotRefuseTheToken(t *testing.T) {
	t.Parallel()
	c, calls := answering(t, 401, nil, "<html>proxy auth</html>")
	for range 2 {
		_, err := c.GetGuild(t.Context(), "1")
		wantClass(t, err, discordclient.ClassTransient)
	}
	if *calls != 2 || c.Stats().TokenRefused {
		t.Errorf("%d calls, token refused: %v", *calls, c.Stats().TokenRefused)
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]discordclient.Options{
		"negative limit": {GlobalPerSecond: -1},
	} {
		o.Token = discordclient.NewSecret("token")
		if _, err := discordclient.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
