// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"slices"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// createRetry is when to look for a guild that was created, and for the result of a lost create.
const createRetry = time.Second

// Results are what came of a plan.
type Results struct {
	external.Results
	// GuildID is the guild's, empty while there is none that the server manages.
	GuildID string
	// Guild is as it is now; nil where it cannot be managed.
	Guild *discordclient.Guild
	// Icon is the one that was set just now; nil for none.
	Icon *v1alpha1.ServerIconStatus
}

// apply carries out the plan.
func (r *Reconciler) apply(ctx context.Context, server *v1alpha1.DiscordServer, s State, p Plan) (results Results) {
	results.Issues = slices.Clone(p.Issues)
	if p.Manageable {
		results.GuildID, results.Guild = s.GuildID, &s.Snapshot.Guild
	}
	var err error
	if p.Manageable || p.Create != "" {
		err = r.Status.EnsureFinalizer(ctx, server)
	}
	switch {
	case err != nil:
	case p.Create != "":
		err = r.create(ctx, server, s, p, &results)
	case p.Manageable:
		results.Fail(r.tokenRefused(server, r.edit(ctx, server, s, p, &results)), r.Status.Clock.Now())
		err = r.editIcon(ctx, server, s, p, &results)
	}
	results.Fail(r.tokenRefused(server, err), r.Status.Clock.Now())
	return results
}

// observed is what comes of the plan of a server that is only observed. It has the finalizer all the same,
// so that it outlives the groups, channels and roles that refer to it.
func (r *Reconciler) observed(
	ctx context.Context, server *v1alpha1.DiscordServer, s State, p Plan,
) (results Results) {
	results.Issues = slices.Clone(p.Issues)
	switch {
	case p.Create != "":
		results.Differences = []external.Difference{{Action: external.ActionCreate}}
		results.Issues = append(results.Issues, *NothingToObserve())
	case p.Manageable:
		results.GuildID, results.Guild = s.GuildID, &s.Snapshot.Guild
		results.Differences = external.Changes(p.Changes, s.Snapshot)
		results.Fail(r.Status.EnsureFinalizer(ctx, server), r.Status.Clock.Now())
	}
	return results
}

// NothingToObserve is the issue that an observed object names no server.
func NothingToObserve() *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonNothingToObserve,
		"spec.managementPolicy is Observe, so no server is created. Name one in spec.serverId.")
}

// create tries to create a guild. The finalizer records that a create may have been sent, as for
// channels.
func (r *Reconciler) create(
	ctx context.Context, server *v1alpha1.DiscordServer, s State, p Plan, results *Results,
) error {
	r.Records.Absent(server.UID)
	guild, err := s.Bot.CreateGuild(ctx, p.Create)
	switch discordclient.ClassOf(err) {
	case discordclient.ClassNone:
		r.Records.Bound(server.UID, guild.ID)
		r.Status.Bound("created")
		r.Status.Normal(server, "Created", "Created the server %q (%s) on Discord.", guild.Name, guild.ID)
		s.Bot.Guild(guild.ID) // its view is kept from now on
		results.GuildID, results.Changed = guild.ID, true
		return conditions.Progressing(v1alpha1.ReasonWaitingForDiscord,
			"The server was created. Discord has not sent its state yet.").After(createRetry)
	case discordclient.ClassDenied, discordclient.ClassGone, discordclient.ClassInvalid:
		return serverIDRequired(s)
	case discordclient.ClassUnknown:
		r.Records.Unknown(server.UID)
		return conditions.Progressing(v1alpha1.ReasonCreatePending,
			"Discord's response to the create of the server was lost. The operator looks for it before it creates another one.",
		).After(createRetry)
	default:
		return err
	}
}

// edit records a guild that the server has not had before, and changes all fields but the icon by one call.
func (r *Reconciler) edit(
	ctx context.Context, server *v1alpha1.DiscordServer, s State, p Plan, results *Results,
) error {
	if server.Status.ServerID == "" {
		results.Changed = true
		r.Records.Bound(server.UID, s.GuildID)
		how := "adopted"
		if s.Recovered {
			how = "recovered"
		}
		r.Status.Bound(how)
		r.Status.Normal(server, "Adopted", "The bot %q is a member of the server %q (%s).",
			s.Application.Name, s.Snapshot.Guild.Name, s.GuildID)
	}
	fields := slices.DeleteFunc(slices.Clone(p.Fields), func(field string) bool { return field == iconField })
	if len(fields) == 0 {
		return nil
	}
	guild, err := s.Bot.EditGuild(ctx, s.GuildID, p.Edit, external.Reason(Kind, server))
	if err != nil {
		return err
	}
	results.Guild, results.Changed = &guild, true
	before := &s.Snapshot.Guild
	changed, ignored := r.Records.Answered(server, fields, asked(p.Edit), shown(before), shown(&guild))
	if len(changed) > 0 && status.Reconciled(server) {
		r.Status.DriftCorrected(server, changed...)
	}
	if len(ignored) > 0 && guild.IsCommunity() && !before.IsCommunity() {
		return conditions.Progressing(v1alpha1.ReasonWaitingForDiscord,
			"Community is enabled. The settings that Discord has for a community server alone are set next.").After(createRetry)
	}
	return external.NotApplied(ignored)
}
