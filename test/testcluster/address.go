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

// Free ports are searched below those that kernels deal out by themselves, for which every
// connection and every ":0" competes (from 32768 on Linux), and below the node ports of a cluster
// (from 30000).
const (
	firstFreePort = 15000
	freePorts     = 15000
)

// nextFreePort is counted on from a random start: no port is given twice by one process, and seldom
// by two.
var nextFreePort = func() *atomic.Uint32 {
	n := &atomic.Uint32{}
	n.Store(rand.Uint32N(freePorts)) //nolint:gosec // G404: nothing here is secret
	return n
}()

// FreeAddress returns an address on 127.0.0.1, as host:port, on which nothing listens, for a
// program whose port is an argument. Nothing holds the port until it starts; the kernel gives it
// only to a program that asks for that very number.
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

// isFree listens on the address for a moment. No program is started meanwhile: between its fork and
// its exec it would hold a copy of the listener, and with it the port, for longer than that moment.
func isFree(ctx context.Context, address string) (bool, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", address)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, nil // it is taken
	}
	return true, listener.Close()
}
