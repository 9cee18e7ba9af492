// SPDX-License-Identifier: Apache-2.0

package optionalkinds

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

// That kinds are watched and dropped is shown against a real API server, by the operator's specs.

var widgets = Kind{schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Widget"}, "widgets"}

func TestKind(t *testing.T) {
	t.Parallel()
	if got := widgets.Definition(); got != "widgets.example.org" {
		t.Errorf("is defined by %s", got)
	}
	if got := widgets.Object().GroupVersionKind(); got != widgets.GroupVersionKind {
		t.Errorf("its objects are %s", got)
	}
}

// A definition that has just been created is looked at again soon; one of another version, or a
// broken one, not all the time.
func TestPause(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	k := &Kinds{clock: testclock.NewFakePassiveClock(now)}
	for age, want := range map[time.Duration]time.Duration{0: newRetry, 59 * time.Second: newRetry, 2 * time.Minute: oldRetry, -time.Hour: newRetry} {
		if got := k.pause(now.Add(-age)); got != want {
			t.Errorf("after %s waits %s", age, got)
		}
	}
}
