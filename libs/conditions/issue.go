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

const conflictRetry = 200 * time.Millisecond

// Issue is a reason why an object does not match its spec.
type Issue struct {
	// Type is TypeProgressing or TypeDegraded.
	Type string
	// Part is the condition of the affected part ("DatabaseReady"), or empty for the whole object.
	Part string
	// Reason is listed in the kind's API documentation.
	Reason string
	// Message names the object and the problem, and for Degraded the remedy.
	Message string
	// RequeueAfter is zero if a watch triggers the next reconcile.
	RequeueAfter time.Duration
	// WaitingFor names an object that must exist first ("Secret default/dojo-app"), or is empty.
	WaitingFor string
	// Unverified: the state cannot be checked now, so the object may match its spec.
	Unverified bool
	// Transient: the issue resolves by itself within seconds, so the status does not report it.
	Transient bool
	// Err is the error of a call to retry with back-off.
	Err error
}

// Progressing returns an issue that resolves by itself. Set RequeueAfter unless a watch suffices.
func Progressing(reason, format string, args ...any) *Issue {
	return &Issue{Type: TypeProgressing, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Degraded returns an issue that only a user can fix. The message says how.
func Degraded(reason, format string, args ...any) *Issue {
	return &Issue{Type: TypeDegraded, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// After sets RequeueAfter and returns the issue.
func (i *Issue) After(wait time.Duration) *Issue {
	i.RequeueAfter = wait
	return i
}

// For sets WaitingFor and returns the issue.
func (i *Issue) For(object string) *Issue {
	i.WaitingFor = object
	return i
}

// WaitUntil returns the issue waiting, which requeues at the deadline. From the deadline on, it
// returns the issue exceeded.
func WaitUntil(now, since time.Time, deadline time.Duration, waiting, exceeded *Issue) *Issue {
	remaining := min(deadline, deadline-now.Sub(since)) // the clock of another process may have set since to a future time
	if remaining <= 0 {
		return exceeded
	}
	return waiting.After(remaining)
}

// IsDegraded reports whether only a user can fix the issue.
func (i *Issue) IsDegraded() bool { return i != nil && i.Type == TypeDegraded }

func (i *Issue) Error() string { return i.Reason + ": " + i.Message }

// Of returns the *Issue that err wraps, or else an issue to retry: with back-off, or after a
// fixed pause if err is a conflict.
func Of(err error) []Issue {
	if err == nil {
		return nil
	}
	if issue, ok := errors.AsType[*Issue](err); ok {
		return []Issue{*issue}
	}
	issue := Issue{Type: TypeProgressing, Reason: ReasonRetrying, Message: err.Error(), Err: err}
	if Conflict(err) {
		issue.Message, issue.Err = "Another client changed the object at the same time; the operator retries.", nil
		issue.RequeueAfter = conflictRetry
	}
	return []Issue{issue}
}

// Worst returns the issue to report, or nil if there is none: a Degraded issue before an issue with
// Err or Unverified, and these before all other issues.
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

// OfPart returns the issues of one part of the object.
func OfPart(part string, issues []Issue) []Issue {
	return slices.DeleteFunc(slices.Clone(issues), func(i Issue) bool { return i.Part != part })
}

// Result returns the errors of all issues, for a back-off, or else the earliest RequeueAfter.
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
