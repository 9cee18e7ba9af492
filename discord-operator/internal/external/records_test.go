package external

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	begin := time.Unix(100, 0)
	cases := map[string]struct {
		do     func(*Records)
		want   Record
		holder types.UID // of the counterpart "7"
	}{
		"nothing is known: another process may have created until now": {do: func(*Records) {}, want: Record{LastAttempt: begin}},
		"nothing exists":                          {do: func(l *Records) { l.Nothing("uid") }, want: Record{Known: true}},
		"it has a counterpart":                    {do: func(l *Records) { l.Is("uid", "7") }, want: Record{Known: true, ID: "7"}, holder: "uid"},
		"in doubt":                                {do: func(l *Records) { l.Is("uid", "7"); l.Doubt("uid") }, want: Record{LastAttempt: begin}},
		"it has another one now":                  {do: func(l *Records) { l.Is("uid", "7"); l.Is("uid", "8") }, want: Record{Known: true, ID: "8"}},
		"forgotten":                               {do: func(l *Records) { l.Is("uid", "7"); l.Forget("uid") }, want: Record{LastAttempt: begin}},
		"what was never known goes":               {do: func(l *Records) { l.Is("other", "7"); l.Forget("uid") }, want: Record{LastAttempt: begin}, holder: "other"},
		"another one has taken it":                {do: func(l *Records) { l.Is("uid", "7"); l.Is("other", "7"); l.Forget("uid") }, want: Record{LastAttempt: begin}, holder: "other"},
		"another one has it, and the claim fails": {do: func(l *Records) { l.Is("other", "7"); l.Claim("uid", "7") }, want: Record{LastAttempt: begin}, holder: "other"},
		"claimed":                                 {do: func(l *Records) { l.Claim("uid", "7") }, want: Record{Known: true, ID: "7"}, holder: "uid"},
		"claimed twice":                           {do: func(l *Records) { l.Claim("uid", "7"); l.Claim("uid", "7") }, want: Record{Known: true, ID: "7"}, holder: "uid"},
		"another one has it and the first gets a new one": {do: func(l *Records) { l.Is("uid", "7"); l.Is("other", "7"); l.Is("uid", "8") }, want: Record{Known: true, ID: "8"}, holder: "other"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakePassiveClock(begin)
			l := NewRecords(clock)
			l.Entry("first")
			c.do(l)
			clock.SetTime(begin.Add(time.Hour))
			if diff := cmp.Diff(c.want, l.Entry("uid")); diff != "" {
				t.Error(diff)
			}
			if got := l.Holder("7"); got != c.holder {
				t.Errorf("7 is held by %q, want %q", got, c.holder)
			}
		})
	}
}

func TestWinner(t *testing.T) {
	t.Parallel()
	old, young := time.Unix(1, 0), time.Unix(2, 0)
	cases := map[string]struct {
		claims []Claim
		want   types.UID
	}{
		"the only one":                       {[]Claim{{UID: "a"}}, "a"},
		"the older":                          {[]Claim{{UID: "a", Created: young}, {UID: "b", Created: old}}, "b"},
		"who has it, before the older":       {[]Claim{{UID: "a", Created: old}, {UID: "b", Created: young, Holds: true}}, "b"},
		"the older of two that have it":      {[]Claim{{UID: "a", Created: young, Holds: true}, {UID: "b", Created: old, Holds: true}}, "b"},
		"of the same second, the smaller id": {[]Claim{{UID: "b", Created: old}, {UID: "a", Created: old}}, "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Winner(c.claims); got.UID != c.want {
				t.Errorf("got %s, want %s", got.UID, c.want)
			}
		})
	}
}

// Everybody sees the same winner, in whatever order the cache lists the claims.
func TestWinnerDoesNotDependOnTheOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var claims []Claim
		for _, uid := range rapid.SliceOfNDistinct(rapid.StringMatching("[a-f]"), 1, 5, rapid.ID[string]).Draw(t, "claims") {
			claims = append(claims, Claim{
				UID: types.UID(uid), Created: time.Unix(rapid.Int64Range(0, 2).Draw(t, "created"), 0), Holds: rapid.Bool().Draw(t, "holds"),
			})
		}
		if diff := cmp.Diff(Winner(claims), Winner(rapid.Permutation(claims).Draw(t, "other order"))); diff != "" {
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
		"nothing":                   {want: []string{}},
		"what it has":               {status: "7", want: []string{"7"}},
		"what it wants":             {adopt: &v1alpha1.Adoption{ID: "8"}, want: []string{"8"}},
		"what it wanted and has":    {status: "7", adopt: &v1alpha1.Adoption{ID: "7"}, want: []string{"7"}},
		"what it has instead of it": {status: "9", adopt: &v1alpha1.Adoption{ID: "8"}, want: []string{"8", "9"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, Claimed(c.status, c.adopt)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRetained(t *testing.T) {
	t.Parallel()
	adopted := &v1alpha1.Adoption{ID: "7"}
	cases := map[string]struct {
		policy v1alpha1.DeletionPolicy
		adopt  *v1alpha1.Adoption
		status string
		want   bool
	}{
		"created":                         {"", nil, "7", false},
		"created, Retain":                 {v1alpha1.DeletionPolicyRetain, nil, "7", true},
		"adopted":                         {"", adopted, "7", true},
		"adopted, Delete":                 {v1alpha1.DeletionPolicyDelete, adopted, "7", false},
		"to be adopted":                   {"", adopted, "", true},
		"created in stead of the adopted": {"", adopted, "8", false},
		"created in its stead, Retain":    {v1alpha1.DeletionPolicyRetain, adopted, "8", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Retained(c.policy, c.adopt, c.status); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestReasonNamesTheObjectForGood(t *testing.T) {
	t.Parallel()
	if got := Reason("DiscordChannel", types.NamespacedName{Namespace: "ns", Name: "alerts"}, "uid"); got != "DiscordChannel uid ns/alerts" {
		t.Error(got)
	}
}

func TestLedgerKeepsNamesThatDiscordStoresInAnotherWay(t *testing.T) {
	t.Parallel()
	l := NewRecords(clocktesting.NewFakePassiveClock(time.Unix(100, 0)))
	stored := func(asked, want string) {
		t.Helper()
		if got := l.Stored("uid", asked); got != want {
			t.Errorf("%q is stored as %q, want %q", asked, got, want)
		}
	}
	stored("on_call", "")
	l.Named("uid", "on_call", "on-call")
	stored("on_call", "on-call")
	stored("off_call", "")
	l.Is("uid", "7")
	stored("on_call", "on-call")
	l.Named("uid", "on_call", "on_call")
	stored("on_call", "")
	l.Named("uid", "on_call", "on-call")
	l.Forget("uid")
	stored("on_call", "")
}
