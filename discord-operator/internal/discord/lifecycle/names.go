// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// RoleNames observe which roles the names in overwrites may stand for.
type RoleNames struct {
	Cache client.Reader
	// Records of the DiscordRoles; nil for none.
	Records *Records
	Clock   clock.PassiveClock
}

// named is an object whose status records the roles that names in its spec stand for.
type named interface {
	status.Object
	GetRoles() []v1alpha1.ResolvedRole
	SetRoles(now []v1alpha1.ResolvedRole)
}

// Observe returns what decides which roles the names of an object's overwrites stand for, in a server. The
// snapshot must be older than the call: a role in it is then that of a DiscordRole that the cache has.
func (r *RoleNames) Observe(
	ctx context.Context, o named, spec []v1alpha1.PermissionOverwrite, server types.NamespacedName,
	snap *guildcache.Snapshot,
) (names overwrites.Names, err error) {
	names.Recorded = slices.Clone(o.GetRoles())
	if overwrites.Unrecorded(spec, names.Recorded, snap) {
		var roles v1alpha1.DiscordRoleList
		if err := index.List(ctx, r.Cache, &roles, "", "", ""); err != nil {
			return names, err
		}
		names.Others = overwrites.OthersOf(roles.Items, server, o.GetNamespace(), r.held, r.Clock.Now())
	}
	names.Observed = true
	return names, nil
}

// held returns the id of the role that this process knows a DiscordRole to have; empty for none.
func (r *RoleNames) held(uid types.UID) string {
	if r.Records == nil {
		return ""
	}
	return r.Records.Of(uid).ID
}

// recordRoles records which roles the names of a spec stand for, before overwrites for them are written: a
// restart must not find others.
func (r *Resources) recordRoles(ctx context.Context, b Binding, plan Plan) error {
	o, ok := b.Object.(named)
	if !ok || equality.Semantic.DeepEqual(o.GetRoles(), plan.Roles) {
		return nil
	}
	before := o.DeepCopyObject().(status.Object)
	o.SetRoles(plan.Roles)
	return r.Status.Record(ctx, before, o)
}
