// SPDX-License-Identifier: Apache-2.0

// Command testcluster prepares binaries of test clusters. `testcluster build [NAME ...]` downloads
// or builds etcd, Kubernetes, kwok and the named binaries. `testcluster pin` writes checksums of
// official releases to downloads.txt.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"jutsu.com/operators/test/testcluster/binaries"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0 && args[0] == "build":
		names := append(binaries.ControlPlane(), args[1:]...)
		if _, err := binaries.Locate(ctx, os.Stderr, names...); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "testcluster: all binaries are ready")
		return nil
	case len(args) == 1 && args[0] == "pin":
		return binaries.Pin(ctx, os.Stderr)
	}
	return errors.New("usage: testcluster build [NAME ...]\n       testcluster pin")
}
