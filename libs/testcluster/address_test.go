package testcluster

import (
	"net"
	"testing"
)

func TestFreeAddress(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for range 3 * freePorts / 2 { // once around, so that the listeners below are in the way
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
