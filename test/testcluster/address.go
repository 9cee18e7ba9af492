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

// FreeAddress uses the ports from 15000 to 29999. A cluster's node ports begin at 30000. The
// kernel's ephemeral range begins at 32768 on Linux: outgoing connections and listeners on ":0" get
// their ports from this range.
const (
	firstFreePort = 15000
	freePorts     = 15000
)

// nextFreePort counts up from a random start. A process therefore reuses a port only after it has
// tried all others, and two processes seldom try the same port.
var nextFreePort = func() *atomic.Uint32 {
	n := &atomic.Uint32{}
	n.Store(rand.Uint32N(freePorts)) //nolint:gosec // G404: nothing here is secret
	return n
}()

// FreeAddress returns a free address on 127.0.0.1, as host:port, for a program with a port
// argument. Nothing reserves the port, but the kernel gives the port only to programs that ask for
// its number.
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

// isFree listens on the address for a moment. The lock prevents a fork during this moment, because
// a child process would keep a copy of the listener open until its exec.
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
