// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"jutsu.com/operators/libs/apply"
)

func TestFail(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "discordchannels"}, "tokyo", errors.New("it was changed"))
	cases := map[string]struct {
		err           error
		failed, stale bool
		issues        int
	}{
		"no error":        {},
		"a stale cache":   {err: fmt.Errorf("get: %w", apply.ErrStale), failed: true, stale: true},
		"a conflict":      {err: conflict, failed: true, stale: true},
		"any other error": {err: errors.New("connection refused"), failed: true, issues: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r Results
			failed := r.Fail(c.err, time.Now())
			if failed != c.failed || r.Stale != c.stale || len(r.Issues) != c.issues {
				t.Errorf("failed %t, %+v", failed, r)
			}
		})
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"nsfw"}, without([]string{"name", "nsfw", "topic"}, "name", "topic")); diff != "" {
		t.Error(diff)
	}
}
