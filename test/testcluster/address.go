// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
)

// FreeAddress uses ports below the node ports of clusters, which begin at 30000, and below Linux's
// ports for outgoing connections, which begin at 32768.
const (
	firstFreePort = 15000
	lastFreePort  = 29999
	blockPorts    = 100
)

var processBlock = sync.OnceValues(func() (*portBlock, error) { return takeBlock(firstFreePort, lastFreePort) })

// FreeAddress returns a free address on 127.0.0.1, as host:port. While this process runs, no other
// process gets the address from FreeAddress. Before this process gets the same address again, it
// gets the other free ports of its block. Programs that do not call FreeAddress may still use the
// port.
func FreeAddress(ctx context.Context) (string, error) {
	block, err := processBlock()
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return block.freeAddress(ctx)
}

// portBlock is a range of ports of one process. If processes shared ports, two processes could get
// the same port, because a port is free until its program listens.
type portBlock struct {
	first uint32 // the port of lock; freeAddress returns the other ports
	// lock reserves the block. Child programs do not inherit it, so the kernel closes it when this
	// process ends, also after SIGKILL. A lock file in the temporary folder would not separate
	// processes with different TMPDIR.
	lock net.Listener
	next atomic.Uint32
}

func takeBlock(first, last uint32) (*portBlock, error) {
	var taken error
	for port := first; port <= last; port += blockPorts {
		lock, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", onLoopback(port))
		if err == nil {
			return &portBlock{first: port, lock: lock}, nil
		}
		taken = err
	}
	return nil, fmt.Errorf("no block of %d ports is free from %d to %d: %w", blockPorts, first, last, taken)
}

func (b *portBlock) freeAddress(ctx context.Context) (string, error) {
	const ports = blockPorts - 1
	for range ports {
		address := onLoopback(b.first + 1 + b.next.Add(1)%ports)
		free, err := isFree(ctx, address)
		if err != nil {
			return "", fmt.Errorf("find a free port: %w", err)
		}
		if free {
			return address, nil
		}
	}
	return "", fmt.Errorf("find a free port: all from %d to %d are taken", b.first+1, b.first+ports)
}

func onLoopback(port uint32) string {
	return net.JoinHostPort("127.0.0.1", strconv.FormatUint(uint64(port), 10))
}

// isFree holds syscall.ForkLock while it listens: a child that is forked meanwhile would keep the
// listener open until its exec.
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
