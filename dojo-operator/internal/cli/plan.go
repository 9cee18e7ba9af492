// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/plan"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/libs/kubectl"
)

type planFlags struct {
	file, version, operatorArgs, fieldManager string
	everywhere, serverSide                    bool
	format                                    kubectl.Output
}

func (s *session) newPlan() *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use: "plan (-f FILE | NAME | -A)", Short: "Show what the operator would do, before it does",
		Long: `Shows what dojo-operator would write if you applied FILE. For a Dojo that exists, shows what dojo-operator of
this plugin's version would write, and so what an upgrade of the operator would change. The plugin runs the
operator's code on the live objects, which it reads with your rights. It does not change the cluster: it sends a write
only as a dry run, and only if you have the right to the write.

Exit codes: 0 nothing would change, 1 an error, or a Dojo that would not match its spec, 2 wrong use, 3 something would
change.`,
		Example: "  kubectl dojo plan -f dojo.yaml\n  kubectl dojo plan -A --operator-version v0.2.0 -o json",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: s.Complete(kinds.Dojo), DisableFlagsInUseLine: true,
		PreRunE: func(_ *cobra.Command, args []string) error { return f.validate(s.Version, args) },
		RunE:    s.Connected(func(ctx context.Context, args []string) error { return s.plan(ctx, f, args) }),
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "filename", "f", "", "plan the apply of a `file` or folder, or of - for standard input")
	flags.BoolVarP(&f.everywhere, "all-namespaces", "A", false, "plan the Dojos of all namespaces")
	flags.StringVar(&f.version, "operator-version", "",
		"fail unless this plugin plans for this `version` of the operator")
	flags.StringVar(&f.operatorArgs, "operator-args", "",
		"the operator's `flags`, separated by spaces; by default those of its Deployment, if you may read it")
	flags.BoolVar(&f.serverSide, "server-side", false, "plan a server-side apply, as Flux and Argo CD may do")
	flags.StringVar(&f.fieldManager, "field-manager", "kubectl", "the `name` that owns the fields of a server-side apply")
	f.format.Bind(cmd)
	return cmd
}

func (f *planFlags) validate(own string, args []string) error {
	named := 0
	for _, given := range []bool{f.file != "", len(args) > 0, f.everywhere} {
		if given {
			named++
		}
	}
	switch {
	case len(args) > 1:
		return kubectl.Usage("unexpected argument %q: name one Dojo, as in kubectl dojo plan NAME", args[1])
	case named == 0:
		return kubectl.Usage("the name of a Dojo is missing: kubectl dojo plan NAME, or -f FILE, or -A for all")
	case named > 1:
		return kubectl.Usage("name only one: a file with -f, a Dojo, or all Dojos with -A")
	case f.version != "" && strings.TrimPrefix(f.version, "v") != strings.TrimPrefix(own, "v"):
		return kubectl.Usage("this is kubectl-dojo %s, which plans the writes of dojo-operator %s alone. To plan those of "+
			"dojo-operator %s, run kubectl-dojo %s", own, own, f.version, f.version)
	}
	return nil
}

func (s *session) plan(ctx context.Context, f *planFlags, args []string) error {
	report := &plan.Report{OperatorVersion: s.Version, Dojos: []*plan.Dojo{}}
	planner, err := s.planner(ctx, f, report)
	if err != nil {
		return err
	}
	targets, err := s.planTargets(ctx, f, args, planner, report)
	if err != nil {
		return err
	}
	for _, target := range targets {
		planned, err := planner.Plan(ctx, target.Namespace, target.Name)
		if err != nil {
			return err
		}
		report.Add(planned)
	}
	if err := f.format.Write(s.Plugin, report, report.Text); err != nil {
		return err
	}
	switch {
	case report.Summary.Problems > 0:
		return fmt.Errorf("%w: %d", errProblems, report.Summary.Problems)
	case report.Changes():
		return kubectl.ErrIll
	}
	return nil
}

var errProblems = errors.New("number of Dojos that would not match their spec")

func (s *session) planner(ctx context.Context, f *planFlags, report *plan.Report) (*plan.Planner, error) {
	absent, err := s.absentKinds()
	if err != nil {
		return nil, err
	}
	operator, err := s.platform(ctx, f.operatorArgs, report)
	if err != nil {
		return nil, err
	}
	return plan.New(ctx, plan.Input{
		Live: s, Checker: &plan.DryRun{Plugin: s.Plugin}, Config: operator.Config(), Now: s.Now(),
		Sizes: operator.sizes, Catalog: operator.catalog,
		Served: func(k optionalkinds.Kind) bool { return !absent[kinds.From(k).Resource()] },
	})
}

func (s *session) planTargets(
	ctx context.Context, f *planFlags, args []string, planner *plan.Planner, report *plan.Report,
) ([]client.ObjectKey, error) {
	if f.file != "" {
		return s.applyManifests(ctx, f, planner, report)
	}
	if len(args) > 0 {
		d, err := s.dojo(ctx, args[0])
		if err != nil {
			return nil, err
		}
		return []client.ObjectKey{client.ObjectKeyFromObject(d)}, nil
	}
	var all corev1api.DojoList
	if err := s.List(ctx, &all); err != nil {
		return nil, err
	}
	var targets []client.ObjectKey
	for i := range all.Items {
		targets = append(targets, client.ObjectKeyFromObject(&all.Items[i]))
	}
	slices.SortFunc(targets, func(a, b client.ObjectKey) int { return strings.Compare(a.String(), b.String()) })
	return targets, nil
}
