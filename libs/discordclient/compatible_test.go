// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"encoding/json"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

func TestClientSendsOverwritesInTheOrderOfDiscord(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *discordtest.Options, _ *discordclient.Options) { o.Compatible = true })
	role := r.srv.AddRole(r.guild, "Sensei", 0)
	const view = permissions.ViewChannel
	private := []discordclient.Overwrite{
		{ID: r.bot.UserID, Type: discordgo.PermissionOverwriteTypeMember, Allow: view},
		{ID: r.guild, Deny: view}, {ID: role, Allow: view},
	}
	topic := discordclient.ChannelEdit{Topic: discordclient.Set("t")}
	created := r.create(discordclient.ChannelCreate{Name: "created", Overwrites: private})
	if _, err := r.client.EditChannel(t.Context(), created.ID, topic, ""); err != nil {
		t.Errorf("after the create: %v", err)
	}
	edited := r.create(discordclient.ChannelCreate{Name: "edited"})
	edit := discordclient.ChannelEdit{Overwrites: discordclient.Set(private)}
	if _, err := r.client.EditChannel(t.Context(), edited.ID, edit, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.EditChannel(t.Context(), edited.ID, topic, ""); err != nil {
		t.Errorf("after the edit: %v", err)
	}
	want := []string{r.guild, role, r.bot.UserID}
	for _, sent := range r.srv.RequestsOf(r.bot.UserID) {
		var body struct {
			Overwrites []struct{ ID string } `json:"permission_overwrites"`
		}
		if err := json.Unmarshal(sent.Body, &body); err != nil || body.Overwrites == nil {
			continue
		}
		var ids []string
		for _, o := range body.Overwrites {
			ids = append(ids, o.ID)
		}
		if d := cmp.Diff(want, ids); d != "" {
			t.Errorf("%s (-want +got):\n%s", sent.Route, d)
		}
	}
}
