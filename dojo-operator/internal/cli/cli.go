// SPDX-License-Identifier: Apache-2.0

// Package cli implements the commands of kubectl dojo: package world reads a Dojo and its objects,
// view renders them, and recovery plans restores. Commands ask the user before they write.
package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/libs/kubectl"
)

// Run runs a command line, prints its error, and returns the exit code.
func Run(ctx context.Context, args []string, o kubectl.Options) int {
	s := newSession(o)
	return s.Run(ctx, s.newRoot(), args)
}

type session struct{ *kubectl.Plugin }

func newSession(o kubectl.Options) *session {
	p := kubectl.New("dojo", kinds.Scheme(), kinds.All(), o)
	p.Missing, p.Roles = "See kubectl dojo check.", roleWith
	return &session{p}
}

func roleWith(verb, resource string) string {
	switch {
	case !strings.HasSuffix(resource, kinds.Dojo.Resource()):
		return ""
	case verb == "get" || verb == "list":
		return "dojos-view"
	}
	return "dojos-edit"
}

const introduction = `kubectl dojo shows Dojos and what is wrong with them, and does the tasks of dojo-operator's docs.
It shows every change before it makes the change. It uses your rights alone, and names a right that you lack.

Exit codes: 0 well, 1 an error, 2 wrong use, 3 no error, but something is wrong (plan: something would
change).`

func (s *session) newRoot() *cobra.Command {
	return s.Root("Dojos, and what is wrong with them", introduction,
		kubectl.Group{ID: "see", Title: "See:", Commands: []*cobra.Command{
			s.newList(), s.newStatus(), s.newTree(), s.newLogs(), s.newCheck(), s.newReport(), s.newPlan(),
		}},
		kubectl.Group{ID: "data", Title: "Data:", Commands: []*cobra.Command{
			s.newBackups(), s.newBackup(), s.newRestore(), s.newUpgrade(), s.newAcceptLoss(),
		}},
		kubectl.Group{ID: "do", Title: "Do:", Commands: []*cobra.Command{
			s.newRotate(), s.newSuspend(), s.newResume(), s.newOpen(), s.newPsql(), s.newTestAlert(),
		}})
}

func (s *session) core() corev1client.CoreV1Interface {
	// This cannot panic: Connect has already made a client from the same config.
	return corev1client.NewForConfigOrDie(s.Config)
}

func (s *session) dojo(ctx context.Context, name string) (*corev1api.Dojo, error) {
	d := &corev1api.Dojo{}
	return d, s.Named(ctx, kinds.Dojo, name, d, "kubectl dojo list -A shows the Dojos of all namespaces")
}

func (s *session) world(ctx context.Context, name string) (*world.World, error) {
	d, err := s.dojo(ctx, name)
	if err != nil {
		return nil, err
	}
	w, err := world.Read(ctx, s, d, s.Now())
	if err != nil {
		return nil, fmt.Errorf("read the objects of the Dojo %s: %w", name, err)
	}
	return w, nil
}

// fieldOwner is the plugin's field manager, managed-by label and application name in Postgres.
const fieldOwner = "kubectl-dojo"

const nameOfDojo = "the name of a Dojo"

func seeStatus(d *corev1api.Dojo) string {
	return fmt.Sprintf("see kubectl dojo status %s -n %s", d.Name, d.Namespace)
}

func (s *session) forDojo(use, short, long string, run func(context.Context, string) error) *cobra.Command {
	return s.About(kinds.Dojo, use+" NAME", short, long, run)
}

func (s *session) forWorld(use, short, long string, run func(context.Context, *world.World) error) *cobra.Command {
	return s.forDojo(use, short, long, func(ctx context.Context, name string) error {
		w, err := s.world(ctx, name)
		if err != nil {
			return err
		}
		return run(ctx, w)
	})
}
