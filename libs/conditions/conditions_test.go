// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	errTimeout  = errors.New("timeout")
	dojos       = schema.GroupResource{Resource: "dojos"}
	errConflict = apierrors.NewConflict(dojos, "tokyo", errBroken)
	errDenied   = &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: 409, Reason: metav1.StatusReasonConflict, Message: "denied",
	}}
	outcomes = map[string]error{
		"reconciled":           nil,
		"progressing":          Progressing("WaitingForIt", "it does not exist"),
		"progressing, wrapped": fmt.Errorf("apply: %w", Progressing("WaitingForIt", "it does not exist")),
		"degraded":             Degraded("Wrong", "fix it"),
		"transient":            errBroken,
		"conflict":             errConflict,
	}
	availabilities = map[string]Availability{
		"usable":          Usable("Serves", "serves"),
		"unusable":        Unusable("Down", "down"),
		"nothing desired": NothingDesired("Off", "off"),
	}
)

func TestSetNeverContradictsItself(t *testing.T) {
	for a, can := range availabilities {
		for o, err := range outcomes {
			t.Run(a+", "+o, func(t *testing.T) {
				var conds []metav1.Condition
				if !Set(&conds, 7, can, Worst(Of(err))) {
					t.Error("the first Set did not report a change")
				}
				if Set(&conds, 7, can, Worst(Of(err))) {
					t.Error("the second Set of the same reported a change")
				}
				is := func(kind string) bool { return meta.IsStatusConditionTrue(conds, kind) }
				if is(TypeProgressing) && is(TypeDegraded) {
					t.Error("Progressing and Degraded")
				}
				inSync := !is(TypeProgressing) && !is(TypeDegraded)
				if want := inSync && (is(TypeAvailable) || can.nothingDesired); is(TypeReady) != want {
					t.Errorf("Ready is %v, want %v", is(TypeReady), want)
				}
				if is(TypeAvailable) != can.usable {
					t.Errorf("Available is %v, want %v", is(TypeAvailable), can.usable)
				}
				checkForm(t, conds)
				checkKstatus(t, conds, is(TypeReady))
			})
		}
	}
}

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

func TestSetReportsTheReason(t *testing.T) {
	cases := map[string]struct {
		can  Availability
		err  error
		want map[string]string // type -> status/reason
	}{
		"scaling while it serves": {
			Usable("Serves", "3 of 5"), Progressing("RollingOut", "3 of 5"),
			map[string]string{
				TypeReady: "False/RollingOut", TypeAvailable: "True/Serves",
				TypeProgressing: "True/RollingOut", TypeDegraded: "False/RollingOut",
			},
		},
		"broken while it serves": {
			Usable("Serves", "3 of 5"), Degraded("Wrong", "fix it"),
			map[string]string{
				TypeReady: "False/Wrong", TypeAvailable: "True/Serves",
				TypeProgressing: "False/Wrong", TypeDegraded: "True/Wrong",
			},
		},
		"scaled to zero": {
			NothingDesired("ScaledToZero", "off"), nil,
			map[string]string{
				TypeReady: "True/Reconciled", TypeAvailable: "False/ScaledToZero",
				TypeProgressing: "False/Reconciled", TypeDegraded: "False/Reconciled",
			},
		},
		"reconciled but down": {
			Unusable("Down", "down"), nil,
			map[string]string{
				TypeReady: "False/Down", TypeAvailable: "False/Down",
				TypeProgressing: "False/Reconciled", TypeDegraded: "False/Reconciled",
			},
		},
		"a transient error": {
			Unusable("Down", "down"), errBroken,
			map[string]string{
				TypeReady: "False/Retrying", TypeAvailable: "False/Down",
				TypeProgressing: "True/Retrying", TypeDegraded: "False/Retrying",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var conds []metav1.Condition
			Set(&conds, 1, c.can, Worst(Of(c.err)))
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

func TestSetCutsALongMessageAtARune(t *testing.T) {
	var conds []metav1.Condition
	Set(&conds, 1, Usable("Serves", strings.Repeat("呪", maxMessage)), nil)
	message := meta.FindStatusCondition(conds, TypeAvailable).Message
	if len(message) > maxMessage || !utf8.ValidString(message) || !strings.HasSuffix(message, "...") {
		t.Errorf("a message of %d bytes, valid: %v", len(message), utf8.ValidString(message))
	}
}

func TestTimesMoveOnlyOnAFlip(t *testing.T) {
	then := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	var conds []metav1.Condition
	Set(&conds, 1, Usable("Serves", "1 of 2"), Progressing("RollingOut", "1 of 2"))
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
	want := map[string]bool{TypeReady: true, TypeProgressing: true, TypeAvailable: false, TypeDegraded: false}
	if diff := cmp.Diff(want, flipped); diff != "" {
		t.Error(diff)
	}
}

func TestSetPart(t *testing.T) {
	const part = "DatabaseReady"
	issue := func(i *Issue, part string) Issue {
		i.Part = part
		return *i
	}
	const ready = "True/Connected/dojo on shared-pg"
	cases := map[string]struct {
		issues []Issue
		want   string // status/reason/message
	}{
		"no issue":                     {nil, ready},
		"an issue of the whole object": {[]Issue{issue(Degraded("Wrong", "fix it"), "")}, ready},
		"an issue of other parts":      {[]Issue{issue(Degraded("Wrong", "fix it"), "AlertsReady")}, ready},
		"an issue of the part":         {[]Issue{issue(Progressing("Starting", "wait"), part)}, "False/Starting/wait"},
		"the worst issue of the part": {
			[]Issue{
				issue(Degraded("Wrong", "fix it"), ""), issue(Progressing("Starting", "wait"), part),
				issue(Degraded("NoStorage", "add storage"), part),
			},
			"False/NoStorage/add storage",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var conds []metav1.Condition
			SetPart(&conds, 7, part, c.issues, "Connected", "dojo on shared-pg")
			if len(conds) != 1 || conds[0].Type != part || conds[0].ObservedGeneration != 7 {
				t.Fatalf("got %+v", conds)
			}
			if got := fmt.Sprintf("%s/%s/%s", conds[0].Status, conds[0].Reason, conds[0].Message); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestOf(t *testing.T) {
	degraded := Degraded("Wrong", "fix %s", "it").After(time.Hour)
	conflict := Issue{
		Type: TypeProgressing, Reason: ReasonRetrying, RequeueAfter: conflictRetry,
		Message: "Another client changed the object at the same time; the operator retries.",
	}
	retried := func(message string, err error) Issue {
		return Issue{Type: TypeProgressing, Reason: ReasonRetrying, Message: message, Err: err}
	}
	wrong := Issue{Type: TypeDegraded, Reason: "Wrong", Message: "fix it", RequeueAfter: time.Hour}
	cases := map[string]struct {
		err  error
		want []Issue
	}{
		"no error":            {nil, nil},
		"an issue":            {degraded, []Issue{wrong}},
		"an issue, wrapped":   {fmt.Errorf("apply: %w", degraded), []Issue{*degraded}},
		"a conflict":          {fmt.Errorf("apply: %w", errConflict), []Issue{conflict}},
		"an error":            {errBroken, []Issue{retried("connection refused", errBroken)}},
		"a webhook's refusal": {errDenied, []Issue{retried("denied", errDenied)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Of(c.err), cmpopts.EquateErrors()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got, want := degraded.Error(), "Wrong: fix it"; got != want {
		t.Errorf("Error is %q, want %q", got, want)
	}
}

func TestWorst(t *testing.T) {
	degraded, other := *Degraded("Wrong", "fix it"), *Degraded("AlsoWrong", "fix that")
	retried, waiting := Of(errBroken)[0], *Progressing("WaitingForIt", "wait")
	cases := map[string]struct {
		issues []Issue
		want   []Issue
	}{
		"none":                              {nil, nil},
		"one":                               {[]Issue{waiting}, []Issue{waiting}},
		"Degraded before a retried error":   {[]Issue{retried, degraded}, []Issue{degraded}},
		"Degraded before waiting":           {[]Issue{waiting, degraded}, []Issue{degraded}},
		"a retried error before waiting":    {[]Issue{waiting, retried}, []Issue{retried}},
		"the first of two that are equal":   {[]Issue{waiting, other, degraded}, []Issue{other}},
		"Degraded is the first of the list": {[]Issue{degraded, retried, waiting}, []Issue{degraded}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []Issue
			if worst := Worst(c.issues); worst != nil {
				got = append(got, *worst)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateErrors()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWaitUntil(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	const deadline = time.Minute
	exceeded := Degraded("Missing", "create it")
	cases := map[string]struct {
		ago   time.Duration
		after time.Duration // 0 if the deadline is exceeded
	}{
		"begins to wait":                     {0, deadline},
		"has waited for a while":             {20 * time.Second, 40 * time.Second},
		"a moment before the deadline":       {deadline - 1, 1},
		"at the deadline":                    {deadline, 0},
		"long after the deadline":            {time.Hour, 0},
		"the other process's clock is ahead": {-time.Hour, deadline},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := exceeded
			if c.after > 0 {
				want = &Issue{Type: TypeProgressing, Reason: "Waiting", Message: "soon", RequeueAfter: c.after}
			}
			got := WaitUntil(now, now.Add(-c.ago), deadline, Progressing("Waiting", "soon"), exceeded)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResult(t *testing.T) {
	of := func(errs ...error) []Issue {
		var issues []Issue
		for _, err := range errs {
			issues = append(issues, Of(err)...)
		}
		return issues
	}
	wait, again := Progressing("WaitingForIt", "wait"), Progressing("WaitingForIt", "wait").After(time.Minute)
	wrong, late := Degraded("Wrong", "fix it"), Degraded("Wrong", "fix it").After(time.Hour)
	after := func(d time.Duration) reconcile.Result { return reconcile.Result{RequeueAfter: d} }
	cases := map[string]struct {
		issues []Issue
		want   reconcile.Result
		errs   []error
	}{
		"reconciled":                                 {},
		"waiting for a watch":                        {issues: of(wait)},
		"waiting with a retry time":                  {issues: of(again), want: after(time.Minute)},
		"waiting, wrapped":                           {issues: of(fmt.Errorf("x: %w", again)), want: after(time.Minute)},
		"degraded does not back off":                 {issues: of(wrong)},
		"degraded with a retry time":                 {issues: of(late), want: after(time.Hour)},
		"a conflict is retried without an error":     {issues: of(errConflict), want: after(conflictRetry)},
		"a webhook's conflict backs off":             {issues: of(errDenied), errs: []error{errDenied}},
		"a transient error backs off":                {issues: of(errBroken), errs: []error{errBroken}},
		"the earliest retry time":                    {issues: of(late, wait, again), want: after(time.Minute)},
		"an error takes precedence over retry times": {issues: of(again, errBroken, late), errs: []error{errBroken}},
		"an error beside a degraded part":            {issues: of(wrong, errBroken), errs: []error{errBroken}},
		"all errors":                                 {issues: of(errBroken, errTimeout), errs: []error{errBroken, errTimeout}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Result(c.issues)
			if got != c.want || (err == nil) != (len(c.errs) == 0) {
				t.Errorf("got %+v, %v", got, err)
			}
			for _, want := range c.errs {
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v in it", err, want)
				}
			}
		})
	}
}

func TestRefused(t *testing.T) {
	answer := func(code int32, reason metav1.StatusReason) error {
		status := metav1.Status{Code: code, Reason: reason, Message: "hollow purple"}
		return fmt.Errorf("apply: %w", &apierrors.StatusError{ErrStatus: status})
	}
	// policy is like an error of validating/dispatcher.go in the API server. proxy is
	// client-go's error for a 401 of a proxy.
	policy := apierrors.NewForbidden(dojos, "tokyo", errBroken)
	policy.ErrStatus.Code, policy.ErrStatus.Reason = 401, metav1.StatusReasonUnauthorized
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "hollow purple"}}
	owned := []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec"}}
	applied := apierrors.NewApplyConflict(owned, "hollow purple")
	proxy := apierrors.NewGenericServerResponse(401, "PATCH", dojos, "tokyo", "", 0, true)
	const refused, conflict, passing = "refused", "a conflict", "may pass"
	cases := map[string]struct {
		err  error
		want string
		text string
	}{
		"a policy":                            {answer(403, metav1.StatusReasonForbidden), refused, "403 Forbidden"},
		"a webhook without a reason":          {answer(400, ""), refused, "400 Bad Request"},
		"a webhook with a reason of its own":  {answer(422, "hollow purple"), refused, "422 Unprocessable Entity"},
		"a webhook with the reason Conflict":  {answer(409, metav1.StatusReasonConflict), refused, "409 Conflict"},
		"a webhook with the code of Conflict": {answer(409, "hollow purple"), refused, "409 Conflict"},
		"a policy with reason Unauthorized":   {fmt.Errorf("apply: %w", policy), refused, "401 Unauthorized"},
		"written by another client":           {fmt.Errorf("apply: %w", errConflict), conflict, "409 Conflict"},
		"a field that another client owns":    {fmt.Errorf("apply: %w", applied), conflict, "409 Conflict"},
		"created by another client":           {apierrors.NewAlreadyExists(dojos, "tokyo"), passing, "409 Conflict"},
		"a client unknown to the API server":  {apierrors.NewUnauthorized("purple"), passing, "401 Unauthorized"},
		"a client unknown to a proxy":         {proxy, passing, "401 Unauthorized"},
		"a namespace that does not exist":     {answer(404, metav1.StatusReasonNotFound), passing, "404 Not Found"},
		"too many requests":                   {answer(429, "TooManyRequests"), passing, "429 Too Many Requests"},
		"an internal error of the API server": {answer(500, "InternalError"), passing, "500 Internal Server Error"},
		"no answer":                           {errors.New("connection refused"), passing, "connection refused"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if Refused(c.err) != (c.want == refused) || Conflict(c.err) != (c.want == conflict) {
				t.Errorf("refused: %v, a conflict: %v; want %s", Refused(c.err), Conflict(c.err), c.want)
			}
			if got := Redacted(c.err).Error(); got != c.text {
				t.Errorf("redacted to %q, want %q", got, c.text)
			}
		})
	}
	if Refused(nil) || Conflict(nil) || StatusCode(nil) != 0 || Redacted(nil) != nil {
		t.Error("nil counts as a refusal or conflict, or has a status code or text")
	}
}

func TestEventFor(t *testing.T) {
	after := func(can Availability, err error) []metav1.Condition {
		var conds []metav1.Condition
		Set(&conds, 1, can, Worst(Of(err)))
		return conds
	}
	usable := Usable("Serves", "serves")
	wrong, other := Degraded("Wrong", "fix it"), Degraded("Else", "m")
	waiting := Progressing("WaitingForIt", "wait")
	ready := &Event{corev1.EventTypeNormal, "Ready", "The object matches its spec."}
	warning := func(reason, message string) *Event { return &Event{corev1.EventTypeWarning, reason, message} }
	cases := map[string]struct {
		before, after []metav1.Condition
		want          *Event
	}{
		"new, waiting":                  {nil, after(usable, waiting), nil},
		"becomes ready":                 {after(usable, waiting), after(usable, nil), ready},
		"stays ready":                   {after(usable, nil), after(usable, nil), nil},
		"becomes degraded":              {after(usable, nil), after(usable, wrong), warning("Wrong", "fix it")},
		"stays degraded":                {after(usable, wrong), after(usable, wrong), nil},
		"degraded for another reason":   {after(usable, wrong), after(usable, other), warning("Else", "m")},
		"recovers but is not ready yet": {after(usable, wrong), after(usable, waiting), nil},
		"a transient error":             {after(usable, nil), after(usable, errBroken), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, EventFor(c.before, c.after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
