// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

const getWebhook = "GET /webhooks/{webhook_id}"

func TestKnownWebhookIsGoneAfterTwoAnswers(t *testing.T) {
	t.Parallel()
	notFound := discordtest.Action{Status: 404, Body: `{"code": 10015, "message": "Unknown Webhook"}`}
	refused := discordtest.Action{Status: 403, Body: `{"code": 50001, "message": "Missing Access"}`}
	type look struct {
		after        time.Duration
		answer       *discordtest.Action // nil for a correct answer
		there, brief bool
		calls        int
	}
	soon, confirmed := time.Second, 5*time.Second
	for name, c := range map[string]struct {
		deleted, elsewhere, fromSecret bool
		looks                          []look
	}{
		"one 404":                                                           {looks: []look{{0, &notFound, false, true, 1}, {confirmed, nil, false, true, 1}, {confirmed, nil, true, false, 1}}},
		"a second look one second after a 404":                              {looks: []look{{0, &notFound, false, true, 1}, {soon, &notFound, false, true, 0}}},
		"two 404s, five seconds apart":                                      {deleted: true, looks: []look{{0, nil, false, true, 1}, {confirmed, nil, false, false, 1}}},
		"the webhook exists, but the list lacks it":                         {looks: []look{{0, nil, false, true, 1}, {soon, nil, false, true, 0}, {confirmed, nil, true, false, 1}}},
		"the webhook is in another channel":                                 {elsewhere: true, looks: []look{{0, nil, false, false, 1}}},
		"only the Secret names the webhook, and Discord refuses both reads": {fromSecret: true, looks: []look{{0, &refused, false, true, 1}, {confirmed, &refused, false, false, 1}}},
		"one refused read":                                                  {looks: []look{{0, &refused, false, false, 1}, {soon, nil, false, true, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guildtest.New(t, all)
			clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
			w := &Webhooks{Status: &status.Recorder{Clock: clock}, Records: lifecycle.NewRecords(clock, 0)}
			id := g.Discord.CreateChannelByHand(g.ID, discordtest.Channel{Name: "alerts"})
			hook := g.Discord.CreateWebhookByHand(id, "alerts")
			s := &State{Guild: &bot.Guild{ID: g.ID, Bot: &bot.Bot{Client: g.Client(t)}}, Channel: &discordclient.Channel{ID: id}}
			if c.elsewhere {
				s.Channel.ID = "1"
			}
			if c.deleted {
				g.Discord.DeleteWebhookByHand(hook.ID)
			}
			for i, l := range c.looks {
				clock.SetTime(clock.Now().Add(l.after))
				if l.answer != nil {
					g.Discord.Faults().Add(discordtest.Fault{Route: getWebhook, Times: 1, Action: *l.answer})
				}
				before := g.Discord.RequestCounts()[getWebhook]
				there, err := w.find(t.Context(), s, candidate{id: hook.ID, fromSecret: c.fromSecret})
				calls := g.Discord.RequestCounts()[getWebhook] - before
				if there != l.there || (reasonOf(err) != "") != l.brief || calls != l.calls {
					t.Errorf("look %d: there %t, %v, %d calls; want %+v", i, there, err, calls, l)
				}
			}
		})
	}
}

// The most certain candidate comes first. A webhook that is older than the channel is no candidate.
func TestKnownSources(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status, secret string
		record         lifecycle.Record
		channel        string
		want           []candidate
	}{
		"nothing":                                  {},
		"status and Secret":                        {status: "7", secret: "8", channel: "1", want: []candidate{{id: "7"}, {id: "8", fromSecret: true}}},
		"the same in status and Secret":            {status: "7", secret: "7", channel: "1", want: []candidate{{id: "7"}}},
		"record and status, the Secret is ignored": {status: "7", secret: "8", record: lifecycle.Record{Known: true, ID: "9"}, channel: "1", want: []candidate{{id: "9"}, {id: "7"}}},
		"webhooks older than the channel":          {status: "7", secret: "8", channel: "10"},
		"no valid id in the Secret":                {secret: "../7", channel: "1"},
	} {
		o := object(spec{})
		s := State{Record: c.record, Channel: &discordclient.Channel{ID: cmp.Or(c.channel, "1")}}
		if c.status != "" {
			o.Status.Webhook = webhookStatus(c.status)
		}
		if c.secret != "" {
			s.Secret = secretMeta("alerts-webhook", c.secret)
		}
		if got := s.known(o); !slices.Equal(got, c.want) {
			t.Errorf("%s: %s", name, gocmp.Diff(c.want, got, gocmp.AllowUnexported(candidate{})))
		}
	}
}

func webhookStatus(id string) *v1alpha1.WebhookStatus { return &v1alpha1.WebhookStatus{ID: id} }
