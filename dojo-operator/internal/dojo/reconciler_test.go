package dojo

import (
	"context"
	"errors"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/ownwrites"
)

type noKinds struct{}

func (noKinds) Has(optional.Kind) bool { return false }

// TestNobodyIsToldOfANamesake: while a pass went on, the Dojo was deleted and another one made.
func TestNobodyIsToldOfANamesake(t *testing.T) {
	t.Parallel()
	r, told := reconcilerOf(t, func(string) error { return nil }, tokyo(), pgApp())
	var d corev1api.Dojo
	must(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(tokyo()), &d))
	namesake := tokyo(func(d *corev1api.Dojo) { d.UID = "uid of the next" })
	must(t, r.Client.Delete(t.Context(), &d))
	must(t, r.Client.Create(t.Context(), namesake))
	d.DeletionTimestamp = nil
	result, err := r.Reconcile(t.Context(), &d)
	if *told != 1 || err != nil || result.RequeueAfter <= 0 {
		t.Errorf("%d writes, %+v, %v", *told, result, err)
	}
	must(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(tokyo()), &d))
	if d.Status.Conditions != nil {
		t.Errorf("it has the other's status: %+v", d.Status)
	}
}

// TestAnErrorComesBackByItsBackoff: controller-runtime warns where a time is given beside an error.
func TestAnErrorComesBackByItsBackoff(t *testing.T) {
	t.Parallel()
	r, _ := reconcilerOf(t, func(string) error { return errAway }, tokyo(), pgApp())
	var d corev1api.Dojo
	must(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(tokyo()), &d))
	must(t, r.Client.Update(t.Context(), d.DeepCopy())) // so that the status is late
	if result, err := r.Reconcile(t.Context(), &d); !errors.Is(err, errAway) || !result.IsZero() {
		t.Errorf("ends with %+v, %v", result, err)
	}
}

// reconcilerOf looks at the given objects, which include the Dojo. Writes of a child end as apply says, and told counts writes of the status.
func reconcilerOf(t *testing.T, apply func(kind string) error, objects ...client.Object) (r *Reconciler, told *int) {
	t.Helper()
	told = new(int)
	metrics, _ := metricsOf(t, elected)
	c := fake.NewClientBuilder().WithScheme(testScheme).WithStatusSubresource(&corev1api.Dojo{}).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(_ context.Context, _ client.WithWatch, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
				config, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
				must(t, err)
				return apply(config["kind"].(string))
			},
			SubResourcePatch: func(
				ctx context.Context, c client.Client, part string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
			) error {
				*told++
				return c.SubResource(part).Patch(ctx, o, patch, options...)
			},
		}).Build()
	clock := testclock.NewFakePassiveClock(noon)
	return &Reconciler{
		Client: c, Live: c, Events: events.NewFakeRecorder(10), Metrics: metrics, Kinds: noKinds{}, Clock: clock, Config: testConfig,
		written: ownwrites.NewRecord(clock),
	}, told
}

func TestWhatIsOnlyLateIsNotTold(t *testing.T) {
	t.Parallel()
	errFaster := apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "tokyo-credentials", errors.New("uid mismatch"))
	nothing := func(*ownwrites.Record) {}
	for name, c := range map[string]struct {
		wrote func(*ownwrites.Record)
		err   error
		want  int
	}{
		"all is well": {nothing, nil, 1},
		"an error":    {nothing, errAway, 1},
		"a conflict":  {nothing, errFaster, 0},
		"a webhook that denies as a conflict": {
			nothing, &apierrors.StatusError{ErrStatus: metav1.Status{Code: 409, Reason: metav1.StatusReasonConflict, Message: "no"}}, 1,
		},
		"another object of the same name": {
			nothing, apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "tokyo-credentials", field.ErrorList{
				field.Invalid(field.NewPath("metadata", "uid"), "x", "field is immutable"),
			}), 0,
		},
		"the cache lacks a child of ours": {
			func(w *ownwrites.Record) { w.Wrote(keyOf(kindService, "school", "tokyo"), "100") }, nil, 0,
		},
		"the cache lacks a child of ours, and the API server is away": {
			func(w *ownwrites.Record) { w.Wrote(keyOf(kindSecret, "school", "tokyo-credentials"), "100") }, errAway, 0,
		},
		"the cache shows a child that we have deleted": {
			func(w *ownwrites.Record) { w.Deleted(keyOf(kindSecret, "school", "pg-app"), pgApp().UID) }, nil, 0,
		},
		"the cache shows the Dojo as it was": {
			func(w *ownwrites.Record) { w.Wrote(keyOf("Dojo", "school", "tokyo"), "1000") }, nil, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, told := reconcilerOf(t, func(string) error { return c.err }, tokyo(), pgApp())
			c.wrote(r.written)
			var d corev1api.Dojo
			must(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(tokyo()), &d))
			result, err := r.Reconcile(t.Context(), &d)
			if *told != c.want {
				t.Errorf("the status is written %d times, want %d", *told, c.want)
			}
			if c.want == 0 && (err != nil || result.RequeueAfter <= 0) {
				t.Errorf("ends with %+v, %v; it should come back quietly", result, err)
			}
		})
	}
}

// Whatever is refused holds back only what must not be without it.
func TestARefusalHoldsBackItsOwnChainOnly(t *testing.T) {
	t.Parallel()
	d := tokyo(ownPG)
	w := settledDatabase(t, d)
	d.Generation++
	replicas(5)(d)
	backedUp(d)
	d.Spec.Postgres.Cluster.Instances = ptr.To[int32](5)
	w.own = edit(w, w.own, "kubectl", key("DB_PASS", "x")) // so that it is written again
	all := []string{"Cluster", "ScheduledBackup", kindSecret, kindDeployment}
	errDenied := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "tokyo", errors.New("no"))
	for refused, want := range map[string][]string{
		"":                all,
		"Cluster":         all,
		"ScheduledBackup": all,
		kindSecret:        all[:3],
		kindDeployment:    all,
	} {
		t.Run("refused: "+refused, func(t *testing.T) {
			var got []string
			r, _ := reconcilerOf(t, func(kind string) error {
				if got = append(got, kind); kind == refused {
					return errDenied
				}
				return nil
			})
			err := r.act(t.Context(), d, plan(d, w.see(d), testConfig))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error("writes", diff)
			}
			if refused != "" && outcomeOf(err) != "Terminal/ChildRefused" {
				t.Errorf("ends as %v", err)
			}
		})
	}
}

func TestWhatTheDatabaseNeedsFirstIsAskedForFirst(t *testing.T) {
	t.Parallel()
	d := tokyo(inPG)
	w := &world{t: t}
	w.standing()
	w.play()
	var got []string
	r, _ := reconcilerOf(t, func(kind string) error {
		got = append(got, kind)
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "tokyo", errors.New("no"))
	})
	_ = r.act(t.Context(), d, plan(d, w.see(d), testConfig))
	if diff := cmp.Diff([]string{kindSecret}, got); diff != "" {
		t.Error("there is no role without a password", diff)
	}
}

func TestARefusedDeletionIsARefusal(t *testing.T) {
	t.Parallel()
	errDenied := apierrors.NewForbidden(schema.GroupResource{Resource: "ingresses"}, "tokyo", errors.New("protected"))
	r, _ := reconcilerOf(t, func(string) error { return nil })
	r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return errDenied },
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errDenied
		},
	})
	for says, s := range map[string]*steps{
		"refuses the deletion of the Ingress tokyo: ": {remove: []*leftover{{kindIngress, &networkingv1.Ingress{ObjectMeta: foreign}}}},
		"refuses the finalizers of the Dojo: ":        {finalizers: []string{corev1api.DatabaseFinalizer}},
	} {
		err := r.act(t.Context(), tokyo(), s)
		failed, ok := errors.AsType[*conditions.Terminal](err)
		if !ok || failed.Reason != corev1api.ReasonChildRefused || failed.Retry <= 0 || !strings.Contains(failed.Message, says) {
			t.Errorf("%sgot %v", says, err)
		}
	}
}
