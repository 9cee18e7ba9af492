// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
)

// DefaultAPIURL is Discord's own API.
const DefaultAPIURL = "https://discord.com/api/v10"

// DefaultPerSecond is Discord's limit for all calls of a bot. Source: Discord's documentation,
// "Rate Limits", "Global Rate Limit".
const DefaultPerSecond = 50

// Options configure a [Client]. Only Token is required.
type Options struct {
	// Token of the bot, without "Bot " in front. A new token needs a new Client.
	Token Secret
	// APIURL is the address that gets all requests; see [ParseAPIURL]. Default [DefaultAPIURL].
	APIURL string
	// Timeout of one REST call. Default 15 s.
	Timeout time.Duration
	// GlobalPerSecond is the number of calls that the Client may send per second. Calls other than
	// creates and deletes take at most four fifths of the limit. Default [DefaultPerSecond].
	GlobalPerSecond int
	// Owner reports whether a tenant (see [WithTenant]) owns the bot, and so may use all of
	// GlobalPerSecond. Every other tenant may use at most half. The Client calls Owner before each
	// call of a tenant. By default, no tenant owns the bot.
	Owner func(tenant string) bool
	// Invalid counts refused requests. Discord counts refusals by IP address, so give all Clients
	// of a process the same count, or shares of the same count. A Client stops once its own
	// refusals equal the refusals that remain to all Clients. So a bot that is always refused stops
	// before the other bots. With [WithRefusals], a call's refusal counts in another share.
	// Default: a count for this Client alone.
	Invalid *InvalidRequests
	// Circumstances returns a value, such as overwrites and roles, for the id of a guild, channel
	// or webhook. The value must change when Discord may start to permit calls for this id. While
	// the value stays equal, the Client does not repeat a denied call for up to 9 minutes. Default:
	// the Client repeats denied calls.
	Circumstances func(id string) any
	// Guard is called right before a mutating call is sent. If Guard returns an error, for example
	// because the process lost the leader election, the call fails with ClassTransient. If Guard
	// returns a time, the call is cancelled at this time. Default: every call is made.
	Guard   func() (until time.Time, err error)
	Metrics *Metrics
	// UserAgent has Discord's form "DiscordBot (url, version)". Default: this module's.
	UserAgent string
	// Transport carries the requests. Default: HTTP/2, keep-alive and the environment's proxy.
	Transport http.RoundTripper
	Now       func() time.Time // clock of rate limits and refusals; default time.Now
}

func (o Options) withDefaults() (Options, *url.URL, error) {
	if strings.ContainsFunc(o.Token.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) || o.Token.IsZero() {
		return o, nil, errors.New("the bot token is empty or has characters that no token has (a line break at its end?)")
	}
	if o.GlobalPerSecond < 0 {
		return o, nil, fmt.Errorf("a limit of %d calls per second is negative", o.GlobalPerSecond)
	}
	o.APIURL = cmp.Or(o.APIURL, DefaultAPIURL)
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.GlobalPerSecond = cmp.Or(o.GlobalPerSecond, DefaultPerSecond)
	o.UserAgent = cmp.Or(o.UserAgent, "DiscordBot (https://jutsu.com/operators, 1.0)")
	if o.Owner == nil {
		o.Owner = func(string) bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Invalid = cmp.Or(o.Invalid, NewInvalidRequests(o.Now))
	if o.Transport == nil {
		o.Transport = defaultTransport()
	}
	base, err := ParseAPIURL(o.APIURL)
	if err == nil {
		o.APIURL = base.String()
	}
	return o, base, err
}

const apiVersion = "v10"

var anyVersion = regexp.MustCompile(`^v[0-9]+$`)

// ParseAPIURL parses the address of an API. "https://discord.com", "https://discord.com/api" and
// "https://discord.com/api/v10" all return "https://discord.com/api/v10". Another version, a user
// or a query is an error. The error does not quote a user or a query, which may be secret.
func ParseAPIURL(raw string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" ||
		base.User != nil || base.RawQuery != "" { // a user or a query may be a secret
		return nil, errors.New("the API's address must have the form of " + DefaultAPIURL +
			", without a user and without a query")
	}
	version := path.Base(base.Path)
	switch {
	case version == apiVersion:
	case anyVersion.MatchString(version):
		return nil, fmt.Errorf("the API's address ends with %s, but only %s of Discord's API is supported: "+
			"give the address without a version", version, apiVersion)
	case version == "api":
		base.Path += "/" + apiVersion
	default:
		base.Path += "/api/" + apiVersion
	}
	return base, nil
}

// defaultTransport returns a transport that pings HTTP/2 connections. Without pings, each call on a
// dead connection would run into its timeout.
func defaultTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
}
