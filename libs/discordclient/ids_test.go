// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"testing"
	"time"
)

func TestSnowflakes(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123)
	if got := CreatedAt(SnowflakeAt(at)); !got.Equal(at) {
		t.Errorf("%v came back as %v", at, got)
	}
	if got := CreatedAt("175928847299117063"); !got.Equal(time.UnixMilli(1462015105796)) { // Discord's own example
		t.Errorf("the documented example is of %v", got)
	}
	if SnowflakeAt(time.Unix(0, 0)) != "0" || !CreatedAt("x").IsZero() {
		t.Error("an invalid id got a time")
	}
	if CompareIDs("9", "10") >= 0 || CompareIDs("11", "10") <= 0 || CompareIDs("7", "7") != 0 {
		t.Error("ids are not ordered by number")
	}
}
