// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Constants of HTTP/2 frames (RFC 9113).
const (
	frameHeaders, frameReset, frameSettings, framePing, frameGoAway = 1, 3, 4, 6, 7
	flagEndStream, flagAck                                          = 1, 1
	codeProtocolError, codeRefusedStream                            = 1, 7
)

func rawPeer(t *testing.T, done func(conn io.Writer, stream uint32)) (*httptest.Server, *http.Transport) {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	srv.TLS = &tls.Config{NextProtos: []string{"h2"}}
	srv.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) { serveFrames(conn, done) },
	}
	return srv, startTLS(t, srv)
}

func startTLS(t *testing.T, srv *httptest.Server) *http.Transport {
	t.Helper()
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	tr := defaultTransport()
	tr.TLSClientConfig = &tls.Config{RootCAs: roots}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func TestCallsShareAConnection(t *testing.T) {
	t.Parallel()
	from := map[string]bool{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from[r.Proto+" "+r.RemoteAddr] = true
		_, _ = w.Write([]byte(`{"id":"1"}`))
	}))
	srv.EnableHTTP2 = true
	c, err := New(Options{Token: NewSecret("token"), Transport: startTLS(t, srv), APIURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, read := c.GetChannel(t.Context(), "1")
		_, created := c.CreateChannel(t.Context(), "1", ChannelCreate{Name: "a"}, "")
		if err := errors.Join(read, created, c.DeleteChannel(t.Context(), "1", "")); err != nil {
			t.Error(err)
		}
	}
	for connection := range from {
		if len(from) != 1 || !strings.HasPrefix(connection, "HTTP/2.0 ") {
			t.Errorf("the calls came over %v", from)
		}
	}
}

func serveFrames(conn io.ReadWriter, done func(io.Writer, uint32)) {
	if _, err := io.CopyN(io.Discard, conn, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	writeFrame(conn, frameSettings, 0, 0, nil)
	var head [9]byte
	for {
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return
		}
		length := int64(binary.BigEndian.Uint32(append([]byte{0}, head[:3]...)))
		if _, err := io.CopyN(io.Discard, conn, length); err != nil {
			return
		}
		kind, flags := head[3], head[4]
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			writeFrame(conn, frameSettings, flagAck, 0, nil)
		case kind <= frameHeaders && flags&flagEndStream != 0:
			done(conn, binary.BigEndian.Uint32(head[5:]))
		}
	}
}

func writeFrame(w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	head := append([]byte{0, 0, byte(len(payload)), kind, flags}, binary.BigEndian.AppendUint32(nil, stream)...)
	_, _ = w.Write(append(head, payload...))
}

// By default, net/http sends a request up to seven times if the server resets its stream.
func TestAResetStreamDoesNotRepeatAWrite(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]uint32{"PROTOCOL_ERROR": codeProtocolError, "REFUSED_STREAM": codeRefusedStream} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var whole atomic.Int32
			srv, tr := rawPeer(t, func(conn io.Writer, stream uint32) {
				whole.Add(1)
				writeFrame(conn, frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, code))
			})
			c, err := New(Options{Token: NewSecret("token"), APIURL: srv.URL, Transport: tr})
			if err != nil {
				t.Fatal(err)
			}
			for call, do := range map[string]func() error{ // a request without a body may be sent twice, but not endlessly
				"read":   func() error { _, err := c.GetChannel(t.Context(), "1"); return err },
				"delete": func() error { return c.DeleteChannel(t.Context(), "1", "") },
				"create": func() error { _, err := c.CreateChannel(t.Context(), "1", ChannelCreate{Name: "a"}, ""); return err },
				"edit": func() error {
					_, err := c.EditChannel(t.Context(), "1", ChannelEdit{Name: Set("a")}, "")
					return err
				},
			} {
				before := whole.Load()
				class, most := ClassUnknown, int32(1)
				if call == "read" {
					class = ClassTransient
				}
				if call == "read" || call == "delete" {
					most = maxConnections
				}
				if err := do(); ClassOf(err) != class || errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v, want it %s", call, err, class)
				}
				if got := whole.Load() - before; got < 1 || got > most {
					t.Errorf("%s: the peer got it %d times, want %d at most", call, got, most)
				}
			}
		})
	}
}

func TestASilentConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := map[io.Writer]bool{}
	srv, tr := rawPeer(t, func(conn io.Writer, _ uint32) { // answers neither calls nor pings
		mu.Lock()
		defer mu.Unlock()
		from[conn] = true
	})
	// Shorten the test, but let the server read a call before the client closes the connection.
	tr.HTTP2.SendPingTimeout /= 30
	tr.HTTP2.PingTimeout /= 30
	c, err := New(Options{Token: NewSecret("token"), APIURL: srv.URL, Transport: tr, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 2 {
		if _, err := c.GetChannel(ctx, "1"); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: the call waited for its own end", err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(from) < 2 {
		t.Errorf("two calls came by %d connections", len(from))
	}
}

// If a transport does not report its connections to httptrace, a failed create may have been sent.
func TestATransportThatReportsNothing(t *testing.T) {
	t.Parallel()
	failing := func(*http.Request) (*http.Response, error) { return nil, errors.New("broken pipe") }
	c, err := New(Options{Token: NewSecret("token"), Transport: transportFunc(failing)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateChannel(t.Context(), "1", ChannelCreate{Name: "a"}, ""); ClassOf(err) != ClassUnknown {
		t.Errorf("a create: %v, want its outcome unknown", err)
	}
	if _, err := c.GetChannel(t.Context(), "1"); ClassOf(err) != ClassTransient {
		t.Errorf("a read: %v, want it transient", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.CreateChannel(ended, "2", ChannelCreate{Name: "a"}, ""); ClassOf(err) != ClassTransient {
		t.Errorf("a create whose context had ended: %v, want it transient", err)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
