// Package order puts managed siblings (the channels of a category, or the categories of a server) into the order that their specs ask
// for, and touches as few of the others as it can. It is pure.
//
// Discord stores a position with each channel, neither unique nor without gaps, and shows siblings by position and then
// by id. People who drag one channel in the client rewrite many positions. So positions are never compared as numbers: only
// whether the managed siblings stand in the order of their ranks counts.
package order

import (
	"cmp"
	"slices"
	"sync"

	"jutsu.com/operators/libs/discordclient"
)

// Ranks are the wanted positions of managed siblings, by their ids.
type Ranks map[string]int32

// Right reports whether the siblings, in the order in which Discord shows them, stand in the order of their ranks.
func Right(siblings []*discordclient.Channel, ranks Ranks) bool {
	return slices.IsSortedFunc(managed(siblings, ranks), func(a, b *discordclient.Channel) int { return cmp.Compare(ranks[a.ID], ranks[b.ID]) })
}

func managed(siblings []*discordclient.Channel, ranks Ranks) []*discordclient.Channel {
	return slices.DeleteFunc(slices.Clone(siblings), func(c *discordclient.Channel) bool { _, ok := ranks[c.ID]; return !ok })
}

// Moves returns the changes of position that put the siblings, given in the order in which Discord shows them, right: the managed ones change
// places among themselves, and others get a new number only where the old one would not keep them in their place. It is nil where all is
// right.
func Moves(siblings []*discordclient.Channel, ranks Ranks) []discordclient.ChannelMove {
	if Right(siblings, ranks) {
		return nil
	}
	sorted := managed(siblings, ranks)
	slices.SortStableFunc(sorted, func(a, b *discordclient.Channel) int { return cmp.Compare(ranks[a.ID], ranks[b.ID]) })
	var moves []discordclient.ChannelMove
	last := -1
	for _, place := range siblings {
		c, position := place, place.Position
		if _, ok := ranks[place.ID]; ok {
			c, sorted = sorted[0], sorted[1:] // whoever comes next takes the place, and its number
		}
		last = max(position, last+1)
		if c.Position != last {
			moves = append(moves, discordclient.ChannelMove{ID: c.ID, Position: discordclient.Set(last)})
		}
	}
	return moves
}

// First returns the position with which a new sibling of a rank is created, so that in most cases it needs no move: its rank itself where that
// puts it into the right place, otherwise the position of the one that it follows. Nil leaves the choice to Discord. A new sibling has the
// highest id, so it stands below all with the same position.
func First(siblings []*discordclient.Channel, ranks Ranks, rank int32) *int {
	above, below := -1, -1 // positions of the neighbours it has to stand between
	for _, c := range managed(siblings, ranks) {
		if ranks[c.ID] <= rank {
			above = max(above, c.Position)
		} else if below < 0 || c.Position < below {
			below = c.Position
		}
	}
	position := int(rank)
	if position < above || below >= 0 && position >= below {
		position = max(above, 0)
	}
	return &position
}

// Turns lets one pass at a time put siblings into order: the first that sees them wrong puts all of them right. The zero value is ready.
type Turns struct {
	busy sync.Map
}

// Take reports whether nobody else puts these siblings into order, and if so, keeps others from it until done is called.
func (t *Turns) Take(siblings string) (done func(), ok bool) {
	if _, taken := t.busy.LoadOrStore(siblings, true); taken {
		return nil, false
	}
	return func() { t.busy.Delete(siblings) }, true
}
