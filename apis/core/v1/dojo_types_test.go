// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWaitingSince(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	hour, day := noon.Add(-time.Hour), noon.Add(-24*time.Hour)
	d := &Dojo{Status: DojoStatus{WaitingFor: []Wait{
		{Object: "Secret school/pg-app", Since: metav1.NewTime(hour)},
		{Object: "Cluster school/pg", Since: metav1.NewTime(day)},
	}}}
	for object, want := range map[string]time.Time{
		"Secret school/pg-app": hour, "Cluster school/pg": day, "Secret school/pg-other": noon, "": noon,
	} {
		if got := d.WaitingSince(object, noon); !got.Equal(want) {
			t.Errorf("waits for %q since %s, want %s", object, got, want)
		}
	}
	if got := new(Dojo).WaitingSince("Secret school/pg-app", noon); !got.Equal(noon) {
		t.Errorf("a new Dojo waits since %s", got)
	}
}
