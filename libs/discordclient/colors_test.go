// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient"
)

func TestColors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"#000000": 0, "#E67E22": 0xE67E22, "#FFFFFF": 0xFFFFFF} {
		got := discordclient.ParseColor(text)
		if got == nil || *got != want || discordclient.FormatColor(want) != text {
			t.Errorf("%s is %v, and %06x is %s", text, got, want, discordclient.FormatColor(want))
		}
	}
	if lower := discordclient.ParseColor("#e67e22"); lower == nil || *lower != 0xE67E22 {
		t.Error("lower case digits are digits")
	}
	for _, text := range []string{"", "#", "E67E22", "#E67E2", "#E67E222", "#E67E2G", "#-67E22"} {
		if got := discordclient.ParseColor(text); got != nil {
			t.Errorf("%q is %06x", text, *got)
		}
	}
}

// A server may send only the field color, as before 2025. In a role's tags, null means true.
func TestRolesAreReadFromAnyServer(t *testing.T) {
	t.Parallel()
	two := 2
	for raw, want := range map[string]discordclient.Role{
		`{"id":"1","color":7}`: {ID: "1", Colors: discordclient.RoleColors{Primary: 7}},
		`{"id":"1","color":7,"colors":{"primary_color":1,"secondary_color":2,"tertiary_color":null}}`: {
			ID: "1", Colors: discordclient.RoleColors{Primary: 1, Secondary: &two}},
		`{"id":"1","color":0,"colors":{"primary_color":0,"secondary_color":null,"tertiary_color":null}}`: {ID: "1"},
		`{"id":"1","managed":true,"tags":{"premium_subscriber":null}}`:                                   {ID: "1", Managed: true, Tags: discordclient.RoleTags{Booster: true}},
		`{"id":"1","managed":true,"tags":{"bot_id":"7"}}`:                                                {ID: "1", Managed: true, Tags: discordclient.RoleTags{BotID: "7"}},
	} {
		var got discordclient.Role
		if err := json.Unmarshal([]byte(raw), &got); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s is %+v, %v", raw, got, err)
		}
	}
}
