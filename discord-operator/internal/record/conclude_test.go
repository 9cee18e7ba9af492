package record

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"jutsu.com/operators/discord-operator/internal/outcome"
	"jutsu.com/operators/libs/conditions"
)

func TestConclude(t *testing.T) {
	t.Parallel()
	told := []metav1.Condition{{Type: conditions.TypeReady}}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "discordchannels"}, "tokyo", errors.New("it was changed"))
	waiting, terminal := conditions.Progressing("R", "").After(3*time.Second), conditions.Degraded("R", "")
	soon := &outcome.ErrSoon{After: time.Second}
	broken := errors.New("connection refused")
	cases := map[string]struct {
		pass   Pass
		end    error
		untold error // what telling fails with
		tells  bool
		again  time.Duration
		err    string
	}{
		"settled":                             {pass: Pass{Told: told}, tells: true, again: time.Hour},
		"settled, and not told":               {pass: Pass{Told: told}, tells: true, untold: broken, err: "channel #tokyo: connection refused"},
		"told, while somebody else wrote":     {pass: Pass{Told: told}, end: terminal, tells: true, untold: ErrStale, again: StaleRetry},
		"may pass, while somebody else wrote": {pass: Pass{Told: told}, end: broken, tells: true, untold: ErrStale, err: "channel #tokyo: connection refused"},
		"a cache that lags":                   {pass: Pass{Told: told}, end: ErrStale, again: StaleRetry},
		"somebody was faster":                 {pass: Pass{Told: told}, end: conflict, again: StaleRetry},
		"over in a moment":                    {pass: Pass{Told: told}, end: soon, again: time.Second},
		"over in a moment, but something new": {pass: Pass{Told: told, Changed: true}, end: soon, tells: true, again: time.Second},
		"waits":                               {pass: Pass{Told: told}, end: waiting, tells: true, again: 3 * time.Second},
		"waits, but is new":                   {pass: Pass{Age: outcome.Brief - time.Second}, end: waiting, again: time.Second},
		"needs a person":                      {pass: Pass{Told: told}, end: terminal, tells: true, again: time.Hour},
		"may pass":                            {pass: Pass{Told: told}, end: broken, tells: true, err: "channel #tokyo: connection refused"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tells := false
			c.pass.Of, c.pass.Resync = "channel #tokyo", time.Hour
			c.pass.Tell = func(context.Context, error) error {
				tells = true
				return c.untold
			}
			result, err := c.pass.Conclude(t.Context(), c.end)
			if tells != c.tells || result.RequeueAfter != c.again {
				t.Errorf("told: %v, again after %s", tells, result.RequeueAfter)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}
