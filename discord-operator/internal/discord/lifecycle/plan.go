// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Plan lists the calls by which the resource of an object comes to match its spec. It is a
// value: made by pure functions, and read only after that.
type Plan struct {
	// Create is the resource to create; nil for none.
	Create resource.Create
	// Edit changes the Fields of the one that exists.
	Edit   resource.Edit
	Fields []string
	// Changes of the create or the edit, also where an issue keeps it from being sent.
	Changes []resource.Change
	// Roles resolve the names in the spec's overwrites. The status records them.
	Roles []v1alpha1.ResolvedRole
	// Position is its place among its siblings; nil leaves that to users.
	Position *Position
	// Bounds are places that the resource must not leave, whatever the spec says; nil for none.
	Bounds Bounds
	// Delete deletes or retains the resource of a deleted object.
	Delete *Deletion
	// NoRetention is why the resource may not be left on Discord, also not by force; nil where it may.
	NoRetention *conditions.Issue
	// Issues keep the object from matching its spec, whatever else is done.
	Issues []conditions.Issue
}

// Bounds are places that a resource must not leave.
type Bounds interface {
	// Holds reports whether a resource and its siblings are in their places.
	Holds(snap *guildcache.Snapshot, id string) bool
	// Ranks returns the ranks of siblings that put them there.
	Ranks(snap *guildcache.Snapshot, id string) order.Ranks
	// Place names the places for users.
	Place() string
}

// Position is a desired place among siblings.
type Position struct {
	Rank int32
	// Ranks of the siblings that have one, by their ids.
	Ranks order.Ranks
	// Early says that a sibling is about to be created. A new role has no position of its own, so the
	// last one puts all into order.
	Early bool
}

// Pending reports whether something is to be changed on Discord, besides the place among siblings, which
// changes with theirs.
func (p *Plan) Pending() bool { return p.Create != nil || len(p.Fields) > 0 }

// First is the position with which a new sibling is created, so that in most cases it needs no
// move.
func (p *Position) First(siblings []order.Sibling) *int {
	return order.First(siblings, p.Ranks, p.Rank)
}

// Report adds an issue and reports whether there was one; nil is none.
func (p *Plan) Report(issue *conditions.Issue) bool {
	if issue != nil {
		p.Issues = append(p.Issues, *issue)
	}
	return issue != nil
}

// What becomes of the external resource of a deleted object.
const (
	deleted   = "deleted"
	gone      = "gone"
	abandoned = "abandoned" // left on Discord by force
	// Retained: it stays, as the deletion policy says.
	Retained = "retained"
)

// Deletion deletes or retains the resource of a deleted object.
type Deletion struct {
	// By deletes the resource with the ID; nil where nothing is deleted.
	By          resource.Deleter
	GuildID, ID string
	// How is Retained or gone; empty where something is deleted and nothing else is to be said.
	How string
	// Note is the message of an event for users; empty for none.
	Note string
}

// PlanDeletion plans what becomes of the resource of a deleted object, unless something is known that
// keeps it from being deleted.
func (k *Kind) PlanDeletion(retained bool, b Binding, known []conditions.Issue) Plan {
	var d Deletion
	waits := unretained(retained, b)
	switch {
	case len(known) > 0:
		return Plan{Issues: known, NoRetention: b.NoRetention}
	case waits != nil:
		return Plan{Issues: []conditions.Issue{*waits}, NoRetention: b.NoRetention}
	case retained && (b.NoRetention == nil || b.Guessed):
		d = Deletion{How: Retained, Note: "Retained the " + k.Noun + " on Discord."}
	case b.Mismatch != nil:
		d = Deletion{How: gone, Note: "Nothing is deleted on Discord: " + b.Mismatch.Message}
	case b.Live == nil:
		d = Deletion{How: gone}
	case b.ClaimedBy != "":
		d = Deletion{How: Retained, Note: "Retained the " + k.Noun + " on Discord, which " + b.ClaimedBy + " claims too."}
	case b.Guessed:
		d = Deletion{How: Retained, Note: "Retained " + b.Live.GetID() +
			" on Discord: it may be the result of an interrupted create, or belong to another user."}
	default:
		d = Deletion{By: k.Calls, GuildID: b.GuildID, ID: b.Live.GetID()}
	}
	return Plan{Delete: &d, NoRetention: b.NoRetention}
}
