// SPDX-License-Identifier: Apache-2.0

// Command testcluster builds the binaries of a test cluster ahead of time: etcd, Kubernetes and
// kwok, once, and what else its arguments name, such as prometheus.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"jutsu.com/operators/libs/testcluster"
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
	if len(args) == 0 || args[0] != "build" {
		return errors.New("usage: testcluster build [NAME ...]")
	}
	if err := testcluster.Build(ctx, os.Stderr); err != nil {
		return err
	}
	_, err := testcluster.Binaries(ctx, os.Stderr, args[1:]...)
	return err
}
