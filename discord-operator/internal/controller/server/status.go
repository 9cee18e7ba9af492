// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
)

func statusOf(
	server *v1alpha1.DiscordServer, s State, results Results, worst *conditions.Issue,
) v1alpha1.DiscordServerStatus {
	next := *server.Status.DeepCopy()
	next.ObservedGeneration = server.Generation
	if s.Bot != nil || !status.Observed(server) {
		next.Differences = lifecycle.FormatDifferences(results.Differences)
	}
	if s.Application != nil {
		next.ApplicationID, next.InviteURL = s.Application.ID, cmp.Or(s.InviteURL, next.InviteURL)
	}
	if results.GuildID != "" {
		next.ServerID = results.GuildID
	}
	switch {
	case server.Spec.Icon == nil:
		next.Icon = nil
	case results.Icon != nil:
		next.Icon = results.Icon
	}
	if guild := results.Guild; guild != nil {
		next.Name, next.OwnerID = truncated(guild.Name), guild.OwnerID
		next.Namespaces = int32(s.Namespaces) //nolint:gosec // a cluster has fewer
		total := int32(len(s.Snapshot.All())) //nolint:gosec // Discord allows 500
		next.Channels = &v1alpha1.ChannelCount{Total: total, Limit: bot.MaxChannels}
		roles := int32(len(guild.Roles)) //nolint:gosec // Discord allows 250
		next.Roles = &v1alpha1.RoleCount{Total: roles, Limit: bot.MaxRoles}
	}
	if s.Snapshot != nil {
		if have, exact := s.Snapshot.BotPermissions(); exact {
			needed := required(server, s, managed(server))
			next.MissingPermissions = overwrites.Permissions(have.Missing(needed))
		}
	}
	conditions.Set(&next.Conditions, server.Generation, availability(server, results, worst), worst)
	return next
}

// maxName is the CRD's limit. A server that is compatible with Discord may send longer texts, and
// the API server would then refuse the whole status.
const maxName = 256

func truncated(name string) string {
	if utf8.RuneCountInString(name) > maxName {
		return string([]rune(name)[:maxName])
	}
	return name
}

// Available stays true during an issue that resolves without a user, such as a rate limit.
func availability(server *v1alpha1.DiscordServer, results Results, worst *conditions.Issue) conditions.Availability {
	was := server.Status.Conditions
	const unusable = "The operator cannot manage the server for this DiscordServer. The condition Ready says why."
	switch available := conditions.Unusable(v1alpha1.ReasonNotManageable, unusable); {
	case results.Guild != nil:
		return conditions.Usable(v1alpha1.ReasonOnDiscord, "The bot is in the server.")
	case !worst.IsDegraded() && meta.IsStatusConditionTrue(was, conditions.TypeAvailable):
		return status.Available(was, available)
	default:
		return available
	}
}

func (r *Reconciler) updateStatus(
	ctx context.Context, server *v1alpha1.DiscordServer, s State, results Results,
) (reconcile.Result, error) {
	worst, after := issues.Worst(results.Issues), server.DeepCopy()
	after.Status = statusOf(server, s, results, worst)
	return r.Status.Update(ctx, status.Report{
		Name: "server", Before: server, After: after,
		Changed: results.Changed, Worst: worst, Stale: results.Stale,
	})
}
