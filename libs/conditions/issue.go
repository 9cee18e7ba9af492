// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// conflictRetry is how long a write that lost to another one waits for the cache to catch up.
const conflictRetry = 200 * time.Millisecond

// Issue is what keeps an object from matching its spec. Make one with Progressing, Degraded or Of.
type Issue struct {
	// Type is the condition that the issue makes True: TypeProgressing or TypeDegraded.
	Type string
	// Part is the type of the condition about the part of the object that is concerned, such as
	// "DatabaseReady"; empty where the object as a whole is.
	Part string
	// Reason is a CamelCase word for machines, from the kind's documented list.
	Reason string
	// Message says what is wrong, about which object, and for Degraded what to do.
	Message string
	// RequeueAfter is when to look again; zero where a watch brings the object back.
	RequeueAfter time.Duration
	// WaitingFor names the object that another party has to provide, such as "Secret
	// default/dojo-app"; empty for other issues. Who keeps the status keeps there since when it is
	// waited for.
	WaitingFor string
	// Unverified is whether the issue is only that it cannot be checked now whether the object matches
	// its spec, so that one that did may do so still.
	Unverified bool
	// Brief is whether the issue is over in a moment, so that it is not worth a report.
	Brief bool
	// Err is the error of a call that may succeed when it is repeated: the queue backs off. Nil for
	// all others.
	Err error
}

// Progressing is an issue that resolves by itself: a watch or RequeueAfter brings the object back.
func Progressing(reason, format string, args ...any) *Issue {
	return &Issue{Type: TypeProgressing, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Degraded is an issue that a user must resolve; the message says how.
func Degraded(reason, format string, args ...any) *Issue {
	return &Issue{Type: TypeDegraded, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// After sets when to look again, and returns the issue.
func (i *Issue) After(wait time.Duration) *Issue {
	i.RequeueAfter = wait
	return i
}

// For sets the object that another party has to provide, and returns the issue.
func (i *Issue) For(object string) *Issue {
	i.WaitingFor = object
	return i
}

// WaitUntil returns the waiting issue, with the time at which to look again, until the deadline has
// passed since a time, and the other one from then on.
func WaitUntil(now, since time.Time, deadline time.Duration, waiting, exceeded *Issue) *Issue {
	left := min(deadline, deadline-now.Sub(since)) // a clock that is ahead of ours must not make it longer
	if left <= 0 {
		return exceeded
	}
	return waiting.After(left)
}

// IsDegraded reports whether a user must resolve the issue.
func (i *Issue) IsDegraded() bool { return i != nil && i.Type == TypeDegraded }

// Error lets an issue pass through error returns.
func (i *Issue) Error() string { return i.Reason + ": " + i.Message }

// Of returns the issue that an error is: an *Issue in its chain as it is, a conflict as a quiet
// retry, anything else as a call that is retried with back-off. A nil error has none.
func Of(err error) []Issue {
	if err == nil {
		return nil
	}
	if issue, ok := errors.AsType[*Issue](err); ok {
		return []Issue{*issue}
	}
	issue := Issue{Type: TypeProgressing, Reason: ReasonRetrying, Message: err.Error(), Err: err}
	if Conflict(err) {
		issue.Message, issue.Err = "Another client wrote at the same time; retrying.", nil
		issue.RequeueAfter = conflictRetry
	}
	return []Issue{issue}
}

// Worst returns the issue to report, nil where there is none: Degraded before what is retried
// because a call failed, that before one that only waits, and among equals the first.
func Worst(issues []Issue) *Issue {
	if len(issues) == 0 {
		return nil
	}
	worst := slices.MaxFunc(issues, func(a, b Issue) int { return cmp.Compare(severity(a), severity(b)) })
	return &worst
}

func severity(i Issue) int {
	switch {
	case i.Type == TypeDegraded:
		return 2
	case i.Err != nil, i.Unverified:
		return 1
	}
	return 0
}

// OfPart returns the issues about one part of the object.
func OfPart(part string, issues []Issue) []Issue {
	return slices.DeleteFunc(slices.Clone(issues), func(i Issue) bool { return i.Part != part })
}

// Result turns all issues of an object into the result of its reconcile. An error is returned, so
// that the queue backs off; otherwise the object is requeued at the earliest time that an issue
// names.
func Result(issues []Issue) (reconcile.Result, error) {
	var result reconcile.Result
	var errs []error
	for _, issue := range issues {
		if issue.Err != nil {
			errs = append(errs, issue.Err)
		}
		if after := issue.RequeueAfter; after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
			result.RequeueAfter = after
		}
	}
	if len(errs) > 0 {
		return reconcile.Result{}, errors.Join(errs...)
	}
	return result, nil
}
