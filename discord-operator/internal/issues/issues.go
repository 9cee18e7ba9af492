// Package issues says what a response of Discord means for an object: whether it resolves by itself,
// whether a user must act, or whether a retry may help. It is the one place where errors of
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

const (
	// MaxBrief is the longest wait for a rate limit that is not reported: the status would be
	// outdated before it is read, and under load each object would be written several times.
	MaxBrief = 5 * time.Second
	// DeniedRetry is when something that Discord does not permit is tried again, should no event tell that the bot was given the permission.
	// Each try counts towards Discord's limit of refused requests.
	DeniedRetry = 10 * time.Minute
	// deleteRetry is when a deletion that cannot be carried out is tried again, should nothing tell sooner that it can.
	deleteRetry = time.Minute
	// fullRetry is when a full server, category or channel is looked at again; usually an event is sooner.
	fullRetry = time.Minute
)

// Brief is the issue of what is over in a moment and is not reported: a rate limit of seconds, a
// call that another reconcile makes, a state of Discord that has not arrived yet.
func Brief(after time.Duration) *conditions.Issue {
	return conditions.Progressing(v1alpha1.ReasonRateLimited,
		"Discord's rate limit delays the next call. It is retried within seconds.").After(after)
}

// IsBrief reports whether an error is over in a moment.
func IsBrief(err error) bool { return brief(err) > 0 }

// brief returns when an error is over that is not reported, 0 for any other.
func brief(err error) time.Duration {
	issue, ok := errors.AsType[*conditions.Issue](err)
	if ok && issue.Reason == v1alpha1.ReasonRateLimited && issue.RequeueAfter <= MaxBrief {
		return issue.RequeueAfter
	}
	return 0
}

// Of turns an error of discordclient into an issues. Errors of others, and those that may pass by themselves, are returned as they are: the
// queue tries again with growing pauses.
func Of(err error, now time.Time) error {
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok {
		return limit(limited, now)
	}
	refused, ok := errors.AsType[*discordclient.Error](err)
	if !ok {
		return err
	}
	switch refused.Class {
	case discordclient.ClassBadToken:
		return conditions.Progressing(v1alpha1.ReasonWaitingForServer, "Discord refuses the bot's token. See the DiscordServer.")
	case discordclient.ClassDenied:
		return conditions.Degraded(v1alpha1.ReasonMissingPermissions,
			"%s", sentence("The bot lacks a permission on Discord: "+refused.Error())).After(DeniedRetry)
	case discordclient.ClassLimit:
		return conditions.Degraded(v1alpha1.ReasonLimitReached,
			"%s", sentence("A limit of Discord is reached: "+refused.Error())).After(fullRetry)
	case discordclient.ClassInvalid:
		return asked(refused, 0)
	case discordclient.ClassGone:
		if code := discordclient.CodeOf(err); code == discordgo.ErrCodeUnknownOverwrite || code == discordgo.ErrCodeUnknownRole {
			return asked(refused, DeniedRetry) // an overwrite for a user who is not in the server; no event tells when they come
		}
		return err
	default:
		return err
	}
}

// asked says that the spec asks for something that Discord refuses.
func asked(refused *discordclient.Error, retry time.Duration) error {
	return conditions.Degraded(v1alpha1.ReasonRefused, "%s", sentence("Discord refuses the request: "+refused.Error())).After(retry)
}

// limit tells of a rate limit with the moment at which it ends, or not at all when that is near.
func limit(l *discordclient.RateLimited, now time.Time) error {
	if l.After <= MaxBrief {
		return Brief(l.After)
	}
	// To the minute: where hundreds of objects wait for the same limit, it is reported to each of them once a minute and not whenever a few have
	// gone through.
	goesOn := now.Add(l.After).Add(time.Minute - time.Nanosecond).Truncate(time.Minute)
	return conditions.Progressing(v1alpha1.ReasonRateLimited,
		"Discord's rate limit (%s) delays %q. It is retried by %s.",
		l.Scope, l.Op, goesOn.UTC().Format("2006-01-02 15:04 MST")).After(l.After)
}

// Full says that Discord would have no room for one more.
func Full(message string) error {
	return conditions.Degraded(v1alpha1.ReasonLimitReached, "%s", message).After(fullRetry)
}

// Lacking says which permissions the bot lacks for what.
func Lacking(names []string, forWhat, inviteURL string) error {
	message := fmt.Sprintf("The bot lacks the permissions %s, %s. Give them to a role of the bot", strings.Join(names, ", "), forWhat)
	if len(names) == 1 {
		message = fmt.Sprintf("The bot lacks the permission %s, %s. Give it to a role of the bot", names[0], forWhat)
	}
	if inviteURL != "" {
		message += ", or invite it again: " + inviteURL
	}
	return conditions.Degraded(v1alpha1.ReasonMissingPermissions, "%s", message).After(DeniedRetry)
}

func sentence(s string) string { return strings.TrimRight(s, ".") + "." }

// Unreported returns when the next pass is made after one that nobody needs to hear of, 0 where people should: what is over in a moment, and what
// a new object waits for while what it refers to is being made as well. The status of each would be written once for nothing.
func Unreported(end error, reported []metav1.Condition, age time.Duration) time.Duration {
	if after := brief(end); after > 0 {
		return after
	}
	issue, ok := errors.AsType[*conditions.Issue](end)
	if ok && !issue.IsDegraded() && len(reported) == 0 && age < MaxBrief {
		return max(min(MaxBrief-age, cmp.Or(issue.RequeueAfter, MaxBrief)), time.Millisecond)
	}
	return 0
}

// Graver returns which of two errors a person has to hear of first: one that asks for a person, then one that may pass, then one that waits.
func Graver(a, b error) error {
	weight := func(err error) int {
		switch {
		case err == nil:
			return 0
		case brief(err) > 0:
			return 1
		}
		if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok && limited.After <= MaxBrief {
			return 1
		}
		issue, ok := errors.AsType[*conditions.Issue](err)
		if ok && !issue.IsDegraded() {
			return 2
		}
		switch discordclient.ClassOf(err) {
		case discordclient.ClassRateLimited:
			return 2
		case discordclient.ClassDenied, discordclient.ClassInvalid, discordclient.ClassLimit:
			return 4
		default:
		}
		if issue.IsDegraded() {
			return 4
		}
		return 3
	}
	if weight(b) > weight(a) {
		return b
	}
	return a
}

// Some names up to ten of many.
func Some(names []string) string {
	const most = 10
	slices.Sort(names)
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Stuck reports whether a deletion that ended so may be abandoned by force: not while it waits for the objects that refer to this one, and not
// for what is over in a moment.
func Stuck(err error) bool {
	if issue, ok := errors.AsType[*conditions.Issue](err); ok && issue.Reason == v1alpha1.ReasonWaitingForDependents {
		return false
	}
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok && limited.After <= MaxBrief {
		return false
	}
	return err != nil && brief(err) == 0 && !conditions.Conflict(err)
}

// DeletionFailed says why an external resource cannot be deleted, and what to do.
func DeletionFailed(why string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonDeletionFailed,
		"Deletion on Discord failed: %s Fix the cause, or leave it on Discord: kubectl annotate ... %s=true",
		why, v1alpha1.ForceDeleteAnnotation).After(deleteRetry)
}

// OfDeletion turns a refused deletion into a DeletionFailed issue.
func OfDeletion(err error) error {
	switch discordclient.ClassOf(err) {
	case discordclient.ClassDenied, discordclient.ClassInvalid, discordclient.ClassLimit, discordclient.ClassBadToken:
		return DeletionFailed(err.Error() + ".").After(DeniedRetry)
	default:
		return err
	}
}
