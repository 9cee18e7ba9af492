// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"slices"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// communityRetry is the delay between enabling Community and the next edit, which sets the settings
// that Discord accepts only in a community server.
const communityRetry = time.Second

// Results reports the changes of a reconcile to the guild.
type Results struct {
	lifecycle.Results
	GuildID string                     // empty until the server manages a guild
	Guild   *discordclient.Guild       // nil if the guild cannot be managed
	Icon    *v1alpha1.ServerIconStatus // the icon that this reconcile has set; nil for none
}

func (r *Reconciler) apply(ctx context.Context, server *v1alpha1.DiscordServer, s State, p Plan) (results Results) {
	results.Issues = slices.Clone(p.Issues)
	if !p.Manageable {
		return results
	}
	results.GuildID, results.Guild = s.GuildID, &s.Snapshot.Guild
	err := r.Status.EnsureFinalizer(ctx, server)
	if err == nil {
		results.Fail(r.tokenRefused(server, r.edit(ctx, server, s, p, &results)), r.Status.Clock.Now())
		err = r.editIcon(ctx, server, s, p, &results)
	}
	results.Fail(r.tokenRefused(server, err), r.Status.Clock.Now())
	return results
}

// observed stores the finalizer although it changes nothing on Discord, so that the DiscordServer
// exists while objects refer to it.
func (r *Reconciler) observed(
	ctx context.Context, server *v1alpha1.DiscordServer, s State, p Plan,
) (results Results) {
	results.Issues = slices.Clone(p.Issues)
	if p.Manageable {
		results.GuildID, results.Guild = s.GuildID, &s.Snapshot.Guild
		results.Differences = resource.Changes(p.Changes, s.Snapshot)
		results.Fail(r.Status.EnsureFinalizer(ctx, server), r.Status.Clock.Now())
	}
	return results
}

// paused changes nothing. A guild that the server managed before the pause stays available, because
// the channels of a paused server are not paused.
func paused(server *v1alpha1.DiscordServer, s State, p Plan) (results Results) {
	results.Issues = slices.Concat(status.PausedIssue(server, len(p.Fields) > 0), p.Issues)
	if p.Manageable && server.Status.ServerID == s.GuildID {
		results.GuildID, results.Guild = s.GuildID, &s.Snapshot.Guild
	}
	return results
}

func (r *Reconciler) edit(
	ctx context.Context, server *v1alpha1.DiscordServer, s State, p Plan, results *Results,
) error {
	if server.Status.ServerID == "" {
		results.Changed = true
		r.Status.Bound("adopted")
		r.Status.Normal(server, "Adopted", "The bot %q is a member of the server %q (%s).",
			s.Application.Name, s.Snapshot.Guild.Name, s.GuildID)
	}
	edited := slices.DeleteFunc(slices.Clone(p.Fields), func(field string) bool { return field == iconField })
	if len(edited) == 0 {
		return nil
	}
	guild, err := s.Bot.EditGuild(ctx, s.GuildID, p.Edit, lifecycle.Reason(Kind, server))
	if err != nil {
		return err
	}
	results.Guild, results.Changed = &guild, true
	before := &s.Snapshot.Guild
	changed, ignored := r.Records.Answered(server, Rows, edited,
		editWithCommunity(p.Edit), guildWithCommunity(before), guildWithCommunity(&guild))
	if len(changed) > 0 && status.Reconciled(server) {
		r.Status.DriftCorrected(server, changed...)
	}
	if len(ignored) > 0 && guild.IsCommunity() && !before.IsCommunity() {
		return conditions.Progressing(v1alpha1.ReasonWaitingForDiscord,
			"Community is enabled. Next, the operator sets the settings that only a community server has.",
		).After(communityRetry)
	}
	return resource.NotApplied(ignored)
}

// Discord accepts no reason for the audit log when a bot deletes a guild.
type deleter struct{}

func (deleter) Delete(ctx context.Context, api *guildcache.Client, _, id, _ string) error {
	return api.DeleteGuild(ctx, id)
}
