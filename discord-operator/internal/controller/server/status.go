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
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
)

// statusOf returns the status of a server. Facts that could not be observed keep their last value.
func statusOf(
	server *v1alpha1.DiscordServer, s State, results Results, worst *conditions.Issue,
) v1alpha1.DiscordServerStatus {
	now := *server.Status.DeepCopy()
	now.ObservedGeneration = server.Generation
	if s.Bot != nil || !status.Observed(server) {
		now.Differences = lifecycle.FormatDifferences(results.Differences)
	}
	if s.Application != nil {
		now.ApplicationID, now.InviteURL = s.Application.ID, cmp.Or(s.InviteURL, now.InviteURL)
	}
	if results.GuildID != "" {
		now.ServerID = results.GuildID
	}
	switch {
	case server.Spec.Icon == nil:
		now.Icon = nil
	case results.Icon != nil:
		now.Icon = results.Icon
	}
	if guild := results.Guild; guild != nil {
		now.Name, now.OwnerID = truncated(guild.Name), guild.OwnerID
		now.Namespaces = int32(s.Namespaces)  //nolint:gosec // a cluster has fewer
		total := int32(len(s.Snapshot.All())) //nolint:gosec // Discord allows 500
		now.Channels = &v1alpha1.ChannelCount{Total: total, Limit: bot.MaxChannels}
	}
	conditions.Set(&now.Conditions, server.Generation, availability(server, results, worst), worst)
	return now
}

// maxName is the limit of the schema, in characters, for the name of a server and the hash of its
// icon. Discord allows 100. A compatible server may allow more, and the API server would refuse the
// whole status.
const maxName = 256

func truncated(name string) string {
	if utf8.RuneCountInString(name) > maxName {
		return string([]rune(name)[:maxName])
	}
	return name
}

// availability says whether groups and channels can be managed. An issue that resolves by itself
// does not change it.
func availability(server *v1alpha1.DiscordServer, results Results, worst *conditions.Issue) conditions.Availability {
	was := server.Status.Conditions
	switch available := conditions.Unusable(v1alpha1.ReasonNotManageable, "The bot cannot manage the server."); {
	case results.Guild != nil:
		return conditions.Usable(v1alpha1.ReasonOnDiscord, "The bot can manage the server.")
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
