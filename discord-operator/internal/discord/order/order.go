// SPDX-License-Identifier: Apache-2.0

// Package order sorts channels, categories or roles with the same parent. It does no I/O. Siblings
// with a position in a spec are managed. As positions on Discord may repeat and have gaps, the
// package compares only the order of managed siblings. Ids order siblings with equal positions.
package order

import (
	"cmp"
	"slices"

	"jutsu.com/operators/libs/discordclient"
)

// Ranks maps the ids of managed siblings to their desired positions.
type Ranks map[string]int32

// Sibling is a channel, category or role. Functions need siblings in Discord's order.
type Sibling struct {
	ID       string
	Position int
	Unknown  bool // whether Discord did not report the position
}

// InOrder reports whether managed siblings are in rank order. It returns true if the position of
// any sibling is unknown.
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

// Sorted returns the managed siblings by rank. Siblings of the same rank keep their order.
func Sorted(siblings []Sibling, ranks Ranks) []Sibling {
	sorted := managed(siblings, ranks)
	slices.SortStableFunc(sorted, func(a, b Sibling) int { return cmp.Compare(ranks[a.ID], ranks[b.ID]) })
	return sorted
}

// Moves returns the new positions that sort siblings; nil if [InOrder] returns true. Managed
// siblings exchange places. Unmanaged siblings keep their places, if necessary with new positions.
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

// Initial returns a new sibling's position: rank if that keeps the order, else the position of the
// sibling above, or 0 for none. Discord sorts equal positions by id, so the new sibling, with the
// highest id, is below.
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
