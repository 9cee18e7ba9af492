package status

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

func TestConclude(t *testing.T) {
	t.Parallel()
	told := []metav1.Condition{{Type: conditions.TypeReady}}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "discordchannels"}, "tokyo", errors.New("it was changed"))
	waiting, terminal := conditions.Progressing("R", "").After(3*time.Second), conditions.Degraded("R", "")
	soon := issues.Brief(time.Second)
	broken := errors.New("connection refused")
	cases := map[string]struct {
		pass   Report
		end    error
		untold error // what telling fails with
		tells  bool
		again  time.Duration
		err    string
	}{
		"settled":                             {pass: Report{Reported: told}, tells: true, again: time.Hour},
		"settled, and not told":               {pass: Report{Reported: told}, tells: true, untold: broken, err: "channel #tokyo: connection refused"},
		"told, while somebody else wrote":     {pass: Report{Reported: told}, end: terminal, tells: true, untold: apply.ErrStale, again: apply.StaleRetry},
		"may pass, while somebody else wrote": {pass: Report{Reported: told}, end: broken, tells: true, untold: apply.ErrStale, err: "channel #tokyo: connection refused"},
		"a cache that lags":                   {pass: Report{Reported: told}, end: apply.ErrStale, again: apply.StaleRetry},
		"somebody was faster":                 {pass: Report{Reported: told}, end: conflict, again: apply.StaleRetry},
		"over in a moment":                    {pass: Report{Reported: told}, end: soon, again: time.Second},
		"over in a moment, but something new": {pass: Report{Reported: told, Changed: true}, end: soon, tells: true, again: time.Second},
		"waits":                               {pass: Report{Reported: told}, end: waiting, tells: true, again: 3 * time.Second},
		"waits, but is new":                   {pass: Report{Age: issues.MaxBrief - time.Second}, end: waiting, again: time.Second},
		"needs a person":                      {pass: Report{Reported: told}, end: terminal, tells: true, again: time.Hour},
		"may pass":                            {pass: Report{Reported: told}, end: broken, tells: true, err: "channel #tokyo: connection refused"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tells := false
			c.pass.Name, c.pass.Resync = "channel #tokyo", time.Hour
			c.pass.Write = func(context.Context, error) error {
				tells = true
				return c.untold
			}
			result, err := c.pass.Update(t.Context(), c.end)
			if tells != c.tells || result.RequeueAfter != c.again {
				t.Errorf("told: %v, again after %s", tells, result.RequeueAfter)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}
