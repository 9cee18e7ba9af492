package server

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// weight says how good a server's claim on its guild is.
type weight int

const (
	holds  weight = iota // it manages the guild
	wants                // it was not looked at yet, or somebody else manages the guild
	cannot               // its bot cannot manage the guild, so it must not keep others from it
)

func claim(s *v1alpha1.DiscordServer) weight {
	ready := meta.FindStatusCondition(s.Status.Conditions, conditions.TypeReady)
	switch {
	case available(s):
		return holds
	case ready == nil || ready.Reason == v1alpha1.ReasonConflict || !meta.IsStatusConditionTrue(s.Status.Conditions, conditions.TypeDegraded):
		return wants
	}
	return cannot
}

// manager returns which of several servers with the same guild manages it: the one that does already, otherwise the oldest whose bot can.
func manager(servers []v1alpha1.DiscordServer) *v1alpha1.DiscordServer {
	sorted := slices.SortedFunc(func(yield func(*v1alpha1.DiscordServer) bool) {
		for i := range servers {
			if !yield(&servers[i]) {
				return
			}
		}
	}, func(a, b *v1alpha1.DiscordServer) int {
		return cmp.Or(cmp.Compare(claim(a), claim(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	if len(sorted) == 0 {
		return nil
	}
	return sorted[0]
}

func nameOf(s *v1alpha1.DiscordServer) string { return client.ObjectKeyFromObject(s).String() }
