package testcluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// Free ports are looked for below those that kernels deal out by themselves, for which every connection and every ":0" competes (from
// 32768 on Linux, from 49152 on macOS), and below the node ports of a cluster (from 30000).
const (
	firstFreePort = 15000
	freePorts     = 15000
)

// nextFreePort is counted on from a random start: no port is given twice by one process, and seldom by two.
var nextFreePort = func() *atomic.Uint32 {
	n := &atomic.Uint32{}
	n.Store(rand.Uint32N(freePorts)) //nolint:gosec // G404: nothing is to be kept secret
	return n
}()

// FreeAddress returns an address on 127.0.0.1, as host:port, on which nobody listens, for a program that must be told its port before it
// starts. Nothing holds the port until then; the kernel gives it to nobody who does not ask for that very number.
func FreeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	for range freePorts {
		port := firstFreePort + nextFreePort.Add(1)%freePorts
		address := net.JoinHostPort("127.0.0.1", strconv.FormatUint(uint64(port), 10))
		listener, err := config.Listen(ctx, "tcp4", address)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err != nil {
			continue // somebody has it
		}
		if err := listener.Close(); err != nil {
			return "", fmt.Errorf("find a free port: %w", err)
		}
		return address, nil
	}
	return "", errors.New("find a free port: all are taken")
}
