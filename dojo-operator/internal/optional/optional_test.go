package optional

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"

	"github.com/google/go-cmp/cmp"
)

// That kinds are taken up and dropped is shown against a real API server, by the operator's specs.

var widgets = Kind{schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Widget"}, "widgets"}

func TestKind(t *testing.T) {
	t.Parallel()
	if got := widgets.definition(); got != "widgets.example.org" {
		t.Errorf("is defined by %s", got)
	}
	if got := widgets.Object().GroupVersionKind(); got != widgets.GroupVersionKind {
		t.Errorf("its objects are %s", got)
	}
}

// A definition that has just been made is worth a look soon; one of another version, or a broken one, must not be asked for all the time.
func TestPause(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	k := &Kinds{clock: testclock.NewFakePassiveClock(now)}
	for age, want := range map[time.Duration]time.Duration{0: soon, 59 * time.Second: soon, 2 * time.Minute: later, -time.Hour: soon} {
		if got := k.pause(now.Add(-age)); got != want {
			t.Errorf("after %s waits %s", age, got)
		}
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Unix(1, 0))
	large, small := Definition(), Definition()
	large.ObjectMeta = metav1.ObjectMeta{
		Name: "widgets.example.org", UID: "u", ResourceVersion: "5", CreationTimestamp: at, DeletionTimestamp: &at,
		Annotations: map[string]string{"a": "long"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
	small.ObjectMeta = metav1.ObjectMeta{Name: "widgets.example.org", UID: "u", ResourceVersion: "5", CreationTimestamp: at, DeletionTimestamp: &at}
	tombstone := toolscache.DeletedFinalStateUnknown{Key: "widgets.example.org"}
	for name, c := range map[string]struct{ in, want any }{"definition": {large, small}, "tombstone": {tombstone, tombstone}} {
		got, err := Strip(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(name, diff)
		}
	}
}
