// SPDX-License-Identifier: Apache-2.0

// Command kubectl-dojo shows the state of Dojos and the causes of their failures. It also carries
// out the tasks that the docs of dojo-operator describe for users. kubectl runs it as `kubectl
// dojo`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/dojo-operator/internal/cli"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/manager/buildversion"
)

// The build sets version with -ldflags "-X main.version=...". If version is empty, package
// buildversion finds the version.
var version string

func main() {
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], kubectl.Options{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Version:   buildversion.Of(version), Env: os.Getenv, Clock: clock.RealClock{},
	})
	stop()
	os.Exit(code)
}
