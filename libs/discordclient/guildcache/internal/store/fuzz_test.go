// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"jutsu.com/operators/libs/discordclient"
)

// No event makes the cache panic or its view inconsistent.
func FuzzDispatch(f *testing.F) {
	for event := range handlers {
		f.Add(event, []byte(`{"id":"1","guild_id":"1","channel_id":"5","role_id":"1","role":{"id":"3","permissions":"8"},"user":{"id":"9"},"guilds":[{"id":"1"}],`+
			`"roles":[],"channels":[{"id":"5","type":0,"name":"a","permission_overwrites":[{"id":"1","type":0,"allow":"0","deny":"1024"},null]}],"members":[{"user":{"id":"9"}}]}`))
	}
	f.Add("CHANNEL_CREATE", []byte(`{"id":"","guild_id":"1"}`))
	f.Add("GUILD_DELETE", []byte(`{"id":"1","unavailable":true}`))
	f.Fuzz(func(t *testing.T, event string, data []byte) {
		st, view := newTestStore(t)
		st.Connecting()
		st.Dispatch("READY", []byte(`{"user":{"id":"9"},"guilds":[{"id":"1"}]}`), false)
		st.Dispatch("GUILD_CREATE", []byte(`{"id":"1","roles":[{"id":"1","permissions":"1024"}],"channels":[{"id":"5","type":4}]}`), false)
		st.Dispatch(event, data, false)
		st.Dispatch(event, data, true)
		s := view.Snapshot()
		for i, channel := range s.Channels() {
			if got, ok := s.Channel(channel.ID); !ok || got != channel {
				t.Errorf("channel %q is in the list and not found", channel.ID)
			}
			if i > 0 && discordclient.CompareIDs(s.Channels()[i-1].ID, channel.ID) >= 0 {
				t.Errorf("channels are out of order at %q", channel.ID)
			}
			_, _ = s.BotPermissionsIn(channel)
		}
		_, _ = s.Categories(), s.Children("")
		st.Disconnected(nil)
	})
}
