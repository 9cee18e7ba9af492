package server

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// maxChannels is how many channels and categories Discord allows in a server.
// Source: https://discord.com/developers/docs/topics/opcodes-and-status-codes, code 30013.
const maxChannels = 500

// statusOf says how the server is. What could not be looked at stands as it was last known.
func statusOf(s *v1alpha1.DiscordServer, seen *observed, now state, end error) v1alpha1.DiscordServerStatus {
	after := *s.Status.DeepCopy()
	if seen != nil {
		after.ApplicationID = seen.application.ID
		after.InviteURL = inviteURL(seen)
	}
	if now.guildID != "" {
		after.ServerID = now.guildID
	}
	if now.usable {
		guild := seen.snap.Guild
		if now.guild != nil {
			guild = *now.guild
		}
		after.Name, after.OwnerID = guild.Name, guild.OwnerID
		after.Channels = &v1alpha1.ChannelCount{Total: int32(len(seen.snap.Channels())), Limit: maxChannels} //nolint:gosec // Discord allows 500
	}
	after.ObservedGeneration = s.Generation
	conditions.Set(&after.Conditions, s.Generation, availability(s, now, end), conditions.Worst(conditions.Of(end)))
	return after
}

// availability says whether groups and channels can be managed now. What may pass by itself does not change it.
func availability(s *v1alpha1.DiscordServer, now state, end error) conditions.Availability {
	if now.usable {
		return conditions.Usable(v1alpha1.ReasonOnDiscord, "The bot can manage the server.")
	}
	was := meta.FindStatusCondition(s.Status.Conditions, conditions.TypeAvailable)
	issue, _ := errors.AsType[*conditions.Issue](end)
	if !issue.IsDegraded() && was != nil && was.Status == metav1.ConditionTrue {
		return conditions.Usable(was.Reason, was.Message)
	}
	return conditions.Unusable(v1alpha1.ReasonNotManageable, "The bot cannot manage the server.")
}

// report writes the status where it differs.
func (r *Reconciler) report(ctx context.Context, s *v1alpha1.DiscordServer, now v1alpha1.DiscordServerStatus) error {
	if equality.Semantic.DeepEqual(s.Status, now) {
		return nil
	}
	after := s.DeepCopy()
	after.Status = now
	return r.Status.Write(ctx, s, after, s.Status.Conditions, now.Conditions)
}
