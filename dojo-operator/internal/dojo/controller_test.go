// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

func (w *world) intercept(create func(kind string) error) (statuses *int) {
	statuses = new(int)
	c := interceptor.NewClient(w.Server, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			gvk, err := c.GroupVersionKindFor(o)
			must(w.t, err)
			if err := create(gvk.Kind); err != nil {
				return err
			}
			return c.Create(ctx, o, options...)
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch,
			options ...client.SubResourcePatchOption,
		) error {
			*statuses++
			return c.SubResource(name).Patch(ctx, o, patch, options...)
		},
	})
	w.reconciler.Client = c
	w.reconciler.applier = apply.New(c, ownership.FieldOwner, apply.Reasons{
		Refused: corev1api.ReasonChildRefused, NamespaceTerminating: corev1api.ReasonNamespaceTerminating,
		NameConflict: corev1api.ReasonNameConflict,
	}, testclock.NewFakePassiveClock(dojotest.Noon))
	return statuses
}

func (w *world) dojo() *corev1api.Dojo {
	w.t.Helper()
	return objectOf[corev1api.Dojo](w, "tokyo")
}

func (w *world) reconcile() (reconcile.Result, error) {
	w.t.Helper()
	return w.reconciler.Reconcile(context.Background(), w.dojo())
}

func (w *world) recorded() (all []string) {
	for {
		select {
		case event := <-w.events.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dojotest.Dojo(), dojotest.Source())
	statuses := w.intercept(func(string) error { return nil })
	for range 2 {
		if result, err := w.reconcile(); err != nil || !result.IsZero() {
			t.Errorf("ends with %+v, %v", result, err)
		}
	}
	w.serve(3)
	for range 2 {
		if result, err := w.reconcile(); err != nil || !result.IsZero() {
			t.Errorf("ends with %+v, %v", result, err)
		}
	}
	status := w.dojo().Status
	if *statuses != 2 || status.ReadyReplicas != 3 || conditionOf(status, conditions.TypeReady) != "True/Reconciled" {
		t.Errorf("%d writes of the status: %+v", *statuses, status)
	}
	if diff := cmp.Diff([]string{"Normal Ready The object matches its spec."}, w.recorded()); diff != "" {
		t.Error(diff)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	rotated := func(w *world) { applytest.Edit(w.t, w.Server, "kubectl", w.source(), key("password", "red")) }
	drift := drifts()["target of the port"].change
	respecified := func(w *world) {
		drift(w)
		applytest.Edit(w.t, w.Server, "kubectl", w.dojo(), func(dojo *corev1api.Dojo) { dojo.Spec.Title = "Kyoto" })
	}
	for name, c := range map[string]struct {
		change func(*world)
		want   []string
	}{
		"no change":                      {func(*world) {}, nil},
		"password changed in the source": {rotated, []string{"Normal CredentialsRotated The database credentials have changed"}},
		"drift":                          {drift, []string{"Normal DriftCorrected The Service tokyo was changed by another client"}},
		// There is no event, because the new spec may have caused the difference.
		"drift and a new spec": {respecified, nil},
		"Service deleted":      {func(w *world) { w.remove(w.service()) }, nil},
		"pods crash":           {(*world).crash, []string{"Warning CrashLoopBackOff 2 of 3 replicas are ready; pod"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, dojotest.Dojo(), dojotest.Source())
			_, err := w.reconcile()
			must(t, err)
			w.serve(3)
			_, err = w.reconcile()
			must(t, err)
			w.recorded()
			c.change(w)
			_, err = w.reconcile()
			must(t, err)
			got := w.recorded()
			if !slices.EqualFunc(c.want, got, func(want, got string) bool { return strings.HasPrefix(got, want) }) {
				t.Errorf("events are %q, want %q", got, c.want)
			}
		})
	}
}

// The status of a deleted Dojo is not written into a new Dojo of the same name.
func TestAnotherDojoOfTheSameName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dojotest.Dojo(), dojotest.Source())
	statuses := w.intercept(func(string) error { return nil })
	former := w.dojo()
	w.remove(w.dojo())
	w.Put(dojotest.Dojo())
	result, err := w.reconciler.Reconcile(t.Context(), former)
	if *statuses != 1 || err != nil || result.RequeueAfter <= 0 {
		t.Errorf("%d writes of the status, %+v, %v", *statuses, result, err)
	}
	if status := w.dojo().Status; status.Conditions != nil {
		t.Errorf("the new Dojo has the status of the deleted Dojo: %+v", status)
	}
}

// controller-runtime warns about a result with both an error and RequeueAfter.
func TestAnErrorIsRequeuedByItsBackoff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dojotest.Dojo(), dojotest.Source())
	w.intercept(func(string) error { return errUnreachable })
	stale := w.dojo()
	applytest.Edit(t, w.Server, "kubectl", w.dojo(), func(dojo *corev1api.Dojo) { dojo.Labels = map[string]string{"a": "b"} })
	result, err := w.reconciler.Reconcile(t.Context(), stale)
	if !errors.Is(err, errUnreachable) || !result.IsZero() || conditions.Conflict(err) {
		t.Errorf("ends with %+v, %v", result, err)
	}
}

// While the cache lags, the operator requeues the Dojo and does not write the status.
func TestStaleIsNotReported(t *testing.T) {
	t.Parallel()
	secrets := schema.GroupResource{Resource: "secrets"}
	errConflict := apierrors.NewConflict(secrets, "tokyo-credentials", errors.New("uid mismatch"))
	errDenied := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: 409, Reason: metav1.StatusReasonConflict, Message: "no",
	}}
	errReplaced := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "tokyo-credentials", field.ErrorList{
		field.Invalid(field.NewPath("metadata", "uid"), "x", "field is immutable"),
	})
	const newer = "1000000"
	expect := func(kind, name string) func(*world, *expectations.Set) {
		return func(_ *world, s *expectations.Set) { s.Expect(expectations.KeyOf(kind, "school", name), newer) }
	}
	deletedSource := func(w *world, s *expectations.Set) {
		s.ExpectDeleted(expectations.KeyOf("Secret", "school", "pg-app"), w.source().UID)
	}
	nothing := func(*world, *expectations.Set) {}
	for name, c := range map[string]struct {
		expect   func(*world, *expectations.Set)
		err      error
		reported bool
	}{
		"all writes succeed":                                    {nothing, nil, true},
		"a write fails":                                         {nothing, errUnreachable, true},
		"a write fails with a conflict":                         {nothing, errConflict, false},
		"a webhook refuses a write with the code 409":           {nothing, errDenied, true},
		"another object now has the same name":                  {nothing, errReplaced, false},
		"another client has created the object":                 {nothing, apierrors.NewAlreadyExists(secrets, "x"), false},
		"the cache lacks a child":                               {expect("Service", "tokyo"), nil, false},
		"the cache lacks a Secret, and a write fails":           {expect("Secret", "tokyo-credentials"), errUnreachable, false},
		"the cache lacks the operator's last write of the Dojo": {expect("Dojo", "tokyo"), nil, false},
		"the cache still shows a Secret that was deleted":       {deletedSource, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, dojotest.Dojo(), dojotest.Source())
			statuses := w.intercept(func(string) error { return c.err })
			c.expect(w, w.reconciler.applier.Expectations)
			result, err := w.reconcile()
			if reported := *statuses > 0; reported != c.reported {
				t.Errorf("the status is written %d times", *statuses)
			}
			if !c.reported && (err != nil || result.RequeueAfter <= 0) {
				t.Errorf("ends with %+v, %v; want a requeue without an error", result, err)
			}
		})
	}
}

func TestTheURLIsCheckedWhileTheCredentialsAreUnreadable(t *testing.T) {
	t.Parallel()
	for _, unreadable := range []error{apply.ErrStale, errUnreachable} {
		w := newWorld(t, dojotest.Dojo(inGroup), dojotest.Source(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "hook"},
			Data:       map[string][]byte{"url": []byte("https://discord.com/api/webhooks/7/a")},
		})
		w.reconciler.Config.Monitoring.WebhookBase = "https://discord.com/api"
		reconcile := func() { _, _ = w.reconcile() }
		reconcile()
		channel := objectOf[discordv1alpha1.DiscordChannel](w, "tokyo-alerts")
		applytest.EditStatus(t, w.Server, "discord-operator", channel, func(channel *discordv1alpha1.DiscordChannel) {
			channel.Status.ChannelID = "42"
			reference := discordv1alpha1.LocalSecretReference{Name: "hook"}
			channel.Status.Webhook = &discordv1alpha1.WebhookStatus{ID: "7", SecretRef: &reference}
			conditions.Set(&channel.Status.Conditions, channel.Generation, conditions.Usable("Exists", "x"), nil)
		})
		reconcile()
		posts := func() string { return string(objectOf[corev1.Secret](w, "tokyo-alertmanager").Data["url"]) }
		want := posts()
		applytest.Edit(t, w.Server, "kubectl", objectOf[corev1.Secret](w, "tokyo-alertmanager"),
			func(s *corev1.Secret) { s.Data["url"] = []byte("http://10.0.0.1/") })
		w.reconciler.Client = interceptor.NewClient(asCached(w.Server).(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, name client.ObjectKey, o client.Object, _ ...client.GetOption) error {
				if name.Name == "pg-app" {
					return unreadable
				}
				return c.Get(ctx, name, o)
			},
		})
		reconcile()
		if posts() != want {
			t.Errorf("with %v, Alertmanager posts to %s", unreadable, posts())
		}
	}
}

// During a rollout, the operator delays the status, so one write has several changes of pod counts.
func TestDeferredStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dojotest.Dojo(), dojotest.Source())
	statuses := w.intercept(func(string) error { return nil })
	report := func(ready int32) {
		applytest.EditStatus(t, w.Server, "kube-controller-manager", w.deployment(), func(d *appsv1.Deployment) {
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: d.Generation, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: ready,
				Conditions: []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentProgressing, LastUpdateTime: metav1.NewTime(dojotest.Noon),
				}},
			}
		})
	}
	_, err := w.reconcile()
	must(t, err)
	report(1)
	_, err = w.reconcile()
	must(t, err)
	before := *statuses
	report(2)
	result, err := w.reconcile()
	if err != nil || result.RequeueAfter != countsInterval || *statuses != before {
		t.Errorf("ends with %+v, %v after %d more writes of the status", result, err, *statuses-before)
	}
}

// AlertsReady reports a refused object for alerts. The operator still writes the other children.
func TestRefusedAlerts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dojotest.Dojo(inGroup), dojotest.Source())
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "discordchannels"}, "tokyo-alerts", errors.New("no"))
	w.intercept(func(kind string) error {
		if kind == "DiscordChannel" {
			return refused
		}
		return nil
	})
	result, err := w.reconcile()
	if err != nil || result.RequeueAfter <= 0 {
		t.Errorf("ends with %+v, %v", result, err)
	}
	found := meta.FindStatusCondition(w.dojo().Status.Conditions, corev1api.ConditionAlertsReady)
	if found == nil || found.Reason != corev1api.ReasonChildRefused ||
		!strings.Contains(found.Message, "DiscordChannel") {
		t.Errorf("AlertsReady is %+v", found)
	}
	if w.deployment() == nil || w.service() == nil {
		t.Error("the application was not created")
	}
}
