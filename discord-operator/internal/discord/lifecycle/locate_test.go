// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/discord-operator/internal/kube/status"
)

func TestPositionAmong(t *testing.T) {
	t.Parallel()
	kind := Kind{FromBottom: true, Identity: func(o client.Object) Identity {
		role := o.(*v1alpha1.DiscordRole)
		return Identity{StatusID: role.Status.RoleID, Position: role.Spec.Position, Observed: status.Observed(role)}
	}}
	type change = func(*v1alpha1.DiscordRole)
	role := func(uid types.UID, id string, position int32, changes []change) *v1alpha1.DiscordRole {
		o := &v1alpha1.DiscordRole{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		o.Status.RoleID, o.Spec.Position = id, &position
		for _, apply := range changes {
			apply(o)
		}
		return o
	}
	pausing := func(o *v1alpha1.DiscordRole) { o.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"} }
	resumed := func(o *v1alpha1.DiscordRole) { o.Annotations = map[string]string{v1alpha1.PausedAnnotation: "false"} }
	observing := func(o *v1alpha1.DiscordRole) { o.Spec.ManagementPolicy = v1alpha1.ManagementPolicyObserve }
	managed := func(o *v1alpha1.DiscordRole) { o.Spec.ManagementPolicy = v1alpha1.ManagementPolicyManage }
	unordered := func(o *v1alpha1.DiscordRole) { o.Spec.Position = nil }
	isNew := func(o *v1alpha1.DiscordRole) { o.Status.RoleID = "" }
	reported := func(o *v1alpha1.DiscordRole) { o.Status.Conditions = []metav1.Condition{{Type: "Ready"}} }
	deleted := func(o *v1alpha1.DiscordRole) { o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	alone, both := order.Ranks{"1": 5}, order.Ranks{"1": 5, "2": 9}
	for name, c := range map[string]struct {
		object, sibling []change
		want            *Position
	}{
		"an object without a position":                      {object: []change{unordered}},
		"a sibling without a position":                      {sibling: []change{unordered}, want: &Position{Ranks: alone}},
		"a managed sibling":                                 {sibling: []change{managed}, want: &Position{Ranks: both}},
		"a resumed sibling":                                 {sibling: []change{resumed}, want: &Position{Ranks: both}},
		"a paused sibling":                                  {sibling: []change{pausing}, want: &Position{Ranks: alone}},
		"an observed sibling":                               {sibling: []change{observing}, want: &Position{Ranks: alone}},
		"a new sibling":                                     {sibling: []change{isNew}, want: &Position{Ranks: alone, AwaitsSiblings: true}},
		"a new sibling that cannot be created":              {sibling: []change{isNew, reported}, want: &Position{Ranks: alone}},
		"a new sibling that is paused":                      {sibling: []change{isNew, pausing}, want: &Position{Ranks: alone}},
		"a new sibling that is being deleted":               {sibling: []change{isNew, deleted}, want: &Position{Ranks: alone}},
		"a sibling that is being deleted":                   {sibling: []change{deleted}, want: &Position{Ranks: both}},
		"a new sibling that is observed":                    {sibling: []change{isNew, observing}, want: &Position{Ranks: alone}},
		"an observed object counts its managed siblings":    {object: []change{observing}, want: &Position{Ranks: both}},
		"an observed object counts its observed siblings":   {object: []change{observing}, sibling: []change{observing}, want: &Position{Ranks: both}},
		"an observed object does not count paused siblings": {object: []change{observing}, sibling: []change{pausing}, want: &Position{Ranks: alone}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, sibling := role("object", "1", 5, c.object), role("sibling", "2", 9, c.sibling)
			if c.want != nil {
				c.want.Rank = 5
			}
			if diff := cmp.Diff(c.want, kind.PositionAmong(o, []status.Object{o, sibling})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
