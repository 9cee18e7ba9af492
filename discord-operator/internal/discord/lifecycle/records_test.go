// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

func TestRecords(t *testing.T) {
	t.Parallel()
	begin := time.Unix(100, 0)
	cases := map[string]struct {
		do     func(*Records)
		want   Record
		holder types.UID // the object that holds the resource "7"
	}{
		"no record: another process may have sent a create before the first use": {do: func(*Records) {}, want: Record{LastAttempt: begin}},
		"absent":                           {do: func(r *Records) { r.Absent("uid") }, want: Record{Known: true}},
		"bound":                            {do: func(r *Records) { r.Bound("uid", "7") }, want: Record{Known: true, ID: "7"}, holder: "uid"},
		"a create without response":        {do: func(r *Records) { r.Bound("uid", "7"); r.Unknown("uid") }, want: Record{LastAttempt: begin}},
		"bound again, to another resource": {do: func(r *Records) { r.Bound("uid", "7"); r.Bound("uid", "8") }, want: Record{Known: true, ID: "8"}},
		"forgotten":                        {do: func(r *Records) { r.Bound("uid", "7"); r.Forget("uid") }, want: Record{LastAttempt: begin}},
		"forgets an unknown object":        {do: func(r *Records) { r.Bound("other", "7"); r.Forget("uid") }, want: Record{LastAttempt: begin}, holder: "other"},
		"forgotten after another object is bound to the resource": {do: func(r *Records) { r.Bound("uid", "7"); r.Bound("other", "7"); r.Forget("uid") }, want: Record{LastAttempt: begin}, holder: "other"},
		"fails to claim another object's resource":                {do: func(r *Records) { r.Bound("other", "7"); r.Claim("uid", "7") }, want: Record{LastAttempt: begin}, holder: "other"},
		"claimed":       {do: func(r *Records) { r.Claim("uid", "7") }, want: Record{Known: true, ID: "7"}, holder: "uid"},
		"claimed twice": {do: func(r *Records) { r.Claim("uid", "7"); r.Claim("uid", "7") }, want: Record{Known: true, ID: "7"}, holder: "uid"},
		"bound anew after another object is bound to the resource": {do: func(r *Records) { r.Bound("uid", "7"); r.Bound("other", "7"); r.Bound("uid", "8") }, want: Record{Known: true, ID: "8"}, holder: "other"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakePassiveClock(begin)
			r := NewRecords(clock, time.Minute)
			r.Of("first")
			c.do(r)
			clock.SetTime(begin.Add(time.Hour))
			if diff := cmp.Diff(c.want, r.Of("uid")); diff != "" {
				t.Error(diff)
			}
			if got := r.Holder("7"); got != c.holder {
				t.Errorf("7 is held by %q, want %q", got, c.holder)
			}
		})
	}
}

func TestRecordsOfAForeignFinalizer(t *testing.T) {
	t.Parallel()
	begin := time.Unix(100, 0)
	at := func(after time.Duration) Record { return Record{LastAttempt: begin.Add(after)} }
	cases := map[string]struct {
		at15, at30 func(*Records) // called 15 and 30 minutes after the first use
		want       Record
	}{
		"is seen":       {at15: func(r *Records) { r.Finalized("uid") }, want: at(15 * time.Minute)},
		"is seen twice": {at15: func(r *Records) { r.Finalized("uid") }, at30: func(r *Records) { r.Finalized("uid") }, want: at(15 * time.Minute)},
		"is seen after the object's record is read":  {at15: func(r *Records) { r.Of("uid") }, at30: func(r *Records) { r.Finalized("uid") }, want: at(30 * time.Minute)},
		"is seen on another object":                  {at15: func(r *Records) { r.Finalized("other") }, want: at(0)},
		"is this process's own":                      {at15: func(r *Records) { r.Absent("uid") }, at30: func(r *Records) { r.Finalized("uid") }, want: Record{Known: true}},
		"belongs to a bound object":                  {at15: func(r *Records) { r.Bound("uid", "7") }, at30: func(r *Records) { r.Finalized("uid") }, want: Record{Known: true, ID: "7"}},
		"is seen after a lost create":                {at15: func(r *Records) { r.Unknown("uid") }, at30: func(r *Records) { r.Finalized("uid") }, want: at(15 * time.Minute)},
		"is seen before a search finds the resource": {at15: func(r *Records) { r.Finalized("uid") }, at30: func(r *Records) { r.Claim("uid", "7") }, want: Record{Known: true, ID: "7"}},
		"is seen before the object is forgotten":     {at15: func(r *Records) { r.Finalized("uid") }, at30: func(r *Records) { r.Forget("uid") }, want: at(0)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakePassiveClock(begin)
			r := NewRecords(clock, time.Minute)
			r.Of("first")
			for _, do := range []func(*Records){c.at15, c.at30} {
				clock.SetTime(clock.Now().Add(15 * time.Minute))
				if do != nil {
					do(r)
				}
			}
			owned := r.Has("uid")
			clock.SetTime(clock.Now().Add(time.Hour))
			if diff := cmp.Diff(c.want, r.Of("uid")); diff != "" {
				t.Error(diff)
			}
			if r.Finalized("new"); r.Has("new") || r.Has("uid") != owned {
				t.Error("a finalizer counts as proof that the object has a resource")
			}
		})
	}
}

func TestWinner(t *testing.T) {
	t.Parallel()
	old, young := time.Unix(1, 0), time.Unix(2, 0)
	cases := map[string]struct {
		claims []claim
		want   types.UID
	}{
		"the only claim":   {[]claim{{uid: "a"}}, "a"},
		"the older object": {[]claim{{uid: "a", created: young}, {uid: "b", created: old}}, "b"},
		"an object that manages the resource, before an older one that has released it": {[]claim{
			{uid: "a", created: old, inStatus: true, managed: true, released: true}, {uid: "b", created: young, inStatus: true, managed: true},
		}, "b"},
		"an object with the resource in its status, before an older one without": {[]claim{{uid: "a", created: old}, {uid: "b", created: young, inStatus: true}}, "b"},
		"the older of two objects with the resource in their status":             {[]claim{{uid: "a", created: young, inStatus: true}, {uid: "b", created: old, inStatus: true}}, "b"},
		"the smaller UID of two objects of the same age":                         {[]claim{{uid: "b", created: old}, {uid: "a", created: old}}, "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := winner(c.claims); got.uid != c.want {
				t.Errorf("got %s, want %s", got.uid, c.want)
			}
		})
	}
}

func TestWinnerDoesNotDependOnTheOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var claims []claim
		for _, uid := range rapid.SliceOfNDistinct(rapid.StringMatching("[a-f]"), 1, 5, rapid.ID[string]).Draw(t, "claims") {
			claims = append(claims, claim{
				uid: types.UID(uid), created: time.Unix(rapid.Int64Range(0, 2).Draw(t, "created"), 0), inStatus: rapid.Bool().Draw(t, "holds"),
			})
		}
		if diff := cmp.Diff(winner(claims), winner(rapid.Permutation(claims).Draw(t, "other order")), cmp.AllowUnexported(claim{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestClaimed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status string
		adopt  *v1alpha1.Adoption
		want   []string
	}{
		"nothing":            {want: []string{}},
		"in the status":      {status: "7", want: []string{"7"}},
		"in spec.adopt":      {adopt: &v1alpha1.Adoption{ID: "8"}, want: []string{"8"}},
		"the same in both":   {status: "7", adopt: &v1alpha1.Adoption{ID: "7"}, want: []string{"7"}},
		"another id in each": {status: "9", adopt: &v1alpha1.Adoption{ID: "8"}, want: []string{"8", "9"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, (Identity{StatusID: c.status, Adopt: c.adopt}).claims()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRetained(t *testing.T) {
	t.Parallel()
	adopted := &v1alpha1.Adoption{ID: "7"}
	cases := map[string]struct {
		policy  v1alpha1.DeletionPolicy
		adopt   *v1alpha1.Adoption
		status  string
		matched bool
		want    bool
	}{
		"matched":                        {matched: true, status: "7", want: true},
		"matched, Delete":                {policy: v1alpha1.DeletionPolicyDelete, matched: true, status: "7", want: true},
		"matched, in spec.adopt":         {adopt: adopted, matched: true, status: "7", want: true},
		"matched, in spec.adopt, Delete": {policy: v1alpha1.DeletionPolicyDelete, adopt: adopted, matched: true, status: "7"},
		"created":                        {status: "7"},
		"created, Retain":                {policy: v1alpha1.DeletionPolicyRetain, status: "7", want: true},
		"adopted":                        {adopt: adopted, status: "7", want: true},
		"adopted, Delete":                {policy: v1alpha1.DeletionPolicyDelete, adopt: adopted, status: "7"},
		"to be adopted":                  {adopt: adopted, want: true},
		"created in place of the adopted resource":         {adopt: adopted, status: "8"},
		"created in place of the adopted resource, Retain": {policy: v1alpha1.DeletionPolicyRetain, adopt: adopted, status: "8", want: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Identity{Policy: c.policy, Adopt: c.adopt, StatusID: c.status, Matched: c.matched}).Retained(); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestReasonHasTheUID(t *testing.T) {
	t.Parallel()
	o := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "alerts", UID: "uid"}}
	if got := Reason("DiscordChannel", o); got != "DiscordChannel uid ns/alerts" {
		t.Error(got)
	}
}
