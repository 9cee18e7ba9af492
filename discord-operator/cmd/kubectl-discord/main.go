// SPDX-License-Identifier: Apache-2.0

// Command kubectl-discord is the kubectl plugin `kubectl discord`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	_ "golang.org/x/crypto/x509roots/fallback" // certificate authorities for images without any
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/discord-operator/internal/cli/command"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/manager/buildversion"
)

// version is set by -ldflags "-X main.version=..."; if it is empty, see package buildversion.
var version string

func main() {
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, os.Args[1:], kubectl.Options{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Version:   buildversion.Of(version), Env: os.Getenv, Clock: clock.RealClock{},
	})
	stop()
	os.Exit(code)
}
