// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/libs/kubectl"
)

// fieldOwner is the field manager of the plugin's writes.
const fieldOwner = "kubectl-dojo"

// session is a connection to a cluster, as the user.
type session struct {
	client.Client
	*cli
	config *rest.Config
	core   corev1client.CoreV1Interface // pods: logs, exec, port forwarding; and proxies
}

// connect returns a session. It sends no request.
func (c *cli) connect() (*session, error) {
	k8s, config, err := c.Connect()
	if err != nil {
		return nil, err
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &session{Client: k8s, cli: c, config: config, core: core}, nil
}

// dojo reads a Dojo in the namespace of the command line.
func (s *session) dojo(ctx context.Context, name string) (*corev1api.Dojo, error) {
	d := &corev1api.Dojo{}
	err := s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, d)
	if apierrors.IsNotFound(err) && !kubectl.NotServed(err) {
		return nil, s.unknown(ctx, name)
	}
	return d, err
}

// unknown returns the error for a Dojo that does not exist, and lists the existing ones.
func (s *session) unknown(ctx context.Context, name string) error {
	var all corev1api.DojoList
	if err := s.List(ctx, &all, client.InNamespace(s.Namespace)); err != nil {
		all.Items = nil // the user may not list them
	}
	return kubectl.Unknown("Dojo", name, s.Namespace, kubectl.NamesOf(&all),
		"kubectl dojo list -A shows those of all namespaces")
}

// world reads a Dojo with all that belongs to it.
func (s *session) world(ctx context.Context, name string) (*world.World, error) {
	d, err := s.dojo(ctx, name)
	if err != nil {
		return nil, err
	}
	w, err := world.Read(ctx, s, d, s.Now())
	if err != nil {
		return nil, fmt.Errorf("read what belongs to the Dojo %s: %w", name, err)
	}
	return w, nil
}

// command runs a function with a session.
func (c *cli) command(run func(context.Context, *session, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := c.connect()
		if err != nil {
			return err
		}
		return run(cmd.Context(), s, args)
	}
}

// nameOfDojo is an argument of most commands.
const nameOfDojo = "the name of a Dojo"

// dojoNames completes the names of Dojos.
func (c *cli) dojoNames(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return c.Complete(func() client.ObjectList { return &corev1api.DojoList{} })(cmd, args, typed)
}

// seeStatus names the command that shows more about a Dojo.
func seeStatus(d *corev1api.Dojo) string {
	return fmt.Sprintf("see kubectl dojo status %s -n %s", d.Name, d.Namespace)
}

// forDojo returns a command about one Dojo, whose name it completes.
func (c *cli) forDojo(
	use, short, long string, run func(context.Context, *session, string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Long: long, Args: kubectl.Exactly(1, nameOfDojo),
		ValidArgsFunction: c.dojoNames, DisableFlagsInUseLine: true,
		RunE: c.command(func(ctx context.Context, s *session, args []string) error {
			return run(ctx, s, args[0])
		}),
	}
}

// forWorld returns a command about one Dojo and all that belongs to it.
func (c *cli) forWorld(
	use, short, long string, run func(context.Context, *session, *world.World) error,
) *cobra.Command {
	return c.forDojo(use, short, long, func(ctx context.Context, s *session, name string) error {
		w, err := s.world(ctx, name)
		if err != nil {
			return err
		}
		return run(ctx, s, w)
	})
}
