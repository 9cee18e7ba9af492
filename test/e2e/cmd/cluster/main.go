// SPDX-License-Identifier: Apache-2.0

// Command cluster starts the cluster of the end-to-end tests and keeps it running.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/test/e2e/internal/cluster"
	"jutsu.com/operators/test/environment"
)

func main() { environment.Main("cluster", run) }

func run(ctx context.Context, _ []string) error {
	log.SetLogger(logr.Discard()) // discarded: the libraries also return the errors that they log
	c, err := cluster.Start(ctx, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Printf("export KUBECONFIG=%[1]s E2E_KUBECONFIG=%[1]s E2E_REGISTRY=%[2]s\n", c.Control.Kubeconfig(), c.Registry())
	fmt.Fprintln(os.Stderr, "The cluster is up. In another terminal, run the line above, then make install, or make e2e. "+
		"Ctrl-C removes everything.\nNext: docs/learn/quickstart.md, from make install on")
	<-ctx.Done()
	return c.Stop()
}
