// SPDX-License-Identifier: Apache-2.0

package optionalkinds

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

// The tests in dojo-operator/specs test the watches of optional kinds on a real API server.

var widgets = Kind{schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Widget"}, "widgets"}

func TestKind(t *testing.T) {
	t.Parallel()
	if got := widgets.Definition(); got != "widgets.example.org" {
		t.Errorf("the CustomResourceDefinition is %s", got)
	}
	if got := widgets.Object().GroupVersionKind(); got != widgets.GroupVersionKind {
		t.Errorf("its objects are %s", got)
	}
}

func TestRetryDelay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	k := &Kinds{clock: testclock.NewFakePassiveClock(now)}
	for age, want := range map[time.Duration]time.Duration{0: newRetry, 59 * time.Second: newRetry, 2 * time.Minute: oldRetry, -time.Hour: newRetry} {
		if got := k.retryDelay(now.Add(-age)); got != want {
			t.Errorf("after %s, the delay is %s", age, got)
		}
	}
}
