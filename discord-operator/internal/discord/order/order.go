// SPDX-License-Identifier: Apache-2.0

// Package order sorts siblings: the channels, categories or roles with the same parent. A sibling
// is managed if its object's spec has a position. The package sorts the managed siblings by these
// positions, and moves few unmanaged siblings. It does no I/O.
//
// Discord's positions may repeat and have gaps. Discord orders siblings by position, then by id,
// and a user who drags one sibling changes many positions. So the package compares only the order
// of the managed siblings, not their positions.
package order

import (
	"cmp"
	"slices"

	"jutsu.com/operators/libs/discordclient"
)

// Ranks maps the ids of managed siblings to their desired positions.
type Ranks map[string]int32

// Sibling is a channel, category or role with a position on Discord.
type Sibling struct {
	ID       string
	Position int
	Unknown  bool // whether Discord did not report the position
}

// InOrder reports whether the managed siblings are sorted by rank. It also returns true if a
// position is unknown. The siblings must be in Discord's order.
func InOrder(siblings []Sibling, ranks Ranks) bool {
	if slices.ContainsFunc(siblings, func(s Sibling) bool { return s.Unknown }) {
		return true
	}
	return slices.IsSortedFunc(managed(siblings, ranks),
		func(a, b Sibling) int { return cmp.Compare(ranks[a.ID], ranks[b.ID]) })
}

func managed(siblings []Sibling, ranks Ranks) []Sibling {
	return slices.DeleteFunc(slices.Clone(siblings),
		func(c Sibling) bool { _, ok := ranks[c.ID]; return !ok })
}

// Sorted returns the managed siblings, sorted by rank. The siblings must be in Discord's order.
// Siblings of the same rank keep their order.
func Sorted(siblings []Sibling, ranks Ranks) []Sibling {
	sorted := managed(siblings, ranks)
	slices.SortStableFunc(sorted, func(a, b Sibling) int { return cmp.Compare(ranks[a.ID], ranks[b.ID]) })
	return sorted
}

// Moves returns the new positions that sort siblings, which must be in Discord's order; nil if they
// are sorted. Managed siblings exchange their places. An unmanaged sibling gets a new position only
// if it would otherwise lose its place.
func Moves(siblings []Sibling, ranks Ranks) []discordclient.Move {
	if InOrder(siblings, ranks) {
		return nil
	}
	sorted := Sorted(siblings, ranks)
	var moves []discordclient.Move
	last := -1
	for _, place := range siblings {
		c, position := place, place.Position
		if _, ok := ranks[place.ID]; ok {
			c, sorted = sorted[0], sorted[1:] // the next managed sibling gets this place and position
		}
		last = max(position, last+1)
		if c.Position != last {
			moves = append(moves, discordclient.Move{ID: c.ID, Position: last})
		}
	}
	return moves
}

// Initial returns the position for a new sibling. It is the rank if that position keeps the
// siblings in order, and otherwise the position of the managed sibling above. The new sibling is
// then below that sibling: Discord sorts siblings with the same position by id, and the new
// sibling has the highest id.
func Initial(siblings []Sibling, ranks Ranks, rank int32) *int {
	above, below := -1, -1 // positions of the neighbours
	for _, c := range managed(siblings, ranks) {
		switch {
		case c.Unknown:
		case ranks[c.ID] <= rank:
			above = max(above, c.Position)
		case below < 0 || c.Position < below:
			below = c.Position
		}
	}
	position := int(rank)
	if position < above || below >= 0 && position >= below {
		position = max(above, 0)
	}
	return &position
}
