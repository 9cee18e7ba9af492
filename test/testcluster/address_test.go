// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestFreeAddress(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for range 3 * blockPorts / 2 { // tries every port at least once, also those of the listeners below
		address, err := FreeAddress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if given[address] {
			t.Fatalf("%s is given although it is taken", address)
		}
		if len(given) == 10 {
			continue
		}
		listener, err := net.Listen("tcp4", address)
		if err != nil {
			t.Fatalf("%s is not free: %v", address, err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		given[address] = true
	}
}

// Between fork and exec, a child has copies of all sockets. The copies must not occupy the address.
func TestFreeAddressWhileProgramsAreStarted(t *testing.T) {
	t.Parallel()
	block := taken(t, firstFreePort, lastFreePort) // TestFreeAddress uses the ports of the process
	started := make(chan error, 1)
	go func() {
		defer close(started)
		for range 300 {
			if err := exec.CommandContext(t.Context(), "true").Run(); err != nil {
				started <- err
				return
			}
		}
	}()
	for asked := 0; ; asked++ {
		select {
		case err := <-started:
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d addresses while 300 programs were started", asked)
			return
		default:
		}
		address, err := block.freeAddress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp4", address)
		if err != nil {
			t.Fatalf("%s is not free: %v", address, err)
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBlocksOfPorts(t *testing.T) {
	t.Parallel()
	start := 10000 + 2*blockPorts*rand.Uint32N(25) // below firstFreePort, so that no other process takes the blocks
	end := start + 2*blockPorts - 1
	first, second := taken(t, start, end), taken(t, start, end)
	if first.first != start || second.first != start+blockPorts {
		t.Fatalf("the blocks begin at %d and %d, want %d and %d", first.first, second.first, start, start+blockPorts)
	}
	if _, err := takeBlock(start, end); err == nil || !strings.Contains(err.Error(), "no block of 100 ports is free") {
		t.Errorf("all blocks are taken, but the error is %v", err)
	}

	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Wait() }) // the end of the context kills the child
	first.release()
	if again := taken(t, start, end); again.first != start {
		t.Errorf("the block at %d is taken although its owner has released it", start)
	}
}

func taken(t *testing.T, first, last uint32) *portBlock {
	t.Helper()
	block, err := takeBlock(first, last)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(block.release)
	return block
}

// release waits for forks: between fork and exec, a child has a copy of the lock.
func (b *portBlock) release() {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	_ = b.lock.Close()
}
