// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Plan lists the calls that make a resource match its object's spec.
type Plan struct {
	Create      resource.Create
	Edit        resource.Edit // changes Fields
	Fields      []string
	Changes     []resource.Change       // changes that Create or Edit would make, even if blocked
	Roles       []v1alpha1.ResolvedRole // the roles behind the names in overwrites, for the status
	Position    *Position               // desired place; nil if users order the siblings
	Bounds      Bounds                  // limits of the place, whatever the spec says; may be nil
	Delete      *Deletion
	NoRetention *conditions.Issue // why not even the force-delete annotation may retain the resource; nil if it may
	Issues      []conditions.Issue
}

// Bounds restrict the place of a resource among its siblings.
type Bounds interface {
	Holds(snap *guildcache.Snapshot, id string) bool
	Ranks(snap *guildcache.Snapshot, id string) order.Ranks // ranks that restore the bounds
	Place() string                                          // describes the place for users
}

// Position is a desired place among siblings.
type Position struct {
	Rank  int32
	Ranks order.Ranks // ranks of the siblings with a desired position, keyed by id
	// AwaitsSiblings means that another new DiscordRole with a position has no role on Discord yet,
	// and is not being deleted. A later reconcile then sorts the roles, because Discord puts each new
	// role at the bottom.
	AwaitsSiblings bool
}

// Pending reports whether the plan changes the resource, apart from its place.
func (p *Plan) Pending() bool { return p.Create != nil || len(p.Fields) > 0 }

// Initial returns the position for a create, so that the resource seldom needs a move.
func (p *Position) Initial(siblings []order.Sibling) *int {
	return order.Initial(siblings, p.Ranks, p.Rank)
}

// Report adds an issue and reports whether it is not nil.
func (p *Plan) Report(issue *conditions.Issue) bool {
	if issue != nil {
		p.Issues = append(p.Issues, *issue)
	}
	return issue != nil
}

// Results of a deletion, for metrics.
const (
	deleted   = "deleted"
	gone      = "gone"
	abandoned = "abandoned" // by the force-delete annotation, the resource stays on Discord
	// Retained means that the resource stays on Discord: the policy says so, another object claims
	// it, or no proof shows that this object created it.
	Retained = "retained"
)

// Deletion deletes or retains the resource of a deleted object.
type Deletion struct {
	By          resource.Deleter // deletes ID; nil if nothing is deleted
	GuildID, ID string
	How         string // Retained or gone; empty if By determines the result
	Note        string // message of an event; empty for none
}

// PlanDeletion plans the deletion of an object's resource. Any issue in known blocks the deletion.
func (k *Kind) PlanDeletion(retained bool, b Binding, known []conditions.Issue) Plan {
	var d Deletion
	waits := k.unretained(retained, b)
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
		d = Deletion{How: Retained, Note: "Retained the " + k.Noun + " on Discord, because " + b.ClaimedBy +
			" claims it too."}
	case b.Guessed:
		d = Deletion{How: Retained, Note: "Retained the " + k.Noun + " " + b.Live.GetID() +
			" on Discord, because another user may have created it."}
	default:
		d = Deletion{By: k.Calls, GuildID: b.GuildID, ID: b.Live.GetID()}
	}
	return Plan{Delete: &d, NoRetention: b.NoRetention}
}
