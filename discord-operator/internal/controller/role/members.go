// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

const absentRetry = 10 * time.Minute

// MemberChanges returns one difference for each user who gets or loses the role.
func MemberChanges(
	role *v1alpha1.DiscordRole, live *discordclient.Role,
	read func(v1alpha1.UserID) (member discordclient.Member, absent bool, err error),
) (all []resource.Difference, err error) {
	for _, user := range role.Status.Members {
		if !slices.Contains(role.Spec.Members, user) {
			all = append(all, resource.Difference{
				Action: resource.ActionTake, Field: "members", From: "user " + string(user),
			})
		}
	}
	for _, user := range role.Spec.Members {
		lacks := live == nil
		if !lacks {
			member, absent, err := read(user)
			if err != nil {
				return all, err
			}
			lacks = !absent && !slices.Contains(member.Roles, live.ID)
		}
		if lacks {
			all = append(all, resource.Difference{
				Action: resource.ActionGive, Field: "members", To: "user " + string(user),
			})
		}
	}
	return all, nil
}

func (r *Reconciler) memberChanges(
	ctx context.Context, role *v1alpha1.DiscordRole, s State,
) ([]resource.Difference, error) {
	return MemberChanges(role, s.live(), func(user v1alpha1.UserID) (discordclient.Member, bool, error) {
		return r.member(ctx, s.Guild, user)
	})
}

// applyMembers takes the role only from users in the status: users who got it by hand keep it.
func (r *Reconciler) applyMembers(
	ctx context.Context, role *v1alpha1.DiscordRole, s State, results *lifecycle.Results,
) error {
	guild := s.Guild
	if !guild.Snapshot.BelowBot(results.Live.GetID()) { // the plan reports that the role is too high
		return nil
	}
	if len(role.Spec.Members)+len(role.Status.Members) > 0 {
		if lacks := guild.Lacks(permissions.ManageRoles, "which it needs to give this role to members"); lacks != nil {
			return lacks
		}
	}
	if err := r.takeBack(ctx, role, guild, results.Live.GetID()); err != nil {
		return err
	}
	if live, ok := guild.Snapshot.Role(results.Live.GetID()); !ok || !mayGive(role, s, &live) { // the plan reports why
		return nil
	}
	var lacking []v1alpha1.UserID
	var absent []string
	recorded := role.DeepCopy()
	for _, user := range role.Spec.Members {
		switch member, gone, err := r.member(ctx, guild, user); {
		case err != nil:
			return err
		case gone:
			absent = append(absent, string(user))
		case !slices.Contains(member.Roles, results.Live.GetID()):
			lacking = append(lacking, user)
			if !slices.Contains(recorded.Status.Members, user) {
				recorded.Status.Members = append(recorded.Status.Members, user)
			}
		}
	}
	if err := r.give(ctx, role, recorded, guild, results, lacking); err != nil || len(absent) == 0 {
		return err
	}
	return conditions.Degraded(v1alpha1.ReasonMemberNotFound, "Users of spec.members are not in the server: %s. Remove "+
		"them from the list, or invite them.", strings.Join(absent, ", ")).After(absentRetry)
}

// member reads a user once per Resync. It reads an absent user again after absentRetry, if that is
// shorter.
func (r *Reconciler) member(
	ctx context.Context, guild *bot.Guild, user v1alpha1.UserID,
) (member discordclient.Member, absent bool, err error) {
	now := r.Resources.Status.Clock.Now()
	for _, maxAge := range []time.Duration{r.Resync, min(r.Resync, absentRetry)} {
		member, err = guild.Bot.MemberSince(ctx, guild.By, guild.ID, string(user), now.Add(-maxAge))
		if absent = discordclient.ClassOf(err) == discordclient.ClassGone; !absent {
			return member, false, err
		}
	}
	return member, absent, nil
}

func (r *Reconciler) give(
	ctx context.Context, role, recorded *v1alpha1.DiscordRole, guild *bot.Guild, results *lifecycle.Results,
	users []v1alpha1.UserID,
) error {
	drifted := len(recorded.Status.Members) == len(role.Status.Members) && len(users) > 0 && status.Reconciled(role)
	if err := r.Resources.Status.Record(ctx, role, recorded); err != nil {
		return err
	}
	*role = *recorded
	var gone error // of a user who has left: the next reconcile reads this user again
	for _, user := range users {
		reason := lifecycle.Reason(Kind.Name, role)
		switch err := guild.Bot.AddMemberRole(ctx, guild.ID, string(user), results.Live.GetID(), reason); {
		case guildcache.IsUnknownMember(err):
			gone = issues.Transient(time.Second)
		case err != nil:
			return err
		default:
			results.Changed = true
		}
	}
	if gone != nil {
		return gone
	}
	if drifted {
		r.Resources.Status.DriftCorrected(role, "members")
	}
	return nil
}

// takeBack takes the role from recorded users that the spec no longer names. If a call fails, the
// status keeps the users who may still have the role.
func (r *Reconciler) takeBack(
	ctx context.Context, role *v1alpha1.DiscordRole, guild *bot.Guild, roleID string,
) error {
	reason, remaining := lifecycle.Reason(Kind.Name, role), role.DeepCopy()
	var failed error
	remaining.Status.Members, failed = takeEach(role.Status.Members, role.Spec.Members, func(user v1alpha1.UserID) error {
		return guild.Bot.RemoveMemberRole(ctx, guild.ID, string(user), roleID, reason)
	})
	err := r.Resources.Status.Record(ctx, role, remaining)
	if err == nil {
		*role = *remaining
	}
	return errors.Join(failed, err)
}

func takeEach(
	recorded, wanted []v1alpha1.UserID, take func(v1alpha1.UserID) error,
) (remaining []v1alpha1.UserID, err error) {
	for _, user := range recorded {
		if err != nil || slices.Contains(wanted, user) {
			remaining = append(remaining, user)
			continue
		}
		if err = take(user); discordclient.ClassOf(err) == discordclient.ClassGone {
			err = nil // the user has left the server
		}
		if err != nil {
			remaining = append(remaining, user)
		}
	}
	return remaining, err
}
