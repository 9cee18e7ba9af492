// SPDX-License-Identifier: Apache-2.0

package call

import (
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"jutsu.com/operators/test/discordtest/internal/limits"
	"jutsu.com/operators/test/discordtest/internal/model"
)

// Call is one REST call. Its methods run under the lock of the state.
type Call struct {
	Discord *model.Discord
	Options Options
	Windows *limits.Windows // of the rate limits
	Request *http.Request
	Body    []byte
	Bot     *model.BotState // nil for a call without authorization
	Now     time.Time
	// Stale makes a read return the state before the last write.
	Stale  bool
	Header http.Header // of the response
}

// Options are the options of discordtest.Options that concern REST.
type Options struct {
	Limits             *limits.Limits
	AllowGuildDeletion bool
	AnyUserAgent       bool
	Normalise          func(name string) string
	Altered            Altered
	// IgnoreTargetID makes the audit log ignore the filter target_id.
	IgnoreTargetID bool
	Compatible     bool
}

// Altered makes Discord store another value than the sent one, or ignore it, without an error. The
// zero value stores what was sent. All fields are guesses unless marked [C].
type Altered struct {
	// Topic rewrites the topic of a channel. It gets the topic without surrounding white space.
	Topic func(topic string) string
	// AnnouncementSlowmode ignores rate_limit_per_user of announcement channels, for which it is
	// not documented.
	AnnouncementSlowmode bool
	// Locale and Description ignore the preferred_locale and the description of guilds that are no
	// Community guilds. preferred_locale is documented only for Community guilds.
	Locale, Description bool
	// CommunityChannels ignores rules_channel_id and public_updates_channel_id of guilds that are
	// no Community guilds.
	CommunityChannels bool
	// Icon ignores a guild's icon, as Discord does with invalid images [C].
	Icon bool
	// Unsynced gives a new channel none of its category's overwrites.
	Unsynced bool
	// Bare ignores, in a create, the fields that only voice-like or forum-like channels have.
	Bare bool
}

// Answer is the response to a client.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Path returns a variable of the route's template.
func (c *Call) Path(name string) string { return c.Request.PathValue(name) }

// Flag reads a boolean of the query: true, True or 1.
func (c *Call) Flag(name string) bool {
	switch c.Request.URL.Query().Get(name) {
	case "true", "True", "1":
		return true
	}
	return false
}

// Number reads an integer of the query within bounds, with a default.
func (c *Call) Number(name string, def, lo, hi int) (int, error) {
	text := c.Request.URL.Query().Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, Invalid(name, "NUMBER_TYPE_COERCE", "Value \""+text+"\" is not int.")
	case n < lo:
		return 0, Invalid(name, "NUMBER_TYPE_MIN", "int value should be greater than or equal to "+strconv.Itoa(lo)+".")
	case n > hi:
		return 0, Invalid(name, "NUMBER_TYPE_MAX", "int value should be less than or equal to "+strconv.Itoa(hi)+".")
	}
	return n, nil
}

// Reason reads X-Audit-Log-Reason: URL-encoded, 1 to 512 characters.
func (c *Call) Reason() (string, error) {
	raw := c.Request.Header.Get("X-Audit-Log-Reason")
	text, err := url.PathUnescape(raw)
	if err != nil {
		text = raw
	}
	if n := utf8.RuneCountInString(text); n > 512 {
		return "", Invalid("reason", "BASE_TYPE_MAX_LENGTH", "Must be 512 or fewer in length.")
	}
	return text, nil
}

// HiddenLimit counts the call against a limit that no header shows.
func (c *Call) HiddenLimit(key string, r limits.Rate) error {
	if wait, ok := c.Windows.Take(key, r, c.Now); !ok {
		return &TooMany{After: wait, Scope: "user"}
	}
	return nil
}

// MaxBody is the largest request body, 25 MiB: Discord's limit of uploads.
const MaxBody = 25 << 20
