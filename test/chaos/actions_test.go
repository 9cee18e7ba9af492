// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func firstActions(seed uint64, n int) []string {
	s := newSequence(seed, actionKinds)
	var all []string
	for range n {
		a := s.next()
		all = append(all, a.String()+" "+uniqueWord(a.random())+" "+a.pause.String())
	}
	return all
}

func TestASeedGivesTheSameActions(t *testing.T) {
	t.Parallel()
	const n = 500
	if diff := cmp.Diff(firstActions(7, n), firstActions(7, n)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(firstActions(7, n), firstActions(8, n)) {
		t.Error("another seed gives the same actions")
	}
}

func TestEveryActionHappens(t *testing.T) {
	t.Parallel()
	s, happened := newSequence(1, actionKinds), map[string]int{}
	for range 5000 {
		a := s.next()
		happened[a.kind.name]++
		if a.slot < 0 || a.slot >= max(1, a.kind.slots) || a.pause < 0 || a.pause > pause {
			t.Fatalf("the slot or the pause of %v is out of range; pause %v", a, a.pause)
		}
	}
	for _, d := range actionKinds {
		if happened[d.name] < 10*d.weight/2 {
			t.Errorf("%s, of weight %d, has happened %d times", d.name, d.weight, happened[d.name])
		}
	}
}

func TestRunBeginsWithEveryObject(t *testing.T) {
	t.Parallel()
	s, made := newSequence(3, actionKinds), map[string]bool{}
	for range groupSlots + channelSlots + roleSlots + dojoSlots {
		made[s.next().String()] = true
	}
	for _, name := range []string{"create-group 0", "create-group 3", "create-channel 9", "create-role 5", "create-dojo 4"} {
		if !made[name] {
			t.Errorf("no %s in %v", name, made)
		}
	}
}
