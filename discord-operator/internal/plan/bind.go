// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"strconv"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// bind finds what an object has on Discord: what its status or its spec names, or, in a second turn, what has
// its name. A resource is one object's alone.
func (w *world) bind(s *step, named bool) {
	if s.guild == nil || len(s.issues) > 0 {
		return
	}
	known := *idOf(s.object)
	byName := known == "" && s.kind.Identity(s.object).Adopt == nil
	if byName != named {
		return
	}
	if byName {
		if known = w.named(s); known != "" {
			w.byName = append(w.byName, title(s.object))
		}
	}
	binding, err := s.kind.Locate(w.snap, s.binding.Lookup, known)
	id := ""
	switch {
	case binding.Channel != nil:
		id = binding.Channel.ID
	case binding.Role != nil:
		id = binding.Role.ID
	}
	if other := w.taken[id]; err == nil && id != "" && other != "" && !status.Observed(s.object) {
		err = conditions.Degraded(v1alpha1.ReasonConflict, "%s on Discord is that of %s too. Delete one of the two.",
			id, other)
	}
	if err != nil {
		s.issues = conditions.Of(err)
		return
	}
	s.binding = binding
	w.assign(s, id)
	s.binding.Identity = s.kind.Identity(s.object)
}

// assign records what an object has on Discord, in its status too, where others look for it.
func (w *world) assign(s *step, id string) {
	*idOf(s.object) = id
	if w.before != nil && !s.removed && w.before.all[keyOf(s.object)] != nil {
		*idOf(w.before.all[keyOf(s.object)]) = id // what is removed may be in it
	}
	switch o := s.object.(type) {
	case *v1alpha1.DiscordRole:
		o.Status.ServerID = w.serverID
	case *v1alpha1.DiscordGroup:
		o.Status.ServerID = w.serverID
	case *v1alpha1.DiscordChannel:
		o.Status.ServerID, o.Status.GroupID = w.serverID, s.binding.ParentID
	}
	if id != "" && !status.Observed(s.object) {
		w.taken[id] = title(s.object)
	}
}

// named is the id of what has the name of an object. Where it is known what was applied before, only an object
// of that has something, under the name that it had.
func (w *world) named(s *step) string {
	lookup, of := s.binding.Lookup, s.object
	if w.before != nil && !s.removed {
		if of = w.before.all[keyOf(s.object)]; of == nil {
			return ""
		}
		if c, ok := of.(*v1alpha1.DiscordChannel); ok {
			lookup.ParentID = w.parentBefore(c)
		}
	}
	return s.kind.Named(w.snapshot, lookup, s.kind.Identity(of).Name, w.taken)
}

// parentBefore is the id of the category that a channel was in; empty for none.
func (w *world) parentBefore(c *v1alpha1.DiscordChannel) string {
	if c.Spec.GroupRef == nil {
		return ""
	}
	k := key{"DiscordGroup", c.Spec.GroupRef.In(c.Namespace)}
	for _, set := range []*objects{w.after, w.before} {
		if g := set.all[k]; g != nil {
			return *idOf(g)
		}
	}
	return ""
}

// simulate adds to the state what a plan would create, so that what refers to it can be planned. It has an id
// that is newer than all of Discord's.
func (w *world) simulate(s *step) {
	w.made++
	id := strconv.FormatUint(math.MaxUint64-1_000_000+w.made, 10)
	switch in, as := s.plan.Create, s.plan.CreateRole; {
	case in != nil:
		made := &discordclient.Channel{
			ID: id, GuildID: w.serverID, Name: in.Name, Type: in.Type, ParentID: in.ParentID, Overwrites: in.Overwrites,
			Position: w.lastPlace(),
		}
		if in.Position != nil {
			made.Position = *in.Position
		}
		w.snap = w.snap.With([]*discordclient.Channel{made}, nil)
	case as != nil:
		w.snap = w.snap.With(nil, []discordclient.Role{{ID: id, Name: as.Name, Position: 1}})
	default:
		if name, ok := s.plan.EditRole.Name.Get(); ok {
			renamed := *s.binding.Role
			renamed.Name = name
			w.snap = w.snap.With(nil, []discordclient.Role{renamed})
		}
		return
	}
	w.assign(s, id)
}

// lastPlace is where Discord puts a channel that asks for no place.
func (w *world) lastPlace() (last int) {
	for _, c := range w.snap.All() {
		last = max(last, c.Position+1)
	}
	return last
}

// title names an object for users.
func title(o status.Object) string {
	if o.GetNamespace() == "" {
		return kindOf(o) + " " + o.GetName()
	}
	return kindOf(o) + " " + o.GetNamespace() + "/" + o.GetName()
}

// differences are what a step would change on Discord, with all others done.
func (w *world) differences(s *step) []external.Difference {
	switch {
	case s.removed:
		return deletion(s.plan.Delete)
	case s.kind == nil:
		return external.Changes(s.plan.Changes, w.snap)
	case s.guild == nil || s.binding.Channel == nil && s.binding.Role == nil && !s.binding.Absent,
		status.Paused(s.object):
		return nil
	}
	if s.plan.Position != nil {
		s.plan.Position = w.position(s)
	}
	if s.plan.Low != nil {
		s.plan.Low = w.low(s)
	}
	return append(s.plan.Differences(*s.kind, s.binding, w.snap), s.further...)
}

// deletion is what a deletion deletes on Discord, if anything.
func deletion(d *external.Deletion) []external.Difference {
	switch {
	case d == nil || d.Channel+d.Role+d.Guild+d.Webhook == "":
		return nil
	case d.Webhook != "":
		return []external.Difference{{Action: external.ActionDelete, Field: "webhook", To: d.Webhook}}
	}
	return []external.Difference{{Action: external.ActionDelete}}
}
