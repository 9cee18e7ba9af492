// SPDX-License-Identifier: Apache-2.0

// Command kubectl-dojo shows the state of Dojos and the causes of their failures, and changes Dojos
// with commands such as `kubectl dojo suspend`.
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

// The build sets version with -ldflags "-X main.version=...".
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
