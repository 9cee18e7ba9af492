// SPDX-License-Identifier: Apache-2.0

// Package order sorts managed siblings (the channels of a category, the categories or roles of a server)
// by the positions of their specs, and moves as few other channels as possible. It is pure.
//
// Discord stores a position with each channel, neither unique nor without gaps, and shows siblings
// by position and then by id. A user who drags one channel in the client rewrites many positions.
// So positions are never compared as numbers: only the order of the managed siblings counts.
package order

import (
	"cmp"
	"slices"

	"jutsu.com/operators/libs/discordclient"
)

// Ranks are the desired positions of managed siblings, by their ids.
type Ranks map[string]int32

// Sibling is one of those that have a place among each other.
type Sibling struct {
	ID       string
	Position int
	// Unknown reports whether the server did not say which position it has.
	Unknown bool
}

// Right reports whether the siblings, given in Discord's order, are in the order of their ranks, as far
// as is known: a position that is unknown may be right.
func Right(siblings []Sibling, ranks Ranks) bool {
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

// Sorted returns the managed siblings, of those given in Discord's order, in the order of their ranks.
func Sorted(siblings []Sibling, ranks Ranks) []Sibling {
	sorted := managed(siblings, ranks)
	slices.SortStableFunc(sorted, func(a, b Sibling) int { return cmp.Compare(ranks[a.ID], ranks[b.ID]) })
	return sorted
}

// Moves returns the changes of position that sort the siblings, given in Discord's order: the
// managed ones exchange their places, and others get a new position only if the old one would not
// keep them in their place. It is nil if the order is right.
func Moves(siblings []Sibling, ranks Ranks) []discordclient.Move {
	if Right(siblings, ranks) {
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

// First returns the position with which a new sibling of a rank is created, so that in most cases
// it needs no move: its rank if that is the right place, otherwise the position of the sibling that
// it follows. A new sibling has the highest id, so it is below all with the same position.
func First(siblings []Sibling, ranks Ranks, rank int32) *int {
	above, below := -1, -1 // positions of its neighbours
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
