// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
)

func TestAListOfWebhooksIsReadAgainIfItShowsNoChange(t *testing.T) {
	t.Parallel()
	a, b := discordclient.Webhook{ID: "30", ChannelID: "20"}, discordclient.Webhook{ID: "31", ChannelID: "20"}
	for name, c := range map[string]struct {
		after []discordclient.Webhook
		again bool
	}{
		"no webhook has changed": {[]discordclient.Webhook{a}, true},
		"a webhook is gone":      {nil, false},
		"a webhook is new":       {[]discordclient.Webhook{a, b}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, view := newTestStore(t)
			st.session(t, guildWith20)
			known := func() bool { _, known := view.Snapshot().Webhooks("20"); return known }
			st.WebhooksListed("1", []discordclient.Webhook{a}, []string{"20"}, time.Now())
			st.receive(t, "WEBHOOKS_UPDATE", `{"guild_id":"1","channel_id":"20"}`)
			st.WebhooksListed("1", c.after, []string{"20"}, time.Now())
			_, wait := st.Due(time.Now())
			if soon := wait <= consistencyDelay; !known() || soon != c.again {
				t.Fatalf("known %t, the next look is in %s", known(), wait)
			}
			if id, _ := st.Due(time.Now().Add(consistencyDelay)); id != "" || known() == c.again {
				t.Errorf("guild %q is polled, webhooks known: %t", id, known())
			}
			st.WebhooksListed("1", c.after, []string{"20"}, time.Now().Add(consistencyDelay))
			if st.Due(time.Now().Add(2 * consistencyDelay)); !known() {
				t.Error("the webhooks are listed a third time")
			}
		})
	}
}
