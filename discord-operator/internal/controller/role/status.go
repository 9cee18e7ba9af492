// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
)

func statusOf(
	role *v1alpha1.DiscordRole, s State, results lifecycle.Results, worst *conditions.Issue,
) v1alpha1.DiscordRoleStatus {
	next := *role.Status.DeepCopy()
	next.ObservedGeneration = role.Generation
	if s.Guild != nil || !status.Observed(role) {
		next.Differences = lifecycle.FormatDifferences(results.Differences)
	}
	next.Observed = Kind.Released(role, results)
	available := conditions.Unusable(v1alpha1.ReasonNotOnDiscord, "The role does not exist on Discord.")
	switch {
	case results.Live != nil:
		next.RoleID, next.ServerID = results.Live.GetID(), s.Guild.ID
		next.Matched = s.Binding.Guessed && !results.Created
		next.Adopted = s.Binding.IsAdopted(results)
		next.Permissions = overwrites.Permissions(resource.Role(results.Live).Permissions)
		available = conditions.Usable(v1alpha1.ReasonOnDiscord, "The role exists on Discord.")
	case s.Guild == nil:
		available = status.Available(role.Status.Conditions, available)
	}
	conditions.Set(&next.Conditions, role.Generation, available, worst)
	return next
}

func (r *Reconciler) updateStatus(
	ctx context.Context, role *v1alpha1.DiscordRole, s State, results lifecycle.Results,
) (reconcile.Result, error) {
	worst, after := issues.Worst(results.Issues), role.DeepCopy()
	after.Status = statusOf(role, s, results, worst)
	return r.UpdateStatus(ctx, "role "+strconv.Quote(role.Spec.Name), role, after, &results, worst)
}
