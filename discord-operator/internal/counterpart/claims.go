package counterpart

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Claim is an object's word that something on Discord is its counterpart.
type Claim struct {
	Name    types.NamespacedName
	UID     types.UID
	Created time.Time
	// Holds says that its status names it, and not only its spec.
	Holds bool
}

// Winner returns whose the counterpart is, of all that claim it: who has it already comes before who wants it, then the older one.
func Winner(claims []Claim) Claim {
	return slices.MinFunc(claims, func(a, b Claim) int {
		if a.Holds != b.Holds {
			if a.Holds {
				return -1
			}
			return 1
		}
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
	})
}
