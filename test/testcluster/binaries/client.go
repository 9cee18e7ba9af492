// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// stallLimit is the longest time that a server may take without sending a byte.
const stallLimit = 5 * time.Second

type client struct {
	http   *http.Client
	mirror string // base URL, or ""
	stall  time.Duration
	hosts  *hosts
}

// unreachable is common to all downloads, so that an unreachable host costs only one wait.
var unreachable hosts

func newClient() (client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone() // uses http.ProxyFromEnvironment
	transport.DisableCompression = true                          // sizes and ranges refer to the uncompressed file
	c := client{
		http: &http.Client{Transport: transport}, stall: stallLimit, hosts: &unreachable,
		mirror: strings.TrimSuffix(os.Getenv(MirrorEnv), "/"),
	}
	if c.mirror != "" {
		base, err := url.Parse(c.mirror)
		if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
			return client{}, fmt.Errorf("%s=%s is not an http or https URL", MirrorEnv, c.mirror)
		}
	}
	return c, nil
}

func (c client) address(official string) string {
	if c.mirror == "" {
		return official
	}
	return c.mirror + "/" + strings.TrimPrefix(official, "https://")
}

type statusError int

func (e statusError) Error() string { return fmt.Sprintf("%d %s", int(e), http.StatusText(int(e))) }

type stallError time.Duration

func (e stallError) Error() string { return fmt.Sprintf("no byte in %v", time.Duration(e)) }

type hostError struct {
	host  string
	cause error
	first bool // whether this is the first error about the host
}

func (e *hostError) Error() string { return fmt.Sprintf("%s is unreachable: %v", e.host, e.cause) }
func (e *hostError) Unwrap() error { return e.cause }

// get requests a file from offset on, and writes the response to the writer that open returns. A
// server that does not support ranges sends the whole file, so open gets the offset of the first
// byte in the response. open also gets the size of the file, or -1 if the size is unknown.
func (c client) get(ctx context.Context, address string, offset int64,
	open func(from, size int64) (io.Writer, error)) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(c.stall, func() { cancel(stallError(c.stall)) })
	defer watchdog.Stop()

	response, err := c.request(ctx, cancel, address, offset)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	from := int64(0)
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusPartialContent:
		if got := response.Header.Get("Content-Range"); !strings.HasPrefix(got, fmt.Sprintf("bytes %d-", offset)) {
			return fmt.Errorf("asked for bytes from %d on, got Content-Range %q", offset, got)
		}
		from = offset
	default:
		return statusError(response.StatusCode)
	}
	size := int64(-1)
	if response.ContentLength >= 0 {
		size = from + response.ContentLength
	}
	to, err := open(from, size)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, &watched{response.Body, func() { watchdog.Reset(c.stall) }})
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("truncated after %d of %d bytes: %w", from+n, size, err)
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w, after %d of %d bytes", context.Cause(ctx), from+n, size)
	}
	return err
}

// request fails at once if an earlier request found the host unreachable. If this request finds the
// host unreachable, it cancels the host's other unanswered requests.
func (c client) request(ctx context.Context, cancel context.CancelCauseFunc, address string, offset int64) (
	*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	host := c.hosts.get(request.URL.Host)
	if err := host.err(); err != nil {
		return nil, err
	}
	answered := make(chan struct{})
	defer close(answered)
	go func() {
		select {
		case <-host.lost:
			cancel(host.err())
		case <-answered:
		}
	}()
	response, err := c.http.Do(request)
	if err == nil {
		return response, nil
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // the caller's message already has the URL
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		if stalled := stallError(0); !errors.As(err, &stalled) {
			return nil, err // a user's interrupt, or another request's failure
		}
	}
	return nil, host.lose(err)
}

type watched struct {
	from  io.Reader
	alive func()
}

func (w *watched) Read(buffer []byte) (int, error) {
	n, err := w.from.Read(buffer)
	if n > 0 {
		w.alive()
	}
	return n, err
}

type hosts struct {
	mu     sync.Mutex
	byName map[string]*host
}

type host struct {
	lost  chan struct{}
	once  sync.Once
	cause error // set before lost is closed
	name  string
}

func (h *hosts) get(name string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byName == nil {
		h.byName = map[string]*host{}
	}
	if h.byName[name] == nil {
		h.byName[name] = &host{name: name, lost: make(chan struct{})}
	}
	return h.byName[name]
}

func (h *host) err() error {
	select {
	case <-h.lost:
		return &hostError{host: h.name, cause: h.cause}
	default:
		return nil
	}
}

func (h *host) lose(cause error) error {
	e := &hostError{host: h.name, cause: cause}
	h.once.Do(func() {
		h.cause, e.first = cause, true
		close(h.lost)
	})
	return e
}
