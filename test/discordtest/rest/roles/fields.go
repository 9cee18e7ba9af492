// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"strconv"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

const maxColor = 0xFFFFFF

// A holographic role must have exactly these three colours. Source:
// https://docs.discord.com/developers/topics/permissions#role-object-role-colors-object.
const holographic1, holographic2, holographic3 = 11127295, 16759788, 16761760

func readFields(c *call.Call, f *call.Form, g *model.GuildState, r *model.Role) error {
	before := *r
	if f.Given("name") {
		f.Text("name", 1, 100, &r.Name)
	}
	if f.Given("permissions") {
		f.Bits("permissions", &r.Permissions)
	}
	f.Boolean("hoist", &r.Hoist)
	f.Boolean("mentionable", &r.Mentionable)
	f.Integer("color", 0, maxColor, 0, &r.Color)
	if f.Given("colors") {
		readColors(f, r)
	}
	if err := f.Err(); err != nil {
		return err
	}
	if r.Secondary != nil && !g.Feature("ENHANCED_ROLE_COLORS") {
		return call.ErrBoosts // the error code is a guess
	}
	if f.Given("permissions") && !g.GuildPermissions(c.Bot.UserID).Has(r.Permissions&^before.Permissions) {
		return call.ErrPermissions
	}
	return nil
}

func readColors(f *call.Form, r *model.Role) {
	colors := f.Sub("colors", f.Raw("colors"))
	if !colors.IsObject() {
		return
	}
	optional := func(key string) *int {
		if !colors.Given(key) {
			return nil
		}
		value := 0
		colors.Integer(key, 0, maxColor, 0, &value)
		return &value
	}
	r.Color = 0
	colors.Integer("primary_color", 0, maxColor, 0, &r.Color)
	r.Secondary, r.Tertiary = optional("secondary_color"), optional("tertiary_color")
	if r.Tertiary != nil && (r.Color != holographic1 || r.Secondary == nil || *r.Secondary != holographic2 ||
		*r.Tertiary != holographic3) {
		colors.Fail("tertiary_color", "BASE_TYPE_CHOICES", "Value must be one of {"+strconv.Itoa(holographic3)+"}.")
	}
}
