// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
)

// FreeAddress uses ports below the node ports of clusters, which begin at 30000, and below Linux's
// ports for outgoing connections, which begin at 32768.
const (
	firstFreePort = 15000
	freePorts     = 15000
)

// nextFreePort starts at random, so that two processes seldom try the same port.
var nextFreePort = func() *atomic.Uint32 {
	n := &atomic.Uint32{}
	n.Store(rand.Uint32N(freePorts)) //nolint:gosec // G404: nothing here is secret
	return n
}()

// FreeAddress returns a free address on 127.0.0.1, as host:port. Nothing reserves the port.
func FreeAddress(ctx context.Context) (string, error) {
	for range freePorts {
		port := firstFreePort + nextFreePort.Add(1)%freePorts
		address := net.JoinHostPort("127.0.0.1", strconv.FormatUint(uint64(port), 10))
		free, err := isFree(ctx, address)
		if err != nil {
			return "", fmt.Errorf("find a free port: %w", err)
		}
		if free {
			return address, nil
		}
	}
	return "", errors.New("find a free port: all are taken")
}

// The lock prevents forks while isFree listens: a child keeps the listener open until its exec.
func isFree(ctx context.Context, address string) (bool, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", address)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, nil // another program uses the port
	}
	return true, listener.Close()
}
