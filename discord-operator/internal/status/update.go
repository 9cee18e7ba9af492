package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Report is a reconcile that has come to its end.
type Report struct {
	// Name names the object in an error: `group "alarms"`.
	Name string
	// Age is how old the object is.
	Age time.Duration
	// Reported are the conditions before.
	Reported []metav1.Condition
	// Changed is whether something was changed on Discord, which is reported in any case.
	Changed bool
	// Resync is when the next reconcile is, should nothing ask for one sooner.
	Resync time.Duration
	// Write writes the status for how it ended.
	Write func(ctx context.Context, end error) error
}

// Update reports how the reconcile ended and says when the next one is. What is over in a moment is
// not reported.
func (r *Report) Update(ctx context.Context, end error) (reconcile.Result, error) {
	if errors.Is(end, apply.ErrStale) || conditions.Conflict(end) {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	if soon := issues.Unreported(end, r.Reported, r.Age); soon > 0 && !r.Changed {
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	if end != nil {
		logf.FromContext(ctx).V(1).Info("not reconciled", "issue", end.Error())
	}
	failed := r.Write(ctx, end)
	result, err := conditions.Result(conditions.Of(end))
	if errors.Is(failed, apply.ErrStale) { // it is written
		failed, result.RequeueAfter = nil, apply.StaleRetry
	}
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = r.Resync
	}
	if err = errors.Join(err, failed); err != nil {
		return reconcile.Result{}, fmt.Errorf("%s: %w", r.Name, err)
	}
	return result, nil
}
