// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"net"
	"os/exec"
	"testing"
)

func TestFreeAddress(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for range 3 * freePorts / 2 { // tries every port at least once, also those of the listeners below
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
		address, err := FreeAddress(t.Context())
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
