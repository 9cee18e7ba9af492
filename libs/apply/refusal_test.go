// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
	"jutsu.com/operators/libs/conditions"
)

const password = "hollow purple"

var things = schema.GroupResource{Resource: "things"}

func answer(code int32, reason, message string) error {
	return &apierrors.StatusError{
		ErrStatus: metav1.Status{Code: code, Reason: metav1.StatusReason(reason), Message: message},
	}
}

func (w *world) failing(err *error) client.Client {
	return interceptor.NewClient(w.server, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if *err != nil {
				return *err
			}
			return c.Create(ctx, o, opts...)
		},
		Apply: func(
			ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption,
		) error {
			if *err != nil {
				return *err
			}
			return c.Apply(ctx, o, opts...)
		},
	})
}

func secret(values ...string) *unstructured.Unstructured {
	data := map[string][]byte{}
	for _, value := range values {
		data["DB_PASS"] = []byte(value)
	}
	return apply.Typed(corev1ac.Secret(tokyo, school).WithType(corev1.SecretTypeOpaque).WithData(data))
}

func TestFailures(t *testing.T) {
	t.Parallel()
	quota := apierrors.NewForbidden(things, tokyo, errors.New("exceeded quota: compute"))
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, tokyo,
		field.ErrorList{field.Invalid(field.NewPath("data"), password, "is odd")})
	conflict := apierrors.NewApplyConflict(
		[]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec"}}, "kubectl has it")
	terminating := apierrors.NewForbidden(things, tokyo, errors.New("because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	broken := apierrors.NewInternalError(errors.New("the webhook says " + password))
	const refusesWidget = "The API server refuses the Widget tokyo: "
	const refusesSecret = "The API server refuses the Secret tokyo: "
	const immutable = ". If the Secret is immutable, delete it; the operator creates it again"

	const degraded, progressing, stale = "Degraded/ChildRefused", "Progressing/NamespaceTerminating", "stale"
	const retrying = "Progressing/Retrying"
	cases := map[string]struct {
		desired *unstructured.Unstructured
		exists  bool
		err     error
		want    string
		message string
	}{
		"the namespace is being deleted": {
			widget(t, widgetSpec), false, terminating, progressing, "The namespace school is being deleted.",
		},
		"created by another client": {
			widget(t, widgetSpec), false, apierrors.NewAlreadyExists(things, tokyo), stale, "",
		},
		"quota": {
			widget(t, widgetSpec), false, quota, degraded, refusesWidget + quota.Error(),
		},
		"invalid": {
			widget(t, widgetSpec), true, invalid, degraded, refusesWidget + invalid.Error(),
		},
		"denied with a message": {
			widget(t, widgetSpec), true, answer(400, "", "no team label"), degraded, refusesWidget + "no team label",
		},
		"denied as a conflict": {
			widget(t, widgetSpec), true, answer(409, "Conflict", "no label"), degraded, refusesWidget + "no label",
		},
		"a conflict over our fields": {widget(t, widgetSpec), true, conflict, stale, ""},
		"another client was faster": {
			widget(t, widgetSpec), true, apierrors.NewConflict(things, tokyo, errors.New("x")), stale, "",
		},
		"the API server is broken": {
			widget(t, widgetSpec), true, broken, retrying, "Widget tokyo: " + broken.Error(),
		},
		"a Secret, another client was faster": {
			secret(password), true, apierrors.NewConflict(things, tokyo, errors.New(password)), stale, "",
		},
		"a Secret, invalid": {
			secret(password), true, invalid, degraded, refusesSecret + "422 Unprocessable Entity" + immutable,
		},
		"a Secret, forbidden": {secret(password), true, quota, degraded, refusesSecret + "403 Forbidden"},
		"a Secret, denied with a message": {
			secret(password), true, answer(400, "", password), degraded, refusesSecret + "400 Bad Request",
		},
		"a Secret, denied with a reason": {
			secret(password), false, answer(400, password, ""), degraded, refusesSecret + "400 Bad Request",
		},
		"a Secret, forbidden with a webhook's reason": {
			secret(password), true, answer(403, password, password), degraded, refusesSecret + "403 Forbidden",
		},
		"a Secret, denied as a conflict": {
			secret(password), true, answer(409, "Conflict", password), degraded, refusesSecret + "409 Conflict",
		},
		"a Secret, the API server does not answer": {
			secret(password), true, errors.New("refused"), retrying, "Secret tokyo: refused",
		},
		"a Secret, the API server is broken": {
			secret(password), true, broken, retrying, "Secret tokyo: 500 Internal Server Error",
		},
		"a Secret, unauthorized": {
			secret(password), true, apierrors.NewUnauthorized(password), retrying, "Secret tokyo: 401 Unauthorized",
		},
		"a Secret, its namespace is gone": {
			secret(password), false, apierrors.NewNotFound(things, password), retrying, "Secret tokyo: 404 Not Found",
		},
		"a Secret, too many requests": {
			secret(password), true, apierrors.NewTooManyRequestsError(password), retrying,
			"Secret tokyo: 429 Too Many Requests",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.exists && c.desired.GetKind() == "Secret" {
				w.run(apply.Write[*corev1.Secret](us, nil, secret("former")))
			} else if c.exists {
				w.run(plan(w, emptyWidget(), widget(t, widgetSpec, set("colour", "blue"))))
			}
			w.restart(w.failing(&c.err))
			var o *apply.Object
			if c.desired.GetKind() == "Secret" {
				o = apply.Write(us, applytest.Get(t, w.server, school, tokyo, &corev1.Secret{}), c.desired)
			} else {
				o = plan(w, emptyWidget(), c.desired)
			}
			results := w.run(o)
			if len(results.Objects) != 1 || results.Objects[0].Outcome != apply.Failed {
				t.Errorf("results %+v", results)
			}
			if results.Stale != (c.want == stale) || results.Stale != (results.Issues == nil) {
				t.Fatalf("results %+v", results)
			}
			if results.Stale {
				return
			}
			issue := results.Issues[0]
			message := c.message
			switch {
			case c.want == degraded && apierrors.IsInvalid(c.err) && c.desired.GetKind() == "Secret":
				message += ". Otherwise check admission policies."
			case c.want == degraded && apierrors.IsInvalid(c.err):
				message += invalidAdvice
			case c.want == degraded:
				message += advice
			}
			if got := issue.Type + "/" + issue.Reason; got != c.want || issue.Message != message {
				t.Errorf("got %s %q,\nwant %s %q", got, issue.Message, c.want, message)
			}
			if c.desired.GetKind() == "Secret" && strings.Contains(fmt.Sprintf("%+v %v", issue, issue.Err), password) {
				t.Errorf("an error has a password: %v", issue)
			}
			if (c.want == degraded) != (issue.RequeueAfter > 0) {
				t.Errorf("is retried after %s", issue.RequeueAfter)
			}
		})
	}
}

func TestAnInvalidObjectHasItsOwnReason(t *testing.T) {
	t.Parallel()
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, tokyo,
		field.ErrorList{field.Invalid(field.NewPath("spec", "size"), "7", "is odd")})
	for want, err := range map[string]error{
		"ThingRefused: The API server refuses the Widget tokyo: " + invalid.Error() + ". Correct spec.thing.": invalid,
		"ChildRefused: The API server refuses the Widget tokyo: no" + advice:                                  answer(403, "", "no"),
	} {
		w := newWorld(t)
		w.restart(w.failing(&err))
		o := plan(w, emptyWidget(), widget(t, widgetSpec))
		o.Invalid = apply.Refusal{Reason: "ThingRefused", Advice: "Correct spec.thing."}
		issue := w.run(o).Issues[0]
		if got := issue.Reason + ": " + issue.Message; got != want || issue.RequeueAfter == 0 {
			t.Errorf("got %s, again after %s,\nwant %s", got, issue.RequeueAfter, want)
		}
	}
}

// A ValidatingAdmissionPolicy answers 422 by default. A deletion has no value that a user can correct.
func TestADeletionIsNotInvalid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(plan(w, emptyWidget(), widget(t, widgetSpec)))
	w.restart(interceptor.NewClient(w.server, interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return answer(422, "Invalid", "no")
		},
	}))
	results := w.applier.Run(testContext, w.owner, apply.Plan{Delete: []apply.Deletion{apply.Delete("Widget", w.widget())}})
	const want = "The API server refuses the deletion of the Widget tokyo: no" + advice
	if len(results.Issues) != 1 || results.Issues[0].Message != want {
		t.Errorf("results %+v", results)
	}
}

func TestRefusedIsRetriedAfterGrowingPauses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refusal := answer(403, "Forbidden", "exceeded quota")
	w.restart(w.failing(&refusal))
	refused := func() time.Duration {
		t.Helper()
		results := w.run(plan(w, emptyWidget(), widget(t, widgetSpec)))
		if len(results.Issues) != 1 || results.Issues[0].Type != conditions.TypeDegraded {
			t.Fatalf("results %+v", results)
		}
		return results.Issues[0].RequeueAfter
	}
	start := w.clock.Now()
	for _, step := range []struct{ after, least time.Duration }{
		{0, 15 * time.Second}, {time.Second, 15 * time.Second}, {15 * time.Second, 15 * time.Second},
		{30 * time.Second, 30 * time.Second}, {time.Minute, time.Minute}, {5 * time.Minute, 5 * time.Minute},
		{10 * time.Minute, 10 * time.Minute}, {20 * time.Minute, 10 * time.Minute},
		{31 * time.Minute, 10 * time.Minute},
		{24 * time.Hour, 15 * time.Second}, // after a day the applier has forgotten the first refusal
	} {
		w.clock.SetTime(start.Add(step.after))
		if got := refused(); got < step.least || got > step.least+step.least/10 {
			t.Errorf("refused for %s, is retried after %s", step.after, got)
		}
	}
	start = w.clock.Now()
	w.clock.SetTime(start.Add(5 * time.Minute))
	if got := refused(); got < 5*time.Minute {
		t.Errorf("is retried after %s", got)
	}
	refusal = nil
	if results := w.run(plan(w, emptyWidget(), widget(t, widgetSpec))); results.Issues != nil {
		t.Fatalf("results %+v", results)
	}
	w.delete(w.widget())
	refusal = answer(403, "Forbidden", "exceeded quota")
	if got := refused(); got > 17*time.Second {
		t.Errorf("after a success, is retried after %s", got)
	}
}

func TestAlreadyExistsIsANameConflictAfterAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	exists := error(apierrors.NewAlreadyExists(schema.GroupResource{Resource: "widgets"}, "tokyo"))
	w.restart(w.failing(&exists))
	start := w.clock.Now()
	for _, step := range []struct{ after, least time.Duration }{
		{0, 0}, {time.Second, 0}, {2 * time.Second, 15 * time.Second}, {time.Minute, time.Minute}, {time.Hour, 0},
	} {
		w.clock.SetTime(start.Add(step.after))
		results := w.run(plan(w, emptyWidget(), widget(t, widgetSpec)))
		switch {
		case results.Stale != (step.least == 0):
			t.Errorf("after %s, stale: %v", step.after, results.Stale)
		case results.Stale:
		case results.Issues[0].Reason != reasons.NameConflict, results.Issues[0].RequeueAfter < step.least:
			t.Errorf("after %s: %+v", step.after, results.Issues)
		}
	}
	exists = nil
	if results := w.run(plan(w, emptyWidget(), widget(t, widgetSpec))); results.Stale || results.Issues != nil {
		t.Errorf("once it has gone: %+v", results)
	}
}

const (
	advice        = ". Check quotas, admission policies and the operator's permissions."
	invalidAdvice = ". Correct the value in the spec, or check admission policies."
)

func TestSuccessEndsEveryRefusal(t *testing.T) {
	t.Parallel()
	refusal := answer(403, "Forbidden", "no")
	w := newWorld(t)
	w.restart(interceptor.NewClient(w.server, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if refusal != nil {
				return refusal
			}
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(
			ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption,
		) error {
			if refusal != nil {
				return refusal
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}))
	w.run(plan(w, emptyWidget(), widget(t, widgetSpec)))
	cases := map[string]struct {
		plan    func() apply.Plan
		message string
	}{
		"deletion": {
			func() apply.Plan { return apply.Plan{Delete: []apply.Deletion{apply.Delete("Widget", w.widget())}} },
			"The API server refuses the deletion of the Widget tokyo: no",
		},
		"finalizers": {
			func() apply.Plan {
				return apply.Plan{Finalizers: []string{"example.org/" + w.clock.Now().Format("150405")}}
			},
			"The API server refuses the finalizers of the ConfigMap: no",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			try := func() (retry time.Duration) {
				t.Helper()
				results := w.applier.Run(testContext, w.owner, c.plan())
				if (results.Issues != nil) != (refusal != nil) ||
					refusal != nil && results.Issues[0].Message != c.message+advice {
					t.Fatalf("results %+v", results)
				}
				for _, issue := range results.Issues {
					retry = issue.RequeueAfter
				}
				return retry
			}
			refusal = answer(403, "Forbidden", "no")
			try()
			w.clock.SetTime(w.clock.Now().Add(5 * time.Minute))
			if got := try(); got < 5*time.Minute {
				t.Errorf("is retried after %s", got)
			}
			refusal = nil
			try()
			refusal = answer(403, "Forbidden", "no")
			if name == "deletion" {
				if err := w.server.Create(testContext, widget(t, widgetSpec).DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
			if got := try(); got > 17*time.Second {
				t.Errorf("after a success, is retried after %s", got)
			}
		})
	}
}
