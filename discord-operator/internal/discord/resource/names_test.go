// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

func TestSystemChannelFlags(t *testing.T) {
	t.Parallel()
	words := []v1alpha1.SystemChannelFlag{v1alpha1.SuppressGuildReminderNotifications, v1alpha1.SuppressJoinNotifications}
	if got := SystemChannelFlags.Bits(words, 1<<9|1<<1); got != 1<<9|1<<2|1 {
		t.Errorf("got the bits %b", got)
	}
	want := []v1alpha1.SystemChannelFlag{v1alpha1.SuppressJoinNotifications, v1alpha1.SuppressGuildReminderNotifications}
	if diff := cmp.Diff(want, SystemChannelFlags.Words(1<<9|1<<2|1)); diff != "" {
		t.Error(diff)
	}
}
