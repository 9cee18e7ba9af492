// SPDX-License-Identifier: Apache-2.0

package order

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jutsu.com/operators/libs/discordclient"
)

func siblings(positions ...int) []Sibling {
	var list []Sibling
	for i, p := range positions {
		list = append(list, Sibling{ID: strconv.Itoa(100 + i), Position: p})
	}
	sortSiblings(list)
	return list
}

func TestUnknownPositions(t *testing.T) {
	t.Parallel()
	list := []Sibling{{ID: "102", Unknown: true}, {ID: "100", Position: 4}, {ID: "101", Position: 7}}
	ranks := Ranks{"100": 1, "101": 2, "102": 3}
	if !InOrder(list, ranks) || Moves(list, ranks) != nil {
		t.Errorf("moves %v for a position that is unknown", Moves(list, ranks))
	}
	if got := Initial(list, ranks, 5); *got != 7 {
		t.Errorf("a new channel is created at %d, want 7, below the known channels", *got)
	}
	list[0] = Sibling{ID: "102"}
	if InOrder(list, ranks) || Moves(list, ranks) == nil {
		t.Error("a known position is not corrected")
	}
}

func TestMoves(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		positions []int
		ranks     Ranks
		want      map[string]int
	}{
		"nothing managed":                         {[]int{3, 1, 2}, nil, nil},
		"sorted, with gaps":                       {[]int{7, 40, 90}, Ranks{"100": 0, "101": 1, "102": 2}, nil},
		"sorted by id, equal positions":           {[]int{0, 0, 0}, Ranks{"100": 0, "101": 1, "102": 2}, nil},
		"equal ranks in any order":                {[]int{2, 1, 0}, Ranks{"100": 5, "101": 5, "102": 5}, nil},
		"ignores an unmanaged sibling in between": {[]int{0, 1, 2}, Ranks{"100": 3, "102": 9}, nil},
		"exchanges two managed siblings": {[]int{0, 1, 2}, Ranks{"100": 2, "102": 1},
			map[string]int{"100": 2, "102": 0}},
		"keeps the position of an unmanaged sibling": {[]int{0, 5, 9}, Ranks{"100": 1, "102": 0},
			map[string]int{"100": 9, "102": 0}},
		"splits equal positions": {[]int{0, 0}, Ranks{"100": 1, "101": 0}, map[string]int{"100": 1}},
		"moves an unmanaged sibling, so that it keeps its place": {[]int{0, 0, 0}, Ranks{"100": 1, "102": 0},
			map[string]int{"101": 1, "100": 2}},
		"moves a new sibling to the top": {[]int{0, 1, 0}, Ranks{"100": 1, "101": 2, "102": 0},
			map[string]int{"100": 1, "101": 2}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got map[string]int
			for _, m := range Moves(siblings(c.positions...), c.ranks) {
				if got == nil {
					got = map[string]int{}
				}
				got[m.ID] = m.Position
			}
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// One request sorts the managed siblings and keeps the order of the unmanaged siblings.
func TestMovesSort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := siblings(rapid.SliceOfN(rapid.IntRange(0, 6), 0, 12).Draw(t, "positions")...)
		ranks := drawRanks(t, before)
		after := apply(before, Moves(before, ranks))
		if !InOrder(after, ranks) || Moves(after, ranks) != nil {
			t.Fatalf("not right after one call: %v", ids(after))
		}
		others := func(list []Sibling) []string {
			return slices.DeleteFunc(ids(list), func(id string) bool { _, ok := ranks[id]; return ok })
		}
		if diff := gocmp.Diff(others(before), others(after)); diff != "" {
			t.Fatalf("others have changed places: %s", diff)
		}
	})
}

func TestCreatedInAnyOrderNeedsNoMove(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var list []Sibling
		ranks := Ranks{}
		for i, rank := range rapid.Permutation([]int32{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "ranks") {
			c := Sibling{ID: strconv.Itoa(100 + i), Position: *Initial(list, ranks, rank)}
			ranks[c.ID] = rank
			list = append(list, c)
			sortSiblings(list)
		}
		if !InOrder(list, ranks) {
			t.Fatalf("%v", ids(list))
		}
	})
}

func TestInitialFollowsThePredecessor(t *testing.T) {
	t.Parallel()
	list := siblings(10, 20, 30)
	for rank, want := range map[int32]int{0: 0, 1: 10, 2: 20, 25: 25, 99: 99} {
		if got := *Initial(list, Ranks{"100": 1, "101": 2, "102": 30}, rank); got != want {
			t.Errorf("rank %d gets position %d, want %d", rank, got, want)
		}
	}
}

func drawRanks(t *rapid.T, list []Sibling) Ranks {
	ranks := Ranks{}
	for _, c := range list {
		if rapid.Bool().Draw(t, "managed") {
			ranks[c.ID] = rapid.Int32Range(0, 4).Draw(t, "rank")
		}
	}
	return ranks
}

func apply(list []Sibling, moves []discordclient.Move) []Sibling {
	var after []Sibling
	for _, c := range list {
		moved := c
		for _, m := range moves {
			if m.ID == c.ID {
				moved.Position = m.Position
			}
		}
		after = append(after, moved)
	}
	sortSiblings(after)
	return after
}

func sortSiblings(list []Sibling) {
	slices.SortFunc(list, func(a, b Sibling) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), discordclient.CompareIDs(a.ID, b.ID))
	})
}

func ids(list []Sibling) []string {
	var all []string
	for _, c := range list {
		all = append(all, c.ID)
	}
	return all
}
