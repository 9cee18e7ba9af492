package discordclient

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"jutsu.com/operators/libs/discordclient/gateway"
)

// DefaultAPIURL is Discord's own API, in the version that this package speaks.
const DefaultAPIURL = "https://discord.com/api/v10"

// Options configure a [Client]. Only Token is required.
type Options struct {
	// Token of the bot, without "Bot " in front. One Client is for one token: a new token needs a new Client.
	Token Secret
	// APIURL is where the API is, such as "https://discord.com/api/v10" (the default) or "http://127.0.0.1:8080/api/v10";
	// "/v10" is added when it is missing. No request goes to another host.
	APIURL string
	// GatewayURL is where the Gateway is. Empty: where the API says, provided that is the API's own host (or, for
	// Discord itself, gateway.discord.gg); any other answer is refused.
	GatewayURL string
	// DisableGateway makes the live view poll only.
	DisableGateway bool
	// Resync is the period of polling while the Gateway is not live. Default 5 min.
	Resync time.Duration
	// Grace is how long a guild that was just asked for may wait for the Gateway before it is polled. Default 5 s.
	Grace time.Duration
	// Timeout of one REST call. Default 15 s.
	Timeout time.Duration
	// GlobalPerSecond is the limit over all calls, of which a fifth is kept for creates and deletes. Default 50, Discord's.
	GlobalPerSecond int
	// Invalid counts refused requests. Discord counts by address, so give all Clients of a process the same. Default: its own.
	Invalid *InvalidRequests
	// Metrics counts what this Client does. Default: nothing is counted.
	Metrics *Metrics
	// Log receives connects, disconnects and resyncs; never a secret. Default: discarded.
	Log *slog.Logger
	// UserAgent in Discord's form, "DiscordBot (url, version)"; others may be blocked. Default: this module's.
	UserAgent string
	// Transport carries the requests. Default: one with HTTP/2, keep-alive and the environment's proxy.
	Transport http.RoundTripper
	// Now is the time for rate limits and refusals; tests set it. The views and the Gateway always follow the real time. Default time.Now.
	Now func() time.Time
	// Gateway holds the Gateway's times; tests shorten them. The zero value is Discord's.
	Gateway GatewayTiming
}

// GatewayTiming holds the times of the Gateway's supervisor; a zero field means its default.
type GatewayTiming = gateway.Timing

// withDefaults checks the options and fills in what was left out.
func (o Options) withDefaults() (Options, *url.URL, error) {
	if strings.ContainsFunc(o.Token.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) || o.Token.IsZero() {
		return o, nil, errors.New("the bot token is empty or has characters that no token has (a line break at its end?)")
	}
	if o.GlobalPerSecond < 0 {
		return o, nil, fmt.Errorf("a limit of %d calls per second is negative", o.GlobalPerSecond)
	}
	if o.GatewayURL != "" && !isWebsocket(o.GatewayURL) {
		return o, nil, errors.New("the Gateway's address is not one such as wss://gateway.discord.gg")
	}
	orDefault(&o.APIURL, DefaultAPIURL)
	orDefault(&o.Resync, 5*time.Minute)
	orDefault(&o.Grace, 5*time.Second)
	orDefault(&o.Timeout, 15*time.Second)
	orDefault(&o.GlobalPerSecond, 50)
	orDefault(&o.UserAgent, "DiscordBot (https://jutsu.com/operators, 1.0)")
	if o.Now == nil {
		o.Now = time.Now
	}
	orDefault(&o.Invalid, NewInvalidRequests(o.Now))
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = defaultTransport()
	}
	base, err := apiBase(o.APIURL)
	return o, base, err
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// apiBase reads the API's address; the result has no slash at its end.
func apiBase(raw string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.User != nil || base.RawQuery != "" {
		return nil, errors.New("the API's address is not one such as " + DefaultAPIURL + ", without a user or a query") // it may hold a password
	}
	if !strings.HasSuffix(base.Path, "/v10") {
		base.Path += "/v10"
	}
	return base, nil
}

// defaultTransport keeps enough connections open that concurrent workers do not open one per call, and asks a silent one whether it still lives:
// over HTTP/2 all calls share one, which would otherwise fail each of them by its timeout until TCP gives up.
func defaultTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// isWebsocket reports whether a text is the address of a websocket.
func isWebsocket(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Host != "" && (u.Scheme == "wss" || u.Scheme == "ws")
}

// gatewayAddress checks where the API says that the Gateway is. Another host than the API's is a *gateway.Fatal: a
// person must allow it. An answer that names no address is a mishap, to be asked for again.
func (o *Options) gatewayAddress(base *url.URL, answered string) (string, error) {
	if o.GatewayURL != "" {
		return o.GatewayURL, nil
	}
	u, err := url.Parse(answered)
	if err != nil || !isWebsocket(answered) {
		return "", errors.New("the API names a Gateway address that is no websocket URL")
	}
	discord := base.Hostname() == "discord.com" && u.Scheme == "wss" && u.Host == "gateway.discord.gg"
	same := u.Hostname() == base.Hostname() && (u.Scheme == "wss" || base.Scheme == "http")
	if !discord && !same {
		return "", &gateway.Fatal{Reason: fmt.Sprintf(
			"the API at %s names a Gateway at another host, %.100s, which only Options.GatewayURL can allow; guilds are polled instead",
			base.Host, clean(u.Host, o.Token))}
	}
	return u.String(), nil
}
