// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"slices"
	"strconv"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// bindAll binds objects in this order: an object with an id in its status has precedence over an
// object with spec.adopt, which has precedence over an object that has only a name.
const (
	byStatus = iota
	byAdoption
	byName
	orders
)

func (s *step) order() int {
	switch {
	case *idOf(s.object) != "":
		return byStatus
	case s.kind.Identity(s.object).Adopt != nil:
		return byAdoption
	}
	return byName
}

func (w *world) bindAll(steps []*step) {
	of := make([][]*step, orders)
	for _, s := range steps {
		if s.guild != nil && len(s.issues) == 0 {
			of[s.order()] = append(of[s.order()], s)
		}
	}
	for _, s := range slices.Concat(of...) {
		w.bind(s)
	}
}

// With --before, bind does not search by name for a new object: the operator creates its resource.
func (w *world) bind(s *step) {
	known := *idOf(s.object)
	s.named = s.order() == byName
	if s.named && (w.before == nil || s.from == w.before) {
		known = s.kind.FindByName(w.snap, s.binding.Lookup, s.kind.Identity(s.object).Name, w.taken)
		if known != "" && w.before == nil {
			w.byName = append(w.byName, title(s.object))
		}
	}
	binding, err := s.kind.Locate(w.snap, s.binding.Lookup, known)
	id := ""
	if binding.Live != nil {
		id = binding.Live.GetID()
	}
	if holder := w.taken[id]; err == nil && holder != nil && !s.removed && !status.Observed(s.object) {
		err = conflict(s, id, holder)
	}
	if err != nil {
		s.issues = conditions.Of(err)
		return
	}
	s.binding = binding
	w.assign(s, id)
	s.binding.Identity = s.kind.Identity(s.object)
}

// conflict never advises a user to delete an object: the operator could delete the resource too.
func conflict(s *step, id string, holder status.Object) *conditions.Issue {
	field, noun := "status", s.kind.Noun
	remedy := "Remove the status from the manifest of this object"
	if s.kind.Identity(s.object).Adopt != nil {
		field = "spec.adopt"
		remedy = "Name another " + noun + " in spec.adopt. Or remove spec.adopt, so that the operator creates a new " + noun +
			". If the API server refuses this change, make it in a new object"
	}
	observe := ""
	if holder.GetNamespace() == s.object.GetNamespace() {
		observe = " To only compare this object with Discord, set spec.managementPolicy to Observe."
	}
	return conditions.Degraded(v1alpha1.ReasonConflict,
		"The %s of this object names the %s %s on Discord, but %s manages this %[2]s. %[5]s.%[6]s",
		field, noun, id, title(holder), remedy, observe)
}

// assign writes a resource's id into the object's status, for the plans of other objects.
func (w *world) assign(s *step, id string) {
	*idOf(s.object) = id
	switch o := s.object.(type) {
	case *v1alpha1.DiscordRole:
		o.Status.ServerID = w.serverID
	case *v1alpha1.DiscordGroup:
		o.Status.ServerID = w.serverID
	case *v1alpha1.DiscordChannel:
		o.Status.ServerID, o.Status.GroupID = w.serverID, s.binding.ParentID
	}
	if id != "" && !status.Observed(s.object) {
		w.taken[id] = s.object
	}
}

// simulate adds a planned create (with the highest id) or a new role name to the snapshot.
func (w *world) simulate(s *step) {
	w.made++
	id := strconv.FormatUint(math.MaxUint64-1_000_000+w.made, 10)
	switch in := s.plan.Create.(type) {
	case *resource.ChannelCreate:
		made := &discordclient.Channel{
			ID: id, GuildID: w.serverID, Name: in.Name, Type: in.Type, ParentID: in.ParentID, Overwrites: in.Overwrites,
			Position: w.lastPlace(),
		}
		if in.Position != nil {
			made.Position = *in.Position
		}
		w.add([]*discordclient.Channel{made}, nil)
	case *resource.RoleCreate:
		w.add(nil, []discordclient.Role{{ID: id, Name: in.Name, Position: 1}})
	default:
		if edit, ok := s.plan.Edit.(resource.RoleEdit); ok {
			if name, ok := edit.Name.Get(); ok {
				renamed := *resource.Role(s.binding.Live)
				renamed.Name = name
				w.add(nil, []discordclient.Role{renamed})
			}
		}
		return
	}
	w.assign(s, id)
}

func (w *world) add(channels []*discordclient.Channel, roles []discordclient.Role) {
	w.snap, w.withDeleted = w.snap.With(channels, roles), w.withDeleted.With(channels, roles)
}

func (w *world) lastPlace() (last int) {
	for _, c := range w.snap.All() {
		last = max(last, c.Position+1)
	}
	return last
}

func title(o status.Object) string {
	if o.GetNamespace() == "" {
		return kindOf(o) + " " + o.GetName()
	}
	return kindOf(o) + " " + o.GetNamespace() + "/" + o.GetName()
}

// enforcements returns the differences of [step.enforced].
func (w *world) enforcements(s *step) []resource.Difference {
	if s.enforced.Bounds == nil {
		return nil
	}
	s.enforced.Bounds = w.lowPlaces(s)
	if len(s.enforced.Fields) == 0 && s.enforced.Bounds.Holds(w.snap, s.binding.Live.GetID()) {
		return nil
	}
	return s.enforced.Differences(*s.kind, s.binding, w.snap, w.withDeleted)
}

func (w *world) differences(s *step) []resource.Difference {
	switch {
	case s.removed:
		return deletion(s.object, s.plan.Delete)
	case s.kind == nil:
		return resource.Changes(s.plan.Changes, w.withDeleted)
	case s.guild == nil || s.binding.Live == nil && !s.binding.Absent,
		status.Paused(s.object):
		return nil
	}
	if s.plan.Position != nil {
		s.plan.Position = w.position(s)
	}
	switch {
	case s.enforced.Bounds != nil: // enforcements has the move
		s.plan.Bounds = nil
	case s.plan.Bounds != nil:
		s.plan.Bounds = w.lowPlaces(s)
	}
	return append(s.plan.Differences(*s.kind, s.binding, w.snap, w.withDeleted), s.further...)
}
