// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
)

func TestRefusesOverwrites(t *testing.T) {
	t.Parallel()
	refusal := func(code int, field string) error {
		return fmt.Errorf("create channel #a: %w", &discordclient.Error{Code: code, Fields: []discordclient.Field{{Path: field}}})
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                          {},
		"an unknown user or role":           {refusal(discordgo.ErrCodeUnknownOverwrite, ""), true},
		"a wrong overwrite":                 {refusal(discordgo.ErrCodeInvalidFormBody, "permission_overwrites[3].allow"), true},
		"a wrong name":                      {refusal(discordgo.ErrCodeInvalidFormBody, "name"), false},
		"the category is gone":              {refusal(discordgo.ErrCodeUnknownChannel, ""), false},
		"a missing permission":              {refusal(discordgo.ErrCodeMissingPermissions, ""), false},
		"a rate limit":                      {&discordclient.RateLimited{After: time.Second}, false},
		"an error that is not from Discord": {errors.New("no"), false},
	} {
		if got := refusesOverwrites(c.err); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
