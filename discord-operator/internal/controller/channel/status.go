// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/discord/tags"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// statusOf returns the status of a channel. Facts that could not be observed keep their last value.
func statusOf(
	c *v1alpha1.DiscordChannel, s State, results Results, worst *conditions.Issue,
) v1alpha1.DiscordChannelStatus {
	next := *c.Status.DeepCopy()
	next.ObservedGeneration = c.Generation
	if s.Guild != nil || !status.Observed(c) {
		next.Differences = lifecycle.FormatDifferences(results.Differences)
	}
	available := conditions.Unusable(v1alpha1.ReasonNotOnDiscord, "The channel does not exist on Discord.")
	if s.Guild == nil {
		available = status.Available(next.Conditions, available)
	} else {
		next.ServerRef = referenceTo(s.Guild.Server, c.Namespace)
	}
	next.Observed = Kind.Released(c, results.Results)
	if s.Names.Observed {
		next.Roles, _ = s.Names.Resolve(c.Spec.PermissionOverwrites, s.Guild.Snapshot)
	}
	if id := s.Binding.HiddenID; id != "" {
		next.ServerID, next.ChannelID = s.Guild.ID, id
		next.ChannelURL = s.Guild.URL + "/" + id
		available = conditions.Unusable(v1alpha1.ReasonNotManageable, "The channel is hidden from the bot.")
	}
	if live := resource.Channel(results.Live); live != nil {
		next.ServerID, next.GroupID, next.ChannelID = s.Guild.ID, live.ParentID, live.ID
		next.ChannelURL = s.Guild.URL + "/" + live.ID
		next.Matched = s.Binding.Guessed && !results.Created
		next.Adopted = s.Binding.IsAdopted(results.Results)
		if !status.Observed(c) {
			next.Webhook = webhook.Status(c, results.Webhook)
		}
		next.Tags = recordedTags(c, live)
		next.OpenTo = openTo(s, live)
		available = conditions.Usable(v1alpha1.ReasonOnDiscord, "The channel exists on Discord.")
	}
	conditions.Set(&next.Conditions, c.Generation, available, worst)
	return next
}

func recordedTags(c *v1alpha1.DiscordChannel, live *discordclient.Channel) []v1alpha1.ForumTagStatus {
	if c.Spec.Forum == nil {
		return nil
	}
	return tags.Record(c.Spec.Forum.Tags, live.Tags, c.Status.Tags)
}

func openTo(s State, live *discordclient.Channel) []string {
	category, ok := s.Guild.Snapshot.Channel(live.ParentID)
	if !ok {
		return nil
	}
	return lifecycle.Truncate(overwrites.OpenTo(live, category, s.Guild.Snapshot))
}

func referenceTo(server *v1alpha1.DiscordServer, from string) *v1alpha1.ServerReference {
	ref := v1alpha1.ServerReference{Name: server.Name}
	if server.Namespace != from {
		ref.Namespace = server.Namespace
	}
	return &ref
}

func (r *Reconciler) updateStatus(
	ctx context.Context, c *v1alpha1.DiscordChannel, s State, results Results,
) (reconcile.Result, error) {
	worst, after := issues.Worst(results.Issues), c.DeepCopy()
	after.Status = statusOf(c, s, results, worst)
	return r.UpdateStatus(ctx, "channel #"+c.Spec.Name, c, after, &results.Results, worst)
}
