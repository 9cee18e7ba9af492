package conditions

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var (
	errBroken   = errors.New("connection refused")
	things      = schema.GroupResource{Resource: "dojos"}
	errConflict = apierrors.NewConflict(things, "tokyo", errBroken)
	errDenied   = &apierrors.StatusError{ErrStatus: metav1.Status{Code: 409, Reason: metav1.StatusReasonConflict, Message: "denied"}}
	outcomes    = map[string]error{
		"settled":          nil,
		"waiting":          &Waiting{Reason: "WaitingForIt", Message: "it is not there"},
		"waiting, wrapped": fmt.Errorf("apply: %w", &Waiting{Reason: "WaitingForIt", Message: "it is not there"}),
		"terminal":         &Terminal{Reason: "Wrong", Message: "mend it"},
		"transient":        errBroken,
		"conflict":         errConflict,
	}
	availabilities = map[string]Availability{
		"usable":        Usable("Serves", "serves"),
		"unusable":      Unusable("Down", "down"),
		"nothing asked": NothingAsked("Off", "off"),
	}
)

func TestSetNeverContradictsItself(t *testing.T) {
	for a, can := range availabilities {
		for o, outcome := range outcomes {
			t.Run(a+", "+o, func(t *testing.T) {
				var conds []metav1.Condition
				if !Set(&conds, 7, can, outcome) {
					t.Error("the first Set did not report a change")
				}
				if Set(&conds, 7, can, outcome) {
					t.Error("the second Set of the same reported a change")
				}
				is := func(kind string) bool { return meta.IsStatusConditionTrue(conds, kind) }
				if is(Progressing) && is(Degraded) {
					t.Error("Progressing and Degraded")
				}
				if want := !is(Progressing) && !is(Degraded) && (is(Available) || can.unwanted); is(Ready) != want {
					t.Errorf("Ready is %v, want %v", is(Ready), want)
				}
				if is(Available) != can.usable {
					t.Errorf("Available is %v, want %v", is(Available), can.usable)
				}
				checkForm(t, conds)
				checkKstatus(t, conds, is(Ready))
			})
		}
	}
}

// checkForm holds the conditions against what the API server demands of metav1.Condition.
func checkForm(t *testing.T, conds []metav1.Condition) {
	t.Helper()
	if len(conds) != 4 {
		t.Errorf("%d conditions, want 4", len(conds))
	}
	for _, c := range conds {
		if c.ObservedGeneration != 7 || c.Reason == "" || c.Message == "" || c.LastTransitionTime.IsZero() {
			t.Errorf("incomplete condition %+v", c)
		}
	}
}

// checkKstatus asks the library behind Flux and Helm whether it agrees on Ready.
func checkKstatus(t *testing.T, conds []metav1.Condition, ready bool) {
	t.Helper()
	list := make([]any, 0, len(conds))
	for i := range conds {
		c, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conds[i])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "core.jutsu.com/v1", "kind": "Dojo",
		"metadata": map[string]any{"name": "tokyo", "generation": int64(7)},
		"status":   map[string]any{"observedGeneration": int64(7), "conditions": list},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Status == status.CurrentStatus; got != ready {
		t.Errorf("kstatus says %s where Ready is %v", result.Status, ready)
	}
}

func TestSetTellsTheReason(t *testing.T) {
	cases := map[string]struct {
		can     Availability
		outcome error
		want    map[string]string // type -> status/reason
	}{
		"scaling while it serves": {
			Usable("Serves", "3 of 5"), &Waiting{Reason: "RollingOut", Message: "3 of 5"},
			map[string]string{Ready: "False/RollingOut", Available: "True/Serves", Progressing: "True/RollingOut", Degraded: "False/RollingOut"},
		},
		"broken while it serves": {
			Usable("Serves", "3 of 5"), &Terminal{Reason: "Wrong", Message: "mend it"},
			map[string]string{Ready: "False/Wrong", Available: "True/Serves", Progressing: "False/Wrong", Degraded: "True/Wrong"},
		},
		"scaled to nothing": {
			NothingAsked("ScaledToZero", "off"), nil,
			map[string]string{Ready: "True/Settled", Available: "False/ScaledToZero", Progressing: "False/Settled", Degraded: "False/Settled"},
		},
		"settled but down": {
			Unusable("Down", "down"), nil,
			map[string]string{Ready: "False/Down", Available: "False/Down", Progressing: "False/Settled", Degraded: "False/Settled"},
		},
		"an error that may pass": {
			Unusable("Down", "down"), errBroken,
			map[string]string{Ready: "False/Retrying", Available: "False/Down", Progressing: "True/Retrying", Degraded: "False/Retrying"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var conds []metav1.Condition
			Set(&conds, 1, c.can, c.outcome)
			got := map[string]string{}
			for _, cond := range conds {
				got[cond.Type] = string(cond.Status) + "/" + cond.Reason
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTimesMoveOnlyOnAFlip(t *testing.T) {
	then := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	var conds []metav1.Condition
	Set(&conds, 1, Usable("Serves", "1 of 2"), &Waiting{Reason: "RollingOut", Message: "1 of 2"})
	for i := range conds {
		conds[i].LastTransitionTime = then
	}
	if !Set(&conds, 2, Usable("Serves", "2 of 2"), nil) {
		t.Error("no change reported")
	}
	flipped := map[string]bool{}
	for _, c := range conds {
		flipped[c.Type] = !c.LastTransitionTime.Equal(&then)
	}
	want := map[string]bool{Ready: true, Progressing: true, Available: false, Degraded: false}
	if diff := cmp.Diff(want, flipped); diff != "" {
		t.Error(diff)
	}
}

func TestResult(t *testing.T) {
	cases := map[string]struct {
		outcome error
		want    reconcile.Result
		err     error
	}{
		"settled":                        {},
		"waiting for a watch":            {outcome: &Waiting{}},
		"waiting with a time":            {outcome: &Waiting{Retry: time.Minute}, want: reconcile.Result{RequeueAfter: time.Minute}},
		"waiting, wrapped":               {outcome: fmt.Errorf("x: %w", &Waiting{Retry: time.Minute}), want: reconcile.Result{RequeueAfter: time.Minute}},
		"terminal is no failure of ours": {outcome: &Terminal{}},
		"terminal with a time":           {outcome: &Terminal{Retry: time.Hour}, want: reconcile.Result{RequeueAfter: time.Hour}},
		"conflict is retried quietly":    {outcome: errConflict, want: reconcile.Result{RequeueAfter: conflictRetry}},
		"a webhook's conflict backs off": {outcome: errDenied, err: errDenied},
		"transient backs off":            {outcome: errBroken, err: errBroken},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Result(c.outcome)
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	answer := func(code int32, reason metav1.StatusReason) error {
		return fmt.Errorf("apply: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: "hollow purple"}})
	}
	// As the API server makes them: validating/dispatcher.go, and NewGenericServerResponse of client-go for what is no answer of its own.
	policy := apierrors.NewForbidden(things, "tokyo", errBroken)
	policy.ErrStatus.Code, policy.ErrStatus.Reason = 401, metav1.StatusReasonUnauthorized
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "hollow purple"}}
	applied := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec"}}, "hollow purple")
	const refused, lost, passing = "refused", "a lost race", "may pass"
	cases := map[string]struct {
		err  error
		want string
		says string
	}{
		"a policy":                          {answer(403, metav1.StatusReasonForbidden), refused, "403 Forbidden"},
		"a webhook that gives no reason":    {answer(400, ""), refused, "400 Bad Request"},
		"a webhook's own words":             {answer(422, "hollow purple"), refused, "422 Unprocessable Entity"},
		"a webhook that says conflict":      {answer(409, metav1.StatusReasonConflict), refused, "409 Conflict"},
		"a webhook's own word for conflict": {answer(409, "hollow purple"), refused, "409 Conflict"},
		"a policy that says unauthorized":   {fmt.Errorf("apply: %w", policy), refused, "401 Unauthorized"},
		"somebody was faster":               {fmt.Errorf("apply: %w", errConflict), lost, "409 Conflict"},
		"a field is somebody else's":        {fmt.Errorf("apply: %w", applied), lost, "409 Conflict"},
		"somebody was faster to create it":  {apierrors.NewAlreadyExists(things, "tokyo"), passing, "409 Conflict"},
		"the API server does not know us":   {apierrors.NewUnauthorized("hollow purple"), passing, "401 Unauthorized"},
		"a proxy does not know us":          {apierrors.NewGenericServerResponse(401, "PATCH", things, "tokyo", "", 0, true), passing, "401 Unauthorized"},
		"a namespace that is gone":          {answer(404, metav1.StatusReasonNotFound), passing, "404 Not Found"},
		"too much at once":                  {answer(429, metav1.StatusReasonTooManyRequests), passing, "429 Too Many Requests"},
		"the API server has failed":         {answer(500, metav1.StatusReasonInternalError), passing, "500 Internal Server Error"},
		"no answer":                         {errors.New("connection refused"), passing, "connection refused"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if Refused(c.err) != (c.want == refused) || LostRace(c.err) != (c.want == lost) {
				t.Errorf("refused: %v, a lost race: %v; want %s", Refused(c.err), LostRace(c.err), c.want)
			}
			if got := Wordless(c.err).Error(); got != c.says {
				t.Errorf("says %q, want %q", got, c.says)
			}
		})
	}
	if Refused(nil) || LostRace(nil) || StatusCode(nil) != 0 || Wordless(nil) != nil {
		t.Error("no error is no refusal")
	}
}

func TestEventFor(t *testing.T) {
	after := func(can Availability, outcome error) []metav1.Condition {
		var conds []metav1.Condition
		Set(&conds, 1, can, outcome)
		return conds
	}
	usable := Usable("Serves", "serves")
	wrong := &Terminal{Reason: "Wrong", Message: "mend it"}
	cases := map[string]struct {
		before, after []metav1.Condition
		want          *Event
	}{
		"first seen, waiting":             {nil, after(usable, &Waiting{}), nil},
		"becomes ready":                   {after(usable, &Waiting{}), after(usable, nil), &Event{corev1.EventTypeNormal, "Ready", "The spec is true."}},
		"stays ready":                     {after(usable, nil), after(usable, nil), nil},
		"becomes degraded":                {after(usable, nil), after(usable, wrong), &Event{corev1.EventTypeWarning, "Wrong", "mend it"}},
		"stays degraded":                  {after(usable, wrong), after(usable, wrong), nil},
		"degraded for another reason":     {after(usable, wrong), after(usable, &Terminal{Reason: "Else", Message: "m"}), &Event{corev1.EventTypeWarning, "Else", "m"}},
		"recovers but is not there yet":   {after(usable, wrong), after(usable, &Waiting{}), nil},
		"an error that may pass, no tale": {after(usable, nil), after(usable, errBroken), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, EventFor(c.before, c.after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
