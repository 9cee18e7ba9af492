// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
)

// The wait for creates of another process begins with the first channel, even without a webhook.
func TestRecordsBeginWithTheFirstChannel(t *testing.T) {
	t.Parallel()
	start := time.Unix(100, 0)
	clock := clocktesting.NewFakePassiveClock(start)
	w := &Webhooks{Records: lifecycle.NewRecords(clock, time.Minute)}
	if _, err := w.Observe(t.Context(), object(spec{Name: "alerts"}), nil, nil); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(start.Add(time.Hour))
	if got := w.Records.Of("another").LastAttempt; !got.Equal(start) {
		t.Errorf("a create may have been sent until %s, want %s", got, start)
	}
}
