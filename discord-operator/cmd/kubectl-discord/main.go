// SPDX-License-Identifier: Apache-2.0

// Command kubectl-discord is the kubectl plugin `kubectl discord`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	_ "golang.org/x/crypto/x509roots/fallback" // certificate authorities for images without any
	ctrl "sigs.k8s.io/controller-runtime"

	"jutsu.com/operators/discord-operator/internal/cli/export"
	"jutsu.com/operators/discord-operator/internal/cli/plan"
	"jutsu.com/operators/libs/manager/buildversion"
)

// version is stamped by the build with -ldflags "-X main.version=..."; buildversion has the others.
var version string

const usage = `kubectl discord plans changes of Discord servers and prints servers as manifests. It needs no cluster.

Usage:
  kubectl discord export --help
  kubectl discord plan --help
  kubectl discord version
`

func main() {
	err := run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, plan.ErrDiffers) {
		fmt.Fprintln(os.Stderr, "kubectl discord:", err)
	}
	os.Exit(exitCode(err))
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, plan.ErrDiffers):
		return 2
	}
	return 1
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	command := "--help"
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	switch command {
	case "export":
		return export.Run(ctx, args, stdout, stderr)
	case "plan":
		return plan.Run(ctx, args, stdout, stderr)
	case "version":
		_, err := fmt.Fprintln(stdout, "kubectl-discord", buildversion.Of(version))
		return err
	case "help", "-h", "-help", "--help":
		_, err := fmt.Fprint(stdout, usage)
		return err
	}
	return fmt.Errorf("there is no command %q; see kubectl discord --help", command)
}
