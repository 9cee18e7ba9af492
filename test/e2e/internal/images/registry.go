// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Registry serves images to all machines that can reach this one.
type Registry struct {
	server *http.Server
	port   int
}

// StartRegistry starts a registry on all IPv4 addresses. It accepts pushes only from loopback
// addresses.
func StartRegistry(ctx context.Context, folder string) (*Registry, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("start a registry: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "0.0.0.0:0")
	if err != nil {
		return nil, fmt.Errorf("start a registry: %w", err)
	}
	handler := registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(folder)),
		registry.Logger(log.New(io.Discard, "", 0)))
	r := &Registry{
		server: &http.Server{Handler: allowLocalPushes(handler), ReadHeaderTimeout: 10 * time.Second},
		port:   listener.Addr().(*net.TCPAddr).Port,
	}
	go func() { _ = r.server.Serve(listener) }() // Serve returns after Stop
	return r, nil
}

func allowLocalPushes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		local := err == nil && net.ParseIP(host).IsLoopback()
		if !local && r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "read-only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Address returns the registry's host:port for clients that know this machine as host.
func (r *Registry) Address(host string) string { return net.JoinHostPort(host, strconv.Itoa(r.port)) }

// Stop ends the registry and keeps its folder.
func (r *Registry) Stop() error { return r.server.Close() }
