// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/test/discordtest"
)

type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

// The status of a webhook depends on the step of the webhook, not on other issues of the channel.
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
