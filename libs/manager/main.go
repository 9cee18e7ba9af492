// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Main parses the command line and runs an operator until SIGTERM. After an error, it exits with 1.
func Main[O interface{ ManagerFlags() *Flags }](
	name, version string, parse func(args []string, out io.Writer) (O, error), run func(context.Context, O) error,
) {
	err := start(name, version, parse, run)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

func start[O interface{ ManagerFlags() *Flags }](
	name, version string, parse func(args []string, out io.Writer) (O, error), run func(context.Context, O) error,
) error {
	ctx := ctrl.SetupSignalHandler()
	o, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		return err
	}
	if o.ManagerFlags().Version {
		_, err := fmt.Println(name, version)
		return err
	}
	return run(ctx, o)
}
