// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"fmt"
	"net/http"
	"slices"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

func readOverwrites(
	c *call.Call, f *call.Form, g *model.GuildState, ch *model.Channel, within model.Permissions,
) error {
	if !f.Has("permission_overwrites") {
		return nil
	}
	var list []model.Overwrite
	for i, raw := range f.List("permission_overwrites", 100) {
		sub := f.Sub(fmt.Sprintf("permission_overwrites.%d", i), raw)
		sub.Require("id")
		o := model.Overwrite{}
		sub.ID("id", &o.ID)
		readAllowDeny(sub, &o)
		if f.Err() != nil {
			continue
		}
		if err := checkOverwrite(c, g, &o, sub.Given("type")); err != nil {
			return err
		}
		list = put(list, o)
	}
	if err := f.Err(); err != nil {
		return err
	}
	if err := mayOverwrite(ch.Overwrites, list, within); err != nil {
		return err
	}
	ch.Overwrites = list
	return nil
}

func readAllowDeny(f *call.Form, o *model.Overwrite) {
	kind := string(f.Raw("type"))
	if kind == `"role"` || kind == `"member"` { // values of API v6, which Discord still accepts
		o.Type = map[string]int{`"role"`: 0, `"member"`: 1}[kind]
	} else {
		f.Choice("type", 0, &o.Type, 0, 1)
	}
	f.Bits("allow", &o.Allow)
	f.Bits("deny", &o.Deny)
}

// checkOverwrite requires an existing role or user, and sets a missing type. The error is a guess.
func checkOverwrite(c *call.Call, g *model.GuildState, o *model.Overwrite, typed bool) error {
	isRole, isUser := g.Role(o.ID) != nil, c.Discord.Users[o.ID] != nil
	if !typed && isUser {
		o.Type = 1
	}
	if o.Type == 0 && !isRole || o.Type == 1 && !isUser {
		return call.ErrUnknownOverwrite
	}
	o.Allow &^= o.Deny // a permission both allowed and denied is denied (not documented)
	return nil
}

// mayOverwrite refuses a change of a permission that is not in `within`, and any change of
// MANAGE_ROLES, unless `within` is PermAll. Discord documents this only for grants. For removals,
// it is a guess.
func mayOverwrite(from, to []model.Overwrite, within model.Permissions) error {
	if within.Has(model.PermAll) {
		return nil
	}
	var touched model.Permissions
	for _, o := range to {
		i := slices.IndexFunc(from, func(x model.Overwrite) bool { return x.ID == o.ID })
		old := model.Overwrite{}
		if i >= 0 {
			old = from[i]
		}
		touched |= o.Allow ^ old.Allow | o.Deny ^ old.Deny
	}
	for _, old := range from {
		if !slices.ContainsFunc(to, func(x model.Overwrite) bool { return x.ID == old.ID }) {
			touched |= old.Allow | old.Deny
		}
	}
	if touched&model.PermManageRoles != 0 || !within.Has(touched) {
		return call.ErrPermissions
	}
	return nil
}

func put(list []model.Overwrite, o model.Overwrite) []model.Overwrite {
	if i := slices.IndexFunc(list, func(x model.Overwrite) bool { return x.ID == o.ID }); i >= 0 {
		list[i] = o
		return list
	}
	return append(list, o)
}

// mayHide refuses to hide an onboarding channel from @everyone: discord-api-docs issues 7296, 7423.
func mayHide(g *model.GuildState, id string, list []model.Overwrite) error {
	hides := func(o model.Overwrite) bool { return o.ID == g.ID && o.Deny.Has(model.PermViewChannel) }
	if slices.Contains(g.OnboardingChannelIDs, id) && slices.ContainsFunc(list, hides) {
		return call.ErrOnboarding
	}
	return nil
}

// PutOverwrite is PUT /channels/{channel_id}/permissions/{overwrite_id}.
func PutOverwrite(c *call.Call) (int, any, error) {
	g, ch, err := c.ChannelWith(model.PermManageRoles)
	if err != nil {
		return 0, nil, err
	}
	f, err := c.Object()
	if err != nil {
		return 0, nil, err
	}
	o := model.Overwrite{ID: c.Path("overwrite_id")}
	readAllowDeny(f, &o)
	if err := f.Err(); err != nil {
		return 0, nil, err
	}
	if err := checkOverwrite(c, g, &o, f.Given("type")); err != nil {
		return 0, nil, err
	}
	list := put(slices.Clone(ch.Overwrites), o)
	if len(list) > c.Options.Limits.OverwritesPerChannel {
		return 0, nil, call.LimitReached(30060, "channel permission overwrites", c.Options.Limits.OverwritesPerChannel)
	}
	action := model.AuditOverwriteUpdate
	if len(list) > len(ch.Overwrites) {
		action = model.AuditOverwriteCreate
	}
	return changeOverwrites(c, g, ch, list, action, o)
}

// DeleteOverwrite is DELETE /channels/{channel_id}/permissions/{overwrite_id}.
func DeleteOverwrite(c *call.Call) (int, any, error) {
	g, ch, err := c.ChannelWith(model.PermManageRoles)
	if err != nil {
		return 0, nil, err
	}
	i := slices.IndexFunc(ch.Overwrites, func(x model.Overwrite) bool { return x.ID == c.Path("overwrite_id") })
	if i < 0 {
		return 0, nil, call.ErrUnknownOverwrite
	}
	o := ch.Overwrites[i]
	return changeOverwrites(c, g, ch, slices.Delete(slices.Clone(ch.Overwrites), i, i+1), model.AuditOverwriteDelete, o)
}

func changeOverwrites(
	c *call.Call, g *model.GuildState, ch *model.Channel, list []model.Overwrite, action int, o model.Overwrite,
) (int, any, error) {
	// It is a guess that a permission in the guild or in the channel suffices.
	within := g.GuildPermissions(c.Bot.UserID) | g.PermissionsIn(ch, c.Bot.UserID)
	if err := mayOverwrite(ch.Overwrites, list, within); err != nil {
		return 0, nil, err
	}
	if err := mayHide(g, ch.ID, list); err != nil {
		return 0, nil, err
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	c.Discord.Log(g, model.OverwriteEntry(action, c.Bot.UserID, ch.ID, reason, o))
	after := ch.Clone()
	after.Overwrites = list
	c.Discord.ReplaceChannel(g, ch, after)
	return http.StatusNoContent, nil, nil
}
