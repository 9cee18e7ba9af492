// SPDX-License-Identifier: Apache-2.0

// Package issues says what a response of Discord means for an object: whether it resolves by
// itself, whether a user must act, or whether a retry may help. It is the one place where errors of
// discordclient become issues.
package issues

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/libs/manager/fence"
)

const (
	// MaxTransient is the longest wait for a rate limit that is not reported: the status would be
	// outdated before it is read, and under load each object would be written several times.
	MaxTransient = 5 * time.Second
	// maxQueued is the same for a wait in the call queue, whose end is certain.
	maxQueued = 30 * time.Second
	// deniedRetry is when something that Discord does not permit is retried, should no event report
	// that the bot was given the permission. Each try counts towards Discord's limit of invalid
	// requests.
	deniedRetry = 10 * time.Minute
	// firstDeniedRetry is the same at first: Discord has been seen to refuse what it permits.
	firstDeniedRetry = time.Minute
	// deletionRetry is when a deletion that failed is retried, should nothing cause it sooner.
	deletionRetry = time.Minute
	// notLeadingRetry is when a call is retried that was refused because another process may lead.
	notLeadingRetry = time.Second
	// fullRetry is when a limit that is reached is checked again; usually an event is sooner.
	fullRetry = time.Minute
)

// Transient is the issue of what is over in a moment and is not reported: a rate limit of seconds, a
// call that another reconcile makes, a state of Discord that has not arrived yet.
func Transient(after time.Duration) *conditions.Issue {
	issue := conditions.Progressing(v1alpha1.ReasonRateLimited,
		"Discord's rate limit delays the next call. It is retried within seconds.").After(after)
	issue.Brief = true
	return issue
}

// IsTransient reports whether an issue is over in a moment.
func IsTransient(issue *conditions.Issue) bool {
	return issue != nil && issue.Brief
}

// Of returns the issues of an error. One that is not Discord's is retried with the queue's back-off.
func Of(err error, now time.Time) []conditions.Issue {
	if issue := of(err, now); issue != nil {
		return []conditions.Issue{*issue}
	}
	return conditions.Of(err)
}

func of(err error, now time.Time) *conditions.Issue {
	if errors.Is(err, fence.ErrNotLeading) { // the process is about to end, or to renew the Lease
		return Transient(notLeadingRetry)
	}
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok {
		return rateLimited(limited, now)
	}
	refused, ok := errors.AsType[*discordclient.Error](err)
	if !ok {
		return nil
	}
	switch refused.Class {
	case discordclient.ClassBadToken:
		return conditions.Progressing(v1alpha1.ReasonWaitingForServer,
			"Discord refuses the bot's token. The owner of the DiscordServer must replace it.")
	case discordclient.ClassDenied:
		return conditions.Degraded(v1alpha1.ReasonMissingPermissions,
			"%s", sentence("The bot lacks a permission on Discord: "+refused.Error())).After(deniedRetry)
	case discordclient.ClassLimit:
		return Full("%s", sentence("A limit of Discord is reached: "+refused.Error()))
	case discordclient.ClassInvalid:
		return invalid(refused)
	case discordclient.ClassGone:
		// An overwrite for a user who is not in the server; no event reports that they join.
		switch discordclient.CodeOf(err) {
		case discordgo.ErrCodeUnknownOverwrite, discordgo.ErrCodeUnknownRole:
			return invalid(refused).After(deniedRetry)
		}
	case discordclient.ClassTransient, discordclient.ClassUnknown:
		return Unverified(conditions.ReasonRetrying, "Discord does not answer as it should: %s", sentence(failure(refused)))
	default:
	}
	return nil
}

// failure is how Discord has failed, whichever call it was.
func failure(e *discordclient.Error) string {
	if e.Status == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status)
}

// Unverified is the issue that Discord cannot be asked now. It is retried with a back-off of the
// object's own.
func Unverified(reason, format string, args ...any) *conditions.Issue {
	issue := conditions.Progressing(reason, format, args...)
	issue.Unverified = true
	return issue
}

// invalid is the issue that the spec asks for something that Discord refuses.
func invalid(refused *discordclient.Error) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonRefused, "%s", sentence("Discord refuses the request: "+refused.Error()))
}

// rateLimited reports the end of a rate limit to the minute: where hundreds of objects wait for the
// same one, each is written once a minute and not whenever a few have gone through.
func rateLimited(l *discordclient.RateLimited, now time.Time) *conditions.Issue {
	switch {
	case l.Queued() && l.After <= maxQueued: // lifecycle.CallQueue notifies it before; this is a safeguard
		return Transient(l.After + l.After/4 + time.Second)
	case l.After <= MaxTransient:
		return Transient(l.After)
	}
	end := now.Add(l.After).Add(time.Minute - time.Nanosecond).Truncate(time.Minute)
	if l.Refusals {
		return conditions.Progressing(v1alpha1.ReasonRateLimited,
			"Discord refused too many calls for the objects of this namespace in the last ten minutes, which delays all of "+
				"them. Correct the objects whose edits it refuses: their Degraded condition says why.").After(l.After)
	}
	limit := fmt.Sprintf("Discord's rate limit (%s)", l.Scope)
	if l.ExceedsShare() {
		limit = "The share that the objects of this namespace have of the calls of another namespace's bot"
	}
	return conditions.Progressing(v1alpha1.ReasonRateLimited, "%s delays %q. It is retried by %s.",
		limit, l.Op, end.UTC().Format("2006-01-02 15:04 MST")).After(l.After)
}

// Full is the issue that a limit of Discord is reached.
func Full(format string, args ...any) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonLimitReached, format, args...).After(fullRetry)
}

// Unpermitted is the issue that Discord does not permit something, which no permission of the bot changes.
func Unpermitted(message string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonMissingPermissions, "%s", message).After(deniedRetry)
}

// Lacking is the issue that the bot lacks permissions for something; nil while it is not known
// exactly which it has. To invite the bot again helps only where inviteURL is given.
func Lacking(have permissions.Bits, exact bool, needed permissions.Bits, forWhat, inviteURL string) *conditions.Issue {
	names := have.Missing(needed).Names()
	if !exact || len(names) == 0 {
		return nil
	}
	format := "The bot lacks the permissions %s, %s. Give them to a role of the bot"
	if len(names) == 1 {
		format = "The bot lacks the permission %s, %s. Give it to a role of the bot"
	}
	message := fmt.Sprintf(format, strings.Join(names, ", "), forWhat)
	if inviteURL != "" {
		message += ", or invite it again: " + inviteURL
	}
	return conditions.Degraded(v1alpha1.ReasonMissingPermissions, "%s", message).After(deniedRetry)
}

// Hidden is the issue that a channel or category exists and Discord hides it from the bot. An event
// reports when that ends; without one it is looked at again after a while.
func Hidden(noun, id string, after time.Duration) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonHiddenFromBot,
		"The %s %s exists on Discord, which hides it from the bot. Allow ViewChannel there, by a permission overwrite, "+
			"to the bot or to one of its roles.", noun, id).After(after)
}

// IsHidden reports whether an error is that issue.
func IsHidden(err error) bool {
	issue, ok := errors.AsType[*conditions.Issue](err)
	return ok && issue.Reason == v1alpha1.ReasonHiddenFromBot
}

// DeletionFailed says why something cannot be deleted on Discord, and what to do.
func DeletionFailed(why string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonDeletionFailed,
		"Deletion on Discord failed: %s Fix the cause, or leave it on Discord: kubectl annotate ... %s=true",
		why, v1alpha1.ForceDeleteAnnotation).After(deletionRetry)
}

func sentence(s string) string { return strings.TrimRight(s, ".") + "." }

// Worst returns the issue to report, nil where there is none: Degraded before an error that is
// retried, that before one that resolves by itself, what is over in a moment last, and among equals
// the first.
func Worst(list []conditions.Issue) *conditions.Issue {
	brief := func(i conditions.Issue) bool { return IsTransient(&i) }
	if lasting := slices.DeleteFunc(slices.Clone(list), brief); len(lasting) > 0 {
		list = lasting
	}
	return conditions.Worst(list)
}

// Unreported returns when to reconcile again where the worst issue is not reported, 0 where it is.
// Not reported are what is over in a moment, and what a new object waits for while that is created
// as well: the status of each would be written once for nothing.
func Unreported(worst *conditions.Issue, reported []metav1.Condition, age time.Duration) time.Duration {
	switch {
	case IsTransient(worst):
		return worst.RequeueAfter
	case worst != nil && !worst.IsDegraded() && worst.Err == nil && len(reported) == 0 && age < MaxTransient:
		return max(min(MaxTransient-age, cmp.Or(worst.RequeueAfter, MaxTransient)), time.Millisecond)
	}
	return 0
}

// stuck is how long a deletion fails, counted from the first failure, before what should resolve by itself,
// as a Discord that does not answer, needs a user: a single failure is no reason to leave something on Discord.
const stuck = 20 * time.Second

// Retry returns when to reconcile again because of an issue, 0 where it does not say. What is refused
// is retried after pauses that double, from firstDeniedRetry to deniedRetry.
func Retry(worst *conditions.Issue, reported []metav1.Condition, now time.Time) time.Duration {
	if worst.RequeueAfter != deniedRetry {
		return worst.RequeueAfter
	}
	was := meta.FindStatusCondition(reported, conditions.TypeDegraded)
	if was == nil || was.Status != metav1.ConditionTrue || was.Reason != worst.Reason {
		return firstDeniedRetry
	}
	return min(max(now.Sub(was.LastTransitionTime.Time), firstDeniedRetry), deniedRetry)
}

// Fails reports whether the worst issue of a deleted object is a failure. Dependents and rate limits are only
// waited for, and what is not allowed is not left on Discord either.
func Fails(worst *conditions.Issue) bool {
	return worst != nil && worst.Reason != v1alpha1.ReasonWaitingForDependents &&
		worst.Reason != v1alpha1.ReasonRateLimited && worst.Reason != v1alpha1.ReasonNotAllowed
}

// OfDeletion is what the worst issue of a deleted object comes to whose deletion has failed for a while: that
// it failed, whichever call it was, and how to leave on Discord what it has there.
func OfDeletion(worst *conditions.Issue, failing time.Duration) *conditions.Issue {
	if worst.Reason == v1alpha1.ReasonDeletionFailed || !Fails(worst) {
		return worst
	}
	if left := stuck - failing; left > 0 && !worst.IsDegraded() {
		return worst.After(min(left, cmp.Or(worst.RequeueAfter, left)))
	}
	return DeletionFailed(sentence(worst.Message)).After(cmp.Or(worst.RequeueAfter, deletionRetry))
}

// Abandonable reports whether what a deleted object has on Discord may stay there, if a user wishes
// so: a rate limit ends.
func Abandonable(worst *conditions.Issue) bool { return worst.Reason == v1alpha1.ReasonDeletionFailed }

// Name is what an object is called for users of a namespace.
func Name(o metav1.Object, namespace string) string {
	if o.GetNamespace() == namespace {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

// Some names up to ten of many.
func Some(names []string) string {
	const maxNames = 10
	slices.Sort(names)
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}
