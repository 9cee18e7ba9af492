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

// Call is one REST call. Callers of its methods must lock model.Discord.
type Call struct {
	Discord *model.Discord
	Options Options
	Windows *limits.Windows // counts of the rate limits
	Request *http.Request
	Body    []byte
	Bot     *model.BotState // nil if the call has no valid bot token
	Now     time.Time
	// Stale makes reads return the state before the last write (Options.Weakness).
	Stale  bool
	Header http.Header // headers of the response
}

// Options are the fields of discordtest.Options that REST needs.
type Options struct {
	Limits             *limits.Limits
	AllowGuildDeletion bool
	AnyUserAgent       bool
	Normalise          func(name string) string
	Altered            Altered

	IgnoreTargetID bool
	Compatible     bool
}

// Altered changes or ignores sent values without an error. Except for Icon, this is a guess.
type Altered struct {
	// Topic returns the topic to store, from the sent topic without surrounding white space.
	Topic func(topic string) string
	// AnnouncementSlowmode ignores rate_limit_per_user in announcement channels.
	AnnouncementSlowmode bool
	// Locale and Description ignore preferred_locale and description outside Community guilds.
	Locale, Description bool
	// CommunityChannels ignores the rules and updates channel outside Community guilds.
	CommunityChannels bool
	// Icon ignores all icons of a guild, also invalid ones. Users report that Discord ignores
	// invalid icons.
	Icon bool
	// Unsynced creates channels without the overwrites of their category.
	Unsynced bool
	// Bare ignores, in a create, the fields that only voice, stage, forum or media channels have.
	Bare bool
}

// Answer is the response to a REST call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Path returns the value of a variable in the route's template, such as guild_id.
func (c *Call) Path(name string) string { return c.Request.PathValue(name) }

// Flag returns a boolean query parameter. It is true for true, True and 1.
func (c *Call) Flag(name string) bool {
	switch c.Request.URL.Query().Get(name) {
	case "true", "True", "1":
		return true
	}
	return false
}

// Number returns an integer query parameter between lo and hi, or def if it is absent.
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

// Reason returns the decoded header X-Audit-Log-Reason, or an error above 512 characters.
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

// HiddenLimit counts the call for a limit that no header shows, and returns a 429 above the limit.
func (c *Call) HiddenLimit(key string, r limits.Rate) error {
	if wait, ok := c.Windows.Take(key, r, c.Now); !ok {
		return &TooMany{After: wait, Scope: "user"}
	}
	return nil
}

// MaxBody is the largest request body, 25 MiB: Discord's limit of uploads.
const MaxBody = 25 << 20
