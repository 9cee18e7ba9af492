package external

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

// Claim is an object's word that something on Discord is its external.
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

// Claimed returns the ids that an object claims: what it has by its status, and what its spec adopts.
func Claimed(statusID string, adopt *v1alpha1.Adoption) []string {
	ids := []string{statusID}
	if adopt != nil {
		ids = append(ids, adopt.ID)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

// Retained reports whether a counterpart stays when its object is deleted. By default, one that was adopted does, but not one that was created
// in its stead after somebody had deleted it on Discord.
func Retained(policy v1alpha1.DeletionPolicy, adopt *v1alpha1.Adoption, statusID string) bool {
	if policy != "" {
		return policy == v1alpha1.DeletionPolicyRetain
	}
	return adopt != nil && (statusID == "" || statusID == adopt.ID)
}
