// SPDX-License-Identifier: Apache-2.0

// Package cli has the commands of kubectl dojo. They are thin: they read the world of a Dojo
// (world), let pure functions render it (view) or plan a change of it (recovery), show the change,
// ask, and write.
package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/libs/kubectl"
)

// Run runs a command line, prints its error, and returns the exit code.
func Run(ctx context.Context, args []string, o kubectl.Options) int {
	c := newCLI(o)
	return c.Run(ctx, c.newRoot(), args)
}

// cli holds the state of one run.
type cli struct{ *kubectl.Plugin }

func newCLI(o kubectl.Options) *cli {
	p := kubectl.New("dojo", kinds.Scheme(), kinds.All(), o)
	p.Missing, p.Roles = "See kubectl dojo check.", roleWith
	return &cli{p}
}

// roleWith returns the ClusterRole with a right on Dojos.
func roleWith(verb, resource string) string {
	switch {
	case !strings.HasSuffix(resource, kinds.Dojo.Resource()):
		return ""
	case verb == "get" || verb == "list":
		return "dojos-view"
	}
	return "dojos-edit"
}

const introduction = `kubectl dojo shows Dojos and what is wrong with them, and does what the pages of dojo-operator
say. Every change is shown before it is made. It has your rights and no others, and says which is missing.

Exit codes: 0 well, 1 an error, 2 wrong use, 3 answered, and something is wrong.`

func (c *cli) newRoot() *cobra.Command {
	return c.Root("Dojos, and what is wrong with them", introduction,
		kubectl.Group{ID: "see", Title: "See:", Commands: []*cobra.Command{
			c.newList(), c.newStatus(), c.newTree(), c.newLogs(), c.newCheck(), c.newReport(), c.newPlan(),
		}},
		kubectl.Group{ID: "data", Title: "Data:", Commands: []*cobra.Command{
			c.newBackups(), c.newBackup(), c.newRestore(), c.newUpgrade(), c.newAcceptLoss(),
		}},
		kubectl.Group{ID: "do", Title: "Do:", Commands: []*cobra.Command{
			c.newRotate(), c.newSuspend(), c.newResume(), c.newOpen(), c.newPsql(), c.newTestAlert(),
		}})
}
