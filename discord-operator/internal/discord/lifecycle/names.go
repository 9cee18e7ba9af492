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

// RoleNames resolves the role names in overwrites.
type RoleNames struct {
	Cache   client.Reader
	Records *Records // the Records of the DiscordRoles; may be nil
	Clock   clock.PassiveClock
}

type resolvesRoles interface {
	status.Object
	GetRoles() []v1alpha1.ResolvedRole
	SetRoles(roles []v1alpha1.ResolvedRole)
}

// Observe returns the input for resolving role names. It reads the DiscordRoles from the cache after
// snap was taken, so it finds the DiscordRole of each role that the operator has created in snap.
func (r *RoleNames) Observe(
	ctx context.Context, o resolvesRoles, spec []v1alpha1.PermissionOverwrite, server types.NamespacedName,
	snap *guildcache.Snapshot,
) (names overwrites.Names, err error) {
	names.Recorded = slices.Clone(o.GetRoles())
	if overwrites.Unrecorded(spec, names.Recorded, snap) {
		var roles v1alpha1.DiscordRoleList
		if err := index.List(ctx, r.Cache, &roles, "", "", ""); err != nil {
			return names, err
		}
		names.Others = overwrites.OthersOf(roles.Items, server, o.GetNamespace(), r.boundRole, r.Clock.Now())
	}
	names.Observed = true
	return names, nil
}

func (r *RoleNames) boundRole(uid types.UID) string {
	if r.Records == nil {
		return ""
	}
	return r.Records.Of(uid).ID
}

// recordRoles writes the resolved roles into the status before the overwrites are sent, because the
// names may mean other roles later.
func (r *Resources) recordRoles(ctx context.Context, b Binding, plan Plan) error {
	o, ok := b.Object.(resolvesRoles)
	if !ok || equality.Semantic.DeepEqual(o.GetRoles(), plan.Roles) {
		return nil
	}
	before := o.DeepCopyObject().(status.Object)
	o.SetRoles(plan.Roles)
	return r.Status.Record(ctx, before, o)
}
