// Command testcluster builds the binaries of a test cluster ahead of time, or starts a cluster to
// try things on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"jutsu.com/operators/libs/testcluster"
)

const usage = `Usage:
  testcluster build [NAME ...]            build etcd, Kubernetes and kwok, once, and what is named
  testcluster up [-nodes N] [-crds PATH]  start a cluster and keep it until Ctrl-C`

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
	if len(args) > 0 && args[0] == "build" {
		return build(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == "up" {
		return up(ctx, args[1:])
	}
	return errors.New("nothing to do\n" + usage)
}

func build(ctx context.Context, further []string) error {
	if err := testcluster.Build(ctx, os.Stderr); err != nil {
		return err
	}
	_, err := testcluster.Binaries(ctx, os.Stderr, further...)
	return err
}

func up(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("testcluster up", flag.ExitOnError)
	nodes := flags.Int("nodes", 3, "number of fake nodes")
	crds := flags.String("crds", "", "file or folder of CustomResourceDefinitions to install")
	if err := flags.Parse(args); err != nil {
		return err
	}
	options := testcluster.Options{ControllerManager: true, Nodes: *nodes, Audit: true, Progress: os.Stderr}
	if *crds != "" {
		options.CRDs = []string{*crds}
	}
	cluster, err := testcluster.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Printf("export KUBECONFIG=%s\n", cluster.Kubeconfig())
	fmt.Fprintln(os.Stderr, "testcluster: up; Ctrl-C ends it and removes everything")
	<-ctx.Done()
	return cluster.Stop()
}
