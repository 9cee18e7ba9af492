// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/wait"

	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// A refused write is retried, because no watch reports changes of quotas and policies. The pause is
// the time since the first refusal, within limits. Until maxLag, AlreadyExists counts as cache lag.
const (
	minRefusedRetry, maxRefusedRetry = 15 * time.Second, 10 * time.Minute
	maxLag                           = 2 * time.Second
)

// Refusal is the reason and the advice of the issue for a refused write.
type Refusal struct {
	Reason string
	// Advice says how to fix the problem. It follows the API server's error in the message.
	Advice string
}

// invalid returns the refusal for an object that the API server finds invalid. The default advice
// names admission policies, because they may answer Invalid too. For a Secret, it does not name the
// spec, which has none of the Secret's values.
func (a *Applier) invalid(o *Object) Refusal {
	advice := "Correct the value in the spec, or check admission policies."
	if o.Kind == "Secret" {
		advice = "Otherwise check admission policies."
	}
	return cmp.Or(o.Invalid, Refusal{a.reasons.Refused, advice})
}

// failure converts an API server's error into an issue or an error. It omits the text of an error
// about a Secret, unless the error is a conflict, because that text may quote the Secret. invalid
// is the refusal for an invalid object; it is empty if the write contains no values of the spec.
func (a *Applier) failure(key expectations.Key, what string, err error, invalid Refusal) error {
	refused, refusal := conditions.Refused(err), invalid
	if !apierrors.IsInvalid(err) || invalid.Reason == "" {
		refusal = Refusal{a.reasons.Refused, "Check quotas, admission policies and the operator's permissions."}
	}
	switch {
	case replaced(err): // another object has taken the name: the next reconcile will read that object
		return ErrStale
	case apierrors.IsAlreadyExists(err):
		return a.exists(key, what)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return conditions.Progressing(a.reasons.NamespaceTerminating,
			"The namespace %s is being deleted.", key.Namespace)
	case key.Kind == "Secret" && conditions.StatusCode(err) == http.StatusUnprocessableEntity:
		err = fmt.Errorf("%w. If the Secret is immutable, delete it; the operator creates it again", conditions.Redacted(err))
	case key.Kind == "Secret" && !conditions.Conflict(err):
		err = conditions.Redacted(err)
	}
	if !refused {
		return fmt.Errorf("%s: %w", what, err)
	}
	return conditions.Degraded(refusal.Reason, "The API server refuses the %s: %s. %s",
		what, strings.TrimSuffix(err.Error(), "."), refusal.Advice).After(retryAfter(a.failingFor(a.refused, key)))
}

// exists returns ErrStale until maxLag. After that it reports a name conflict: a tenant, for
// example, can predict and occupy the name of our Job.
func (a *Applier) exists(key expectations.Key, what string) error {
	duration := a.failingFor(a.existing, key)
	if duration < maxLag {
		return ErrStale
	}
	return conditions.Degraded(a.reasons.NameConflict, "The %s cannot be created: an object of that name exists, and the "+
		"operator does not know it. If another client created that object, and nothing needs the object, delete it; "+
		"the operator then tries again.", what).
		After(retryAfter(duration))
}

func (a *Applier) failingFor(failures *cache.LRUExpireCache, key expectations.Key) time.Duration {
	now := a.clock.Now()
	since := now
	if known, ok := failures.Get(key); ok {
		since = known.(time.Time)
	}
	failures.Add(key, since, 2*maxRefusedRetry)
	return now.Sub(since)
}

func retryAfter(failing time.Duration) time.Duration {
	return wait.Jitter(min(max(failing, minRefusedRetry), maxRefusedRetry), 0.1)
}

func replaced(err error) bool {
	causes := conditions.StatusDetails(err).Causes
	return slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}
