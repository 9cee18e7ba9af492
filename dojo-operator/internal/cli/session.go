// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
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
	loader := c.flags.ToRawKubeConfigLoader()
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent = fieldOwner + "/" + c.Version
	config.QPS = -1                         // the API server is fair by itself
	config.ContentType = "application/json" // of custom resources the only one
	config.WarningHandler = rest.NoWarnings{}
	c.namespace, c.server = namespace, config.Host
	k8s, err := client.New(config, client.Options{Scheme: kinds.Scheme(), Mapper: kinds.Mapper()})
	if err != nil {
		return nil, err
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &session{Client: client.WithFieldOwner(k8s, fieldOwner), cli: c, config: config, core: core}, nil
}

// dojo reads a Dojo in the namespace of the command line.
func (s *session) dojo(ctx context.Context, name string) (*corev1api.Dojo, error) {
	d := &corev1api.Dojo{}
	err := s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, d)
	if apierrors.IsNotFound(err) && !world.NotServed(err) {
		return nil, s.unknown(ctx, name)
	}
	return d, err
}

// unknown returns the error for a Dojo that does not exist, and lists the existing ones.
func (s *session) unknown(ctx context.Context, name string) error {
	var all corev1api.DojoList
	if err := s.List(ctx, &all, client.InNamespace(s.namespace)); err != nil || len(all.Items) == 0 {
		return fmt.Errorf("there is no Dojo %q in the namespace %s; kubectl dojo list -A shows those of all namespaces",
			name, s.namespace)
	}
	var names []string
	for i := range all.Items {
		names = append(names, all.Items[i].Name)
	}
	if len(names) > 10 {
		names = append(names[:10], "...")
	}
	return fmt.Errorf("there is no Dojo %q in the namespace %s, which has %s",
		name, s.namespace, strings.Join(names, ", "))
}

// world reads a Dojo with all that belongs to it.
func (s *session) world(ctx context.Context, name string) (*world.World, error) {
	d, err := s.dojo(ctx, name)
	if err != nil {
		return nil, err
	}
	w, err := world.Read(ctx, s, d, s.now())
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

// completions returns the names of a list that begin with what was typed.
func (c *cli) completions(
	cmd *cobra.Command, typed string, all client.ObjectList, inNamespace bool,
) (names []string, _ cobra.ShellCompDirective) {
	s, err := c.connect()
	if err == nil {
		in := client.InNamespace("")
		if inNamespace {
			in = client.InNamespace(s.namespace)
		}
		err = s.List(cmd.Context(), all, in)
	}
	if err == nil {
		_ = meta.EachListItem(all, func(o runtime.Object) error {
			if name := o.(client.Object).GetName(); strings.HasPrefix(name, typed) {
				names = append(names, name)
			}
			return nil
		})
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// dojoNames completes the names of Dojos.
func (c *cli) dojoNames(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.completions(cmd, typed, &corev1api.DojoList{}, true)
}

// namespaceNames completes the names of namespaces.
func (c *cli) namespaceNames(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return c.completions(cmd, typed, &corev1.NamespaceList{}, false)
}

// forDojo returns a command about one Dojo, whose name it completes.
func (c *cli) forDojo(
	use, short, long string, run func(context.Context, *session, string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Long: long, Args: exactly(1), ValidArgsFunction: c.dojoNames,
		DisableFlagsInUseLine: true,
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
