// SPDX-License-Identifier: Apache-2.0

package role

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient"
)

func TestTakeEach(t *testing.T) {
	t.Parallel()
	users := func(ids ...v1alpha1.UserID) []v1alpha1.UserID { return ids }
	limit := &discordclient.RateLimited{Op: "remove role from member", After: time.Second}
	gone := &discordclient.Error{Class: discordclient.ClassGone}
	broken := &discordclient.Error{Class: discordclient.ClassUnknown}
	cases := map[string]struct {
		recorded, wanted []v1alpha1.UserID
		answers          map[v1alpha1.UserID]error
		taken, left      []v1alpha1.UserID
		err              error
	}{
		"no users":                                          {},
		"keeps all wanted users":                            {recorded: users("1", "2"), wanted: users("2", "1", "3"), left: users("1", "2")},
		"takes the role from one user":                      {recorded: users("1", "2", "3"), wanted: users("1", "3"), taken: users("2"), left: users("1", "3")},
		"drops a user who left the server":                  {recorded: users("1", "2"), answers: map[v1alpha1.UserID]error{"1": gone}, taken: users("1", "2")},
		"keeps the remaining users after a rate limit":      {recorded: users("1", "2", "3", "4"), wanted: users("4"), answers: map[v1alpha1.UserID]error{"2": limit}, taken: users("1", "2"), left: users("2", "3", "4"), err: limit},
		"keeps all users if the first call is rate limited": {recorded: users("1", "2"), answers: map[v1alpha1.UserID]error{"1": limit}, taken: users("1"), left: users("1", "2"), err: limit},
		"keeps a user after a lost response":                {recorded: users("1", "2"), answers: map[v1alpha1.UserID]error{"2": broken}, taken: users("1", "2"), left: users("2"), err: broken},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var taken []v1alpha1.UserID
			left, err := takeEach(c.recorded, c.wanted, func(user v1alpha1.UserID) error {
				taken = append(taken, user)
				return c.answers[user]
			})
			if diff := cmp.Diff(c.taken, taken) + cmp.Diff(c.left, left); diff != "" {
				t.Error(diff)
			}
			if err != c.err { //nolint:errorlint // the very error
				t.Errorf("got %v", err)
			}
		})
	}
}
