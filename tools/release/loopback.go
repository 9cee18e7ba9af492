// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// loopback is an image registry in memory that listens only on the loopback interface.
type loopback struct {
	*http.Server
	address string
}

func startRegistry(ctx context.Context) (*loopback, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &loopback{address: listener.Addr().String(), Server: &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler:           registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)),
	}}
	go func() { _ = l.Serve(listener) }() // until the server is closed
	return l, nil
}

func (l *loopback) repository() string { return l.address + "/rehearsal" }
