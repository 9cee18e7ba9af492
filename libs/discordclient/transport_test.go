// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"errors"
	"net"
	"net/url"
	"syscall"
	"testing"
)

func TestErrorsOfConnectionsDoNotDifferWithTheirAddresses(t *testing.T) {
	t.Parallel()
	local, remote := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 40111}, &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 443}
	reset := &net.OpError{Op: "read", Net: "tcp", Source: local, Addr: remote, Err: syscall.ECONNRESET}
	refused := &net.OpError{Op: "dial", Net: "tcp4", Addr: local, Err: syscall.ECONNREFUSED}
	resolver := &net.DNSError{Name: "discord.com", Server: "10.0.0.10:53", Err: "read udp 10.1.2.3:40111->10.0.0.10:53: i/o timeout"}
	for want, err := range map[string]error{
		"read tcp: connection reset by peer":                                     &url.Error{Op: "Get", URL: "https://discord.com", Err: reset},
		"dial tcp4: connection refused":                                          refused,
		"lookup discord.com on 10.0.0.10:53: read udp: i/o timeout":              resolver,
		"a text of Discord's own: 10:30: all is well":                            errors.New("a text of Discord's own: 10:30: all is well"),
		"net/http: TLS handshake timeout, and tcp is not an address here: or so": errors.New("net/http: TLS handshake timeout, and tcp is not an address here: or so"),
	} {
		if got := (&Client{}).broken(&call{}, err, false).Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
