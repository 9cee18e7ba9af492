// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
)

func statusOf(
	g *v1alpha1.DiscordGroup, s State, results lifecycle.Results, worst *conditions.Issue,
) v1alpha1.DiscordGroupStatus {
	next := *g.Status.DeepCopy()
	next.ObservedGeneration = g.Generation
	if s.Guild != nil || !status.Observed(g) {
		next.Differences = lifecycle.FormatDifferences(results.Differences)
	}
	next.Observed = Kind.Released(g, results)
	if s.Names.Observed {
		next.Roles, _ = s.Names.Resolve(g.Spec.PermissionOverwrites, s.Guild.Snapshot)
	}
	available := conditions.Unusable(v1alpha1.ReasonNotOnDiscord, "The category does not exist on Discord.")
	switch {
	case s.Binding.HiddenID != "":
		next.GroupID, next.ServerID = s.Binding.HiddenID, s.Guild.ID
		available = conditions.Unusable(v1alpha1.ReasonNotManageable, "The category is hidden from the bot.")
	case results.Live != nil:
		next.GroupID, next.ServerID = results.Live.GetID(), s.Guild.ID
		next.Matched = s.Binding.Guessed && !results.Created
		next.Adopted = s.Binding.IsAdopted(results)
		available = conditions.Usable(v1alpha1.ReasonOnDiscord, "The category exists on Discord.")
	case s.Guild == nil:
		available = status.Available(g.Status.Conditions, available)
	}
	conditions.Set(&next.Conditions, g.Generation, available, worst)
	return next
}

func (r *Reconciler) updateStatus(
	ctx context.Context, g *v1alpha1.DiscordGroup, s State, results lifecycle.Results,
) (reconcile.Result, error) {
	worst, after := issues.Worst(results.Issues), g.DeepCopy()
	after.Status = statusOf(g, s, results, worst)
	return r.UpdateStatus(ctx, "group "+strconv.Quote(g.Spec.Name), g, after, &results, worst)
}
