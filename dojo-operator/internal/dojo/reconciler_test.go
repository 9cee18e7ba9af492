package dojo

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/libs/ownwrites"
)

type noKinds struct{}

func (noKinds) Has(optional.Kind) bool { return false }

// reconcilerOf looks at the given objects, which include the Dojo. Each write of a child ends with the error, and told counts writes of the status.
func reconcilerOf(t *testing.T, errApply error, objects ...client.Object) (r *Reconciler, told *int) {
	t.Helper()
	told = new(int)
	metrics, _ := metricsOf(t, elected)
	c := fake.NewClientBuilder().WithScheme(testScheme).WithStatusSubresource(&corev1api.Dojo{}).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return errApply
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
			r, told := reconcilerOf(t, c.err, tokyo(), pgApp())
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
