// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

type kept struct {
	client.Client
	secrets []*corev1.Secret
}

func (k *kept) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	raw, err := json.Marshal(o)
	secret := &corev1.Secret{}
	k.secrets = append(k.secrets, secret)
	return errors.Join(err, json.Unmarshal(raw, secret))
}

// The status of a webhook depends on its own results, not on other issues of the channel.
func TestDroppedWebhookLeavesTheStatus(t *testing.T) {
	t.Parallel()
	old := &v1alpha1.WebhookStatus{ID: "7", SecretRef: &v1alpha1.LocalSecretReference{Name: "alerts-webhook"}}
	for name, c := range map[string]struct {
		plan   Plan
		answer *discordtest.Action // of Discord to the deletion; nil for no fault
		want   *v1alpha1.WebhookStatus
	}{
		"nothing is left to delete":    {},
		"the webhook is already gone":  {plan: Plan{Remove: "7"}},
		"Discord refuses the deletion": {plan: Plan{Remove: "7"}, answer: new(discordtest.FailBefore(403)), want: old},
		"the webhook cannot be read":   {plan: Plan{Err: conditions.Progressing("Outage", "")}, want: old},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guildtest.New(t, all)
			if c.answer != nil {
				g.Discord.Faults().Add(discordtest.Fault{Route: "DELETE /webhooks/{webhook_id}", Action: *c.answer})
			}
			w := &Webhooks{Applier: &apply.Applier{}, Status: &status.Recorder{Kind: "DiscordChannel", Events: noEvents{}}}
			o := object(spec{Name: "alerts"})
			o.Status.Webhook = old
			results, err := w.Apply(t.Context(), o, g.Client(t), "1", c.plan)
			if (err != nil) != (c.want != nil) {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, Status(o, results)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheSecretKeepsTheURLOfARenamedWebhook(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"Discord returns the token": `{"id": "7", "name": "new", "token": "t7"}`,
		"Discord omits the token":   `{"id": "7", "name": "new"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, k, clock := guildtest.New(t, all), &kept{}, clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
			g.Discord.Faults().Add(discordtest.Fault{
				Route: "PATCH /webhooks/{webhook_id}", Action: discordtest.Action{Status: 200, Body: answer},
			})
			w := &Webhooks{
				Applier: apply.New(k, FieldOwner, apply.Reasons{}, clock), Records: lifecycle.NewRecords(clock, 0),
				Status: &status.Recorder{Kind: "DiscordChannel", Events: noEvents{}},
			}
			api := g.Client(t)
			url := discordclient.NewSecret("https://discord.com/api/webhooks/7/t7")
			use := &discordclient.Webhook{ID: "7", Name: "old", URL: url}
			o := object(spec{Name: "alerts", Webhook: &v1alpha1.ChannelWebhook{Name: "new"}})
			if _, err := w.Apply(t.Context(), o, api, "1", Plan{Use: use, Rename: true, Write: true}); err != nil {
				t.Fatal(err)
			}
			for _, s := range k.secrets {
				if got := string(s.Data[v1alpha1.WebhookSecretKey]); !strings.HasSuffix(got, "/webhooks/7/t7") {
					t.Errorf("the URL is %q", got)
				}
			}
			if len(k.secrets) != 1 {
				t.Errorf("%d Secrets are written", len(k.secrets))
			}
		})
	}
}
