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

// DefaultPerSecond is Discord's limit per bot; see its documentation, "Global Rate Limit".
const DefaultPerSecond = 50

// Options configure a [Client]. Only Token is required.
type Options struct {
	// Token of the bot, without "Bot " in front. A new token needs a new Client.
	Token Secret
	// APIURL gets all requests; see [ParseAPIURL]. Default [DefaultAPIURL].
	APIURL string
	// Timeout of one REST call. Default 15 s.
	Timeout time.Duration
	// GlobalPerSecond limits all calls; only creates and deletes use its last fifth. Default 50.
	GlobalPerSecond int
	// Owner reports whether a tenant (see [WithTenant]) may use all of GlobalPerSecond instead of
	// half. It runs before each call of a tenant. Default: no tenant may.
	Owner func(tenant string) bool
	// Invalid counts refused requests. All Clients of a process should share it, because Discord
	// counts by IP address. A Client pauses while it has at least as many refusals as remain for
	// all Clients that share Invalid. Default: a count of its own.
	Invalid *InvalidRequests
	// Circumstances returns a value for the id of a guild, channel or webhook. While the value
	// stays equal, a denied call is not repeated for up to 9 minutes. Default: repeat denied calls.
	Circumstances func(id string) any
	// Guard runs right before each mutating call. An error, such as a lost leader election, fails
	// the call with ClassTransient. A returned time is the deadline of the call.
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
		return o, nil, errors.New("the bot token is empty, or has a character that tokens cannot have, " +
			"such as a line break at its end")
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

// ParseAPIURL parses the address of an API and appends "/api/v10" or "/v10" if it is missing. An
// address with a user or a query is an error, which does not quote them: they may be secret.
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

// defaultTransport pings its HTTP/2 connections. Otherwise each call on a dead connection would
// time out.
func defaultTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
}
