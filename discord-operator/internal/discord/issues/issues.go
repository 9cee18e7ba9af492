// SPDX-License-Identifier: Apache-2.0

// Package issues converts errors of discordclient into issues for the status of objects.
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/libs/manager/fence"
)

const (
	// MaxTransient is the longest rate limit that no status reports, because it ends so soon. For
	// waits in the bot's call queue, maxQueued applies.
	MaxTransient = 5 * time.Second
	// maxQueued is the longest wait in the bot's call queue that no status reports.
	maxQueued = 30 * time.Second
	// deniedRetry is long, because each try counts towards Discord's limit of invalid requests.
	deniedRetry = 10 * time.Minute
	// firstDeniedRetry is short, because Discord sometimes denies a permitted call.
	firstDeniedRetry = time.Minute
	deletionRetry    = time.Minute
	// notLeadingRetry is the delay after the fence stopped a call: another process may lead.
	notLeadingRetry = time.Second
	fullRetry       = time.Minute
)

// Transient returns the issue of a wait for a few seconds, which no status reports.
func Transient(after time.Duration) *conditions.Issue {
	issue := conditions.Progressing(v1alpha1.ReasonRateLimited,
		"The operator cannot continue with this object yet, and retries within seconds.").After(after)
	issue.Transient = true
	return issue
}

// IsTransient reports whether an issue resolves within seconds.
func IsTransient(issue *conditions.Issue) bool {
	return issue != nil && issue.Transient
}

// Of returns the issues of an error. An error from Discord may become an issue of this package; for
// all other errors, [conditions.Of] applies.
func Of(err error, now time.Time) []conditions.Issue {
	if issue := of(err, now); issue != nil {
		return []conditions.Issue{*issue}
	}
	return conditions.Of(err)
}

func of(err error, now time.Time) *conditions.Issue {
	if errors.Is(err, fence.ErrNotLeading) { // the process ends or renews its Lease soon
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
		// No event reports that the user of an overwrite has joined the server, so retry.
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

func failure(e *discordclient.Error) string {
	if e.Status == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status)
}

// Unverified returns an issue for an object that cannot be compared with Discord now.
func Unverified(reason, format string, args ...any) *conditions.Issue {
	issue := conditions.Progressing(reason, format, args...)
	issue.Unverified = true
	return issue
}

func invalid(refused *discordclient.Error) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonRefused, "%s", sentence("Discord refuses the request: "+refused.Error()))
}

// limits maps the scope of [discordclient.RateLimited] to words for a message.
var limits = map[string]string{
	"user":   " for this kind of call",
	"shared": " for the calls of all bots to this resource",
	"global": " for all calls of the bot",
	"hidden": " for this kind of change, such as a new name or topic,",
}

// rateLimited rounds the end of the limit up to a full minute, so that an object's status rarely
// changes during the limit.
func rateLimited(l *discordclient.RateLimited, now time.Time) *conditions.Issue {
	switch {
	case l.Queued() && l.After <= maxQueued: // lifecycle.CallQueue usually starts the retry earlier
		return Transient(l.After + l.After/4 + time.Second)
	case l.After <= MaxTransient:
		return Transient(l.After)
	}
	end := now.Add(l.After).Add(time.Minute - time.Nanosecond).Truncate(time.Minute)
	if l.Refusals {
		return conditions.Progressing(v1alpha1.ReasonRateLimited,
			"Discord refused too many calls for the objects of this namespace in the last ten minutes, so the operator "+
				"delays all these objects. Correct the objects whose edits Discord refuses: their Degraded condition says why.",
		).After(l.After)
	}
	cause := fmt.Sprintf("Discord's rate limit%s delays the call %q", limits[l.Scope], l.Op)
	switch {
	case l.Blocked() && l.Local:
		cause = fmt.Sprintf("A proxy in front of Discord's API, usually Cloudflare, has blocked the bot's calls, so the "+
			"call %q is delayed", l.Op)
	case l.Blocked():
		cause = fmt.Sprintf("A proxy in front of Discord's API, usually Cloudflare, has blocked the call %q", l.Op)
	case l.ExceedsShare():
		cause = fmt.Sprintf("The bot belongs to another namespace, and the objects of this namespace have used their share "+
			"of the bot's calls, so the call %q is delayed", l.Op)
	}
	return conditions.Progressing(v1alpha1.ReasonRateLimited, "%s. The operator retries the call by %s.",
		cause, end.UTC().Format("2006-01-02 15:04 MST")).After(l.After)
}

// Full is the issue of a reached limit.
func Full(format string, args ...any) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonLimitReached, format, args...).After(fullRetry)
}

// Unpermitted is the issue of a call that Discord does not permit. message says why.
func Unpermitted(message string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonMissingPermissions, "%s", message).After(deniedRetry)
}

// Lacking is the issue of permissions in needed but not in have; nil if there are none, or if exact
// is false.
func Lacking(have permissions.Bits, exact bool, needed permissions.Bits, forWhat, inviteURL string) *conditions.Issue {
	missing := have.Missing(needed)
	if !exact || missing == 0 {
		return nil
	}
	again := "."
	if inviteURL != "" {
		again = ", or invite the bot again: " + inviteURL
	}
	return Unpermitted(lacking(missing, forWhat, "Give", "to a role of the bot"+again))
}

// Denied is the issue of permissions that only an overwrite can give back to the bot.
func Denied(missing permissions.Bits, forWhat string) *conditions.Issue {
	return Unpermitted(lacking(missing, forWhat, "Allow",
		"to the bot or to one of its roles, in the permission overwrites of that channel or category on Discord."))
}

func lacking(missing permissions.Bits, forWhat, verb, advice string) string {
	names, noun, them := missing.Names(), "permissions", "them"
	if len(names) == 1 {
		noun, them = "permission", "it"
	}
	return fmt.Sprintf("The bot lacks the %s %s, %s. %s %s %s",
		noun, strings.Join(names, ", "), forWhat, verb, them, advice)
}

// Hidden is the issue that Discord hides an existing channel or category from the bot.
func Hidden(noun, id string, after time.Duration) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonHiddenFromBot,
		"Discord hides the %[1]s %[2]s from the bot. Allow ViewChannel to the bot or to one of its roles, in the "+
			"permission overwrites of the %[1]s on Discord.", noun, id).After(after)
}

// IsHidden reports whether an error is an issue from [Hidden].
func IsHidden(err error) bool {
	issue, ok := errors.AsType[*conditions.Issue](err)
	return ok && issue.Reason == v1alpha1.ReasonHiddenFromBot
}

// DeletionFailed is the issue of a failed deletion.
func DeletionFailed(why string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonDeletionFailed, "Deletion on Discord failed: %s", why).After(deletionRetry)
}

func sentence(s string) string { return strings.TrimRight(s, ".") + "." }

// Worst returns the issue to report; nil for none. It ignores transient issues if there are others.
func Worst(list []conditions.Issue) *conditions.Issue {
	brief := func(i conditions.Issue) bool { return IsTransient(&i) }
	if lasting := slices.DeleteFunc(slices.Clone(list), brief); len(lasting) > 0 {
		list = lasting
	}
	return conditions.Worst(list)
}

// Unreported returns the delay before the next reconcile; 0 if the status must report the issue.
func Unreported(worst *conditions.Issue, reported []metav1.Condition, age time.Duration) time.Duration {
	switch {
	case IsTransient(worst):
		return worst.RequeueAfter
	case worst != nil && !worst.IsDegraded() && worst.Err == nil && len(reported) == 0 && age < MaxTransient:
		return max(min(MaxTransient-age, cmp.Or(worst.RequeueAfter, MaxTransient)), time.Millisecond)
	}
	return 0
}

// deletionGrace is the time after which a failing deletion gets the reason DeletionFailed. A failure
// that is a Degraded issue gets this reason at once.
const deletionGrace = 20 * time.Second

// Retry returns the delay before the next reconcile. After denials, the delay grows with the time
// since the object became Degraded, up to deniedRetry.
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

// Fails reports whether a deletion has failed. A rate limit, a wait for dependents, a missing grant
// or a pause is no failure.
func Fails(worst *conditions.Issue) bool {
	return worst != nil && !slices.Contains([]string{
		v1alpha1.ReasonWaitingForDependents, v1alpha1.ReasonRateLimited, v1alpha1.ReasonNotAllowed, v1alpha1.ReasonPaused,
	}, worst.Reason)
}

// OfDeletion converts a failure ([Fails]) to DeletionFailed: a Degraded issue at once, other issues
// after deletionGrace. The message names the annotation that leaves the resource on Discord.
func OfDeletion(o client.Object, worst *conditions.Issue, failing time.Duration) *conditions.Issue {
	worst = ofDeletion(worst, failing)
	if worst.Reason == v1alpha1.ReasonDeletionFailed {
		worst.Message += " Fix the cause. To delete only this object, and nothing on Discord: `" +
			Annotate(o, v1alpha1.ForceDeleteAnnotation+"=true") + "`."
	}
	return worst
}

func ofDeletion(worst *conditions.Issue, failing time.Duration) *conditions.Issue {
	if worst.Reason == v1alpha1.ReasonDeletionFailed || !Fails(worst) {
		return new(*worst)
	}
	if remaining := deletionGrace - failing; remaining > 0 && !worst.IsDegraded() {
		return worst.After(min(remaining, cmp.Or(worst.RequeueAfter, remaining)))
	}
	return DeletionFailed(sentence(worst.Message)).After(cmp.Or(worst.RequeueAfter, deletionRetry))
}

// Abandonable reports whether this issue lets a user leave the resource on Discord.
func Abandonable(worst *conditions.Issue) bool { return worst.Reason == v1alpha1.ReasonDeletionFailed }

// Annotate returns the command that sets an annotation of an object. If annotation ends with "-",
// the command removes the annotation.
func Annotate(o client.Object, annotation string) string {
	return fmt.Sprintf("kubectl annotate %s %s -n %s %s", resource(o), o.GetName(), o.GetNamespace(), annotation)
}

// Describe returns the command that shows an object of a kind such as DiscordServer.
func Describe(kind string, o metav1.Object) string {
	return fmt.Sprintf("kubectl describe %ss.%s %s -n %s",
		strings.ToLower(kind), v1alpha1.GroupVersion.Group, o.GetName(), o.GetNamespace())
}

// Undelete returns the command that restores a deleted object.
func Undelete(o client.Object) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(resource(o), "discord"), "s.")
	return fmt.Sprintf("kubectl discord undelete %s %s -n %s", kind, o.GetName(), o.GetNamespace())
}

func resource(o client.Object) string {
	switch o.(type) {
	case *v1alpha1.DiscordServer:
		return "discordservers.discord.jutsu.com"
	case *v1alpha1.DiscordGroup:
		return "discordgroups.discord.jutsu.com"
	case *v1alpha1.DiscordRole:
		return "discordroles.discord.jutsu.com"
	}
	return "discordchannels.discord.jutsu.com"
}

// Name returns the name of o for a message on an object of namespace: NAME if o is in this
// namespace, otherwise NAMESPACE/NAME.
func Name(o metav1.Object, namespace string) string {
	if o.GetNamespace() == namespace {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

// JoinUpToTen sorts names, and lists the first ten and the number of the remaining names.
func JoinUpToTen(names []string) string {
	const maxNames = 10
	slices.Sort(names)
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}
