// SPDX-License-Identifier: Apache-2.0

// Package order sorts managed siblings by the positions of their specs, and moves few others. It
// does no I/O.
//
// Discord's positions may repeat and have gaps. Discord orders siblings by position, then by id,
// and a user who drags one sibling changes many positions. So only the order of the managed
// siblings counts.
package order

import (
	"cmp"
	"slices"

	"jutsu.com/operators/libs/discordclient"
)

// Ranks maps the ids of managed siblings to their desired positions.
type Ranks map[string]int32

// Sibling is a channel, category or role with a place among others.
type Sibling struct {
	ID       string
	Position int
	Unknown  bool // Discord did not report the position
}

// InOrder reports whether siblings in Discord's order are sorted, as far as positions are known.
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

// Sorted returns the managed siblings by rank. Siblings of the same rank stay in Discord's order,
// in which they are given.
func Sorted(siblings []Sibling, ranks Ranks) []Sibling {
	sorted := managed(siblings, ranks)
	slices.SortStableFunc(sorted, func(a, b Sibling) int { return cmp.Compare(ranks[a.ID], ranks[b.ID]) })
	return sorted
}

// Moves returns the new positions that sort siblings in Discord's order; nil if they are sorted.
// Managed siblings exchange their places. An unmanaged sibling is moved only to keep its place.
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
			c, sorted = sorted[0], sorted[1:] // the next by rank gets the place and its position
		}
		last = max(position, last+1)
		if c.Position != last {
			moves = append(moves, discordclient.Move{ID: c.ID, Position: last})
		}
	}
	return moves
}

// Initial returns the position for a new sibling: its rank if that sorts it, otherwise the position
// of the sibling above. The new sibling has the highest id, so it is below others of the same
// position.
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
