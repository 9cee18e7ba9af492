package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/discord-operator/internal/outcome"
	"jutsu.com/operators/libs/conditions"
)

// Pass is a pass over an object that has come to its end.
type Pass struct {
	// Of names the object in an error: `group "alarms"`.
	Of string
	// Age is how old the object is.
	Age time.Duration
	// Told is what was told of the object before.
	Told []metav1.Condition
	// Changed is whether the pass has changed something on Discord, which is told in any case.
	Changed bool
	// Resync is when the next pass is, should nothing ask for one sooner.
	Resync time.Duration
	// Tell writes the status for how it ended.
	Tell func(ctx context.Context, end error) error
}

// Conclude tells how the pass ended and says when the next one is. What is over in a moment is not told.
func (p *Pass) Conclude(ctx context.Context, end error) (reconcile.Result, error) {
	if errors.Is(end, ErrStale) || conditions.Conflict(end) { // a pass on what the object is by now comes to another end
		return reconcile.Result{RequeueAfter: StaleRetry}, nil
	}
	if soon := outcome.Untold(end, p.Told, p.Age); soon > 0 && !p.Changed {
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	end = outcome.Told(end)
	if end != nil {
		logf.FromContext(ctx).V(1).Info("not reconciled", "issue", end.Error())
	}
	untold := p.Tell(ctx, end)
	result, err := conditions.Result(conditions.Of(end))
	if errors.Is(untold, ErrStale) { // it is told
		untold, result.RequeueAfter = nil, StaleRetry
	}
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = p.Resync
	}
	if err = errors.Join(err, untold); err != nil {
		return reconcile.Result{}, fmt.Errorf("%s: %w", p.Of, err)
	}
	return result, nil
}
