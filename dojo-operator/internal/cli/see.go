// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/view"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/kubectl/term"
)

func (s *session) newList() *cobra.Command {
	var everywhere, broken bool
	var format kubectl.Output
	cmd := &cobra.Command{
		Use: "list", Short: "List Dojos, with their state and its cause", Args: kubectl.Exactly(0, ""),
		DisableFlagsInUseLine: true,
		Long: `Lists the Dojos of a namespace, or of all namespaces with -A: their state, its reason, pods, the version of
Postgres and the age of the last backup. With --broken, lists only the Dojos for which you must act: Dojos that are
Degraded, or that have an outage, failing backups, or a spec that no operator has read for a minute. With --broken, the
exit code is 3 if a Dojo is listed.`,
		Example: "  kubectl dojo list -A --broken",
		RunE: s.Connected(func(ctx context.Context, _ []string) error {
			return s.list(ctx, everywhere, broken, format)
		}),
	}
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "list the Dojos of all namespaces")
	cmd.Flags().BoolVar(&broken, "broken", false, "list only the Dojos for which you must act")
	format.Bind(cmd)
	return cmd
}

func (s *session) list(ctx context.Context, everywhere, broken bool, format kubectl.Output) error {
	var all corev1api.DojoList
	in := client.InNamespace(s.Namespace)
	if everywhere {
		in = ""
	}
	if err := s.List(ctx, &all, in); err != nil {
		return err
	}
	if broken {
		all.Items = view.Broken(all.Items, s.Now())
	}
	for i := range all.Items { // kubectl also prints the kind of each item
		all.Items[i].SetGroupVersionKind(kinds.Dojo.GroupVersionKind)
		all.Items[i].ManagedFields = nil
	}
	all.SetGroupVersionKind(kinds.Dojo.GroupVersion().WithKind("DojoList"))
	if err := format.Write(s.Plugin, all, func() string { return s.listText(all.Items, everywhere, broken) }); err != nil {
		return err
	}
	if broken && len(all.Items) > 0 {
		return kubectl.ErrIll
	}
	return nil
}

func (s *session) listText(dojos []corev1api.Dojo, everywhere, broken bool) string {
	where := "the namespace " + s.Namespace
	if everywhere {
		where = "all namespaces"
	}
	switch {
	case len(dojos) > 0:
		return view.List(dojos, everywhere, s.Now(), s.Style)
	case broken:
		s.Note("There is no Dojo in %s for which you must act.\n", where)
	default:
		s.Note("There is no Dojo in %s.\n", where)
	}
	return ""
}

func (s *session) newStatus() *cobra.Command {
	var follow bool
	var format kubectl.Output
	cmd := s.forDojo("status", "Show one screen about a Dojo, and what to do",
		`Shows the state of a Dojo with its cause, and commands that fix the problem or show more. Then, it shows one line for
each part, such as the application, the database, the backups, the alerts and the children. The exit code is 3 if
something is wrong.`,
		func(ctx context.Context, name string) error {
			if follow && format != "" {
				return kubectl.Usage("--watch and --output exclude each other")
			}
			if follow {
				return s.Follow(ctx, func(ctx context.Context) (string, error) {
					w, err := s.worldWithAlerts(ctx, name)
					if err != nil {
						return "", err
					}
					return view.Status(w, s.Style), nil
				})
			}
			w, err := s.worldWithAlerts(ctx, name)
			if err != nil {
				return err
			}
			return s.answer(w, format, view.ReportOf(w), view.Status)
		})
	cmd.Flags().BoolVarP(&follow, "watch", "w", false, "show each change of the state, until you press Ctrl-C")
	format.Bind(cmd)
	return cmd
}

func (s *session) worldWithAlerts(ctx context.Context, name string) (*world.World, error) {
	w, err := s.world(ctx, name)
	if err == nil {
		s.addFiring(ctx, w)
	}
	return w, err
}

func (s *session) answer(
	w *world.World, format kubectl.Output, report any, text func(*world.World, term.Style) string,
) error {
	err := format.Write(s.Plugin, report, func() string { return text(w, s.Style) })
	if err == nil && view.HeadOf(w.Dojo, w.Now).Broken {
		return kubectl.ErrIll
	}
	return err
}

func (s *session) newTree() *cobra.Command {
	var format kubectl.Output
	cmd := s.forWorld("tree", "Show the objects of a Dojo, and their states",
		`Shows the children of a Dojo as a tree, each with its state: the objects that the operator writes, their pods,
and missing objects. The exit code is 3 if something is wrong.`,
		func(_ context.Context, w *world.World) error { return s.answer(w, format, view.Children(w), view.Tree) })
	format.Bind(cmd)
	return cmd
}
