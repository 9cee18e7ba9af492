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

// Call is one REST call under the lock of the state.
type Call struct {
	Discord *model.Discord
	Options Options
	Windows *limits.Windows // of the rate limits
	Request *http.Request
	Body    []byte
	Bot     *model.BotState // nil on calls that need no authorization and bring none
	Now     time.Time
	// Stale is whether a read answers as before the last write.
	Stale  bool
	Header http.Header // of the answer
}

// Options are the choices that concern REST; discordtest.Options documents them.
type Options struct {
	Limits             *limits.Limits
	AllowGuildDeletion bool
	AnyUserAgent       bool
	Normalise          func(name string) string
	Altered            Altered
	// IgnoreTargetID lets target_id filter no audit log.
	IgnoreTargetID bool
	Compatible     bool
}

// Altered is what Discord stores otherwise than it was sent, or not at all, without an error. That
// it does so is a guess in each case; the zero value stores what was sent.
type Altered struct {
	// Topic rewrites the topic of a channel, after white space around it has gone.
	Topic func(topic string) string
	// AnnouncementSlowmode ignores rate_limit_per_user of announcement channels: documented are the
	// other types.
	AnnouncementSlowmode bool
	// Locale ignores preferred_locale outside Community guilds, for which alone it is documented;
	// Description ignores the description there.
	Locale, Description bool
	// CommunityChannels ignores rules_channel_id and public_updates_channel_id there likewise.
	CommunityChannels bool
	// Icon ignores a guild's icon, as Discord has done with what is no image [C].
	Icon bool
	// Unsynced gives a new channel none of the overwrites of its category.
	Unsynced bool
	// Bare leaves out of a create what only voice-like and forum-like channels have.
	Bare bool
}

// Answer is what a client gets.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Path is a variable of the route's template.
func (c *Call) Path(name string) string { return c.Request.PathValue(name) }

// Flag reads a boolean of the query: true, True or 1.
func (c *Call) Flag(name string) bool {
	switch c.Request.URL.Query().Get(name) {
	case "true", "True", "1":
		return true
	}
	return false
}

// Number reads an integer of the query within bounds; absent is the default.
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

// HiddenLimit counts the call against a limit that no header shows before it is reached.
func (c *Call) HiddenLimit(key string, r limits.Rate) error {
	if wait, ok := c.Windows.Take(key, r, c.Now); !ok {
		return &TooMany{After: wait, Scope: "user"}
	}
	return nil
}

// MaxBody is the largest request body that is read, 25 MiB, Discord's limit of uploads.
const MaxBody = 25 << 20
