package discordtest

import (
	"net/http"
	"slices"
	"strconv"
)

// overwrite reads type, allow and deny.
func (f *form) overwrite(o *Overwrite) {
	kind := string(f.fields["type"])
	if kind == `"role"` || kind == `"member"` { // the words of API v6 are still understood
		o.Type = map[string]int{`"role"`: 0, `"member"`: 1}[kind]
	} else {
		f.choice("type", 0, &o.Type, 0, 1)
	}
	f.bits("allow", &o.Allow)
	f.bits("deny", &o.Deny)
}

// checkOverwrite asks whether the role or user is there; without a type it is looked up. (How Discord answers to one that is
// not there is a guess.)
func (s *Server) checkOverwrite(g *guild, o *Overwrite, typed bool) error {
	isRole, isUser := g.role(o.ID) != nil, s.users[o.ID] != nil
	if !typed && isUser {
		o.Type = 1
	}
	if o.Type == 0 && !isRole || o.Type == 1 && !isUser {
		return errUnknownOverwrite
	}
	o.Allow &^= o.Deny // a bit cannot be both; denial wins (not documented)
	return nil
}

// mayOverwrite asks whether the bot may go from one set of overwrites to another: it may hand out and take away only
// what it has itself, and MANAGE_ROLES only as an administrator. (Documented for what is handed out; that it holds for what
// is taken away, and that only the difference counts, are guesses.)
func (c *call) mayOverwrite(from, to []Overwrite, within Permissions) error {
	if within.Has(permAll) {
		return nil
	}
	var touched Permissions
	for _, o := range to {
		i := slices.IndexFunc(from, func(x Overwrite) bool { return x.ID == o.ID })
		old := Overwrite{}
		if i >= 0 {
			old = from[i]
		}
		touched |= o.Allow ^ old.Allow | o.Deny ^ old.Deny
	}
	for _, old := range from {
		if !slices.ContainsFunc(to, func(x Overwrite) bool { return x.ID == old.ID }) {
			touched |= old.Allow | old.Deny
		}
	}
	if touched&PermManageRoles != 0 || !within.Has(touched) {
		return errPermissions
	}
	return nil
}

// put sets one overwrite in a list.
func put(list []Overwrite, o Overwrite) []Overwrite {
	if i := slices.IndexFunc(list, func(x Overwrite) bool { return x.ID == o.ID }); i >= 0 {
		list[i] = o
		return list
	}
	return append(list, o)
}

// putOverwrite is PUT /channels/{channel_id}/permissions/{overwrite_id}.
func (c *call) putOverwrite() (int, any, error) {
	g, ch, err := c.channelWith(PermManageRoles)
	if err != nil {
		return 0, nil, err
	}
	f, err := c.object()
	if err != nil {
		return 0, nil, err
	}
	o := Overwrite{ID: c.r.PathValue("overwrite_id")}
	f.overwrite(&o)
	if err := f.err(); err != nil {
		return 0, nil, err
	}
	if err := c.srv.checkOverwrite(g, &o, f.given("type")); err != nil {
		return 0, nil, err
	}
	list := put(slices.Clone(ch.Overwrites), o)
	if len(list) > c.srv.opts.Limits.OverwritesPerChannel {
		return 0, nil, limitReached(30060, "channel permission overwrites", c.srv.opts.Limits.OverwritesPerChannel)
	}
	action := auditOverwriteUpdate
	if len(list) > len(ch.Overwrites) {
		action = auditOverwriteCreate
	}
	return c.changeOverwrites(g, ch, list, action, o)
}

// deleteOverwrite is DELETE /channels/{channel_id}/permissions/{overwrite_id}.
func (c *call) deleteOverwrite() (int, any, error) {
	g, ch, err := c.channelWith(PermManageRoles)
	if err != nil {
		return 0, nil, err
	}
	i := slices.IndexFunc(ch.Overwrites, func(x Overwrite) bool { return x.ID == c.r.PathValue("overwrite_id") })
	if i < 0 {
		return 0, nil, errUnknownOverwrite
	}
	o := ch.Overwrites[i]
	return c.changeOverwrites(g, ch, slices.Delete(slices.Clone(ch.Overwrites), i, i+1), auditOverwriteDelete, o)
}

// changeOverwrites puts a new list in place, with the audit entry for the one that changed.
func (c *call) changeOverwrites(g *guild, ch *Channel, list []Overwrite, action int, o Overwrite) (int, any, error) {
	within := g.guildPermissions(c.bot.UserID) | g.permissionsIn(ch, c.bot.UserID) // that both count is a guess
	if err := c.mayOverwrite(ch.Overwrites, list, within); err != nil {
		return 0, nil, err
	}
	reason, err := c.reason()
	if err != nil {
		return 0, nil, err
	}
	c.srv.log(g, AuditEntry{Action: action, UserID: c.bot.UserID, TargetID: ch.ID, Reason: reason,
		Changes: []Change{{Key: "allow", New: o.Allow}, {Key: "deny", New: o.Deny}},
		Options: map[string]string{"id": o.ID, "type": strconv.Itoa(o.Type)}})
	after := ch.clone()
	after.Overwrites = list
	c.srv.replaceChannel(g, ch, after)
	return http.StatusNoContent, nil, nil
}

// sameOverwrites compares two lists as sets.
func sameOverwrites(a, b []Overwrite) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(o Overwrite) bool { return !slices.Contains(b, o) })
}
