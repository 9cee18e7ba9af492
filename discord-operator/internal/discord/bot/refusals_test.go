// SPDX-License-Identifier: Apache-2.0

package bot

import (
	"strconv"
	"testing"
	"time"
)

func TestCountsOfNamespacesAreDropped(t *testing.T) {
	t.Parallel()
	r := newRefusals(time.Now)
	for i := range 20 * minShares {
		r.of(strconv.Itoa(i))
	}
	if n := len(r.shares); n > minShares {
		t.Errorf("the counts of %d namespaces are kept", n)
	}
	share := r.of("a")
	if r.of("a") != share {
		t.Error("a namespace has two counts")
	}
}
