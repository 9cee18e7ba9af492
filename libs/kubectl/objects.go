// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const maxNames = 10

// Named reads the object with this name in the current namespace. If the object does not exist,
// the error is that of [Plugin.Unknown].
func (p *Plugin) Named(ctx context.Context, kind Kind, name string, into client.Object, otherwise string) error {
	err := p.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: name}, into)
	if apierrors.IsNotFound(err) && !NotServed(err) {
		return p.Unknown(ctx, kind, name, otherwise)
	}
	return err
}

// Unknown returns the error for a missing object. It ends with the names of other objects, or with
// the text in otherwise if it knows none.
func (p *Plugin) Unknown(ctx context.Context, kind Kind, name, otherwise string) error {
	have, _ := p.names(ctx, kind) // the user may lack the right to list; then no names are shown
	if len(have) == 0 {
		return fmt.Errorf("there is no %s %q in the namespace %s; %s", kind.Kind, name, p.Namespace, otherwise)
	}
	if len(have) > maxNames {
		have = append(have[:maxNames:maxNames], "...")
	}
	return fmt.Errorf("there is no %s %q in the namespace %s; existing names: %s",
		kind.Kind, name, p.Namespace, strings.Join(have, ", "))
}

func (p *Plugin) names(ctx context.Context, kind Kind) (names []string, _ error) {
	in := client.InNamespace(p.Namespace)
	if kind.ClusterScoped {
		in = ""
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.List().GroupVersionKind())
	err := p.List(ctx, list, in)
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, err
}

// Complete completes the first argument of a command with names of objects in the namespace.
func (p *Plugin) Complete(kind Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.completed(cmd, kind, typed)
	}
}

func (p *Plugin) completed(cmd *cobra.Command, kind Kind, typed string) (found []string, _ cobra.ShellCompDirective) {
	if p.Connect() == nil {
		names, _ := p.names(cmd.Context(), kind)
		for _, name := range names {
			if strings.HasPrefix(name, typed) {
				found = append(found, name)
			}
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// Connected returns a cobra RunE function that calls Connect and then run.
func (p *Plugin) Connected(run func(context.Context, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := p.Connect(); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

// About returns a command about one object, with shell completion of the object's name.
func (p *Plugin) About(
	kind Kind, use, short, long string, run func(ctx context.Context, name string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: Exactly(1, "the name of a "+kind.Kind), DisableFlagsInUseLine: true,
		ValidArgsFunction: p.Complete(kind),
		RunE:              p.Connected(func(ctx context.Context, args []string) error { return run(ctx, args[0]) }),
	}
}

// Merge sends fields as a JSON merge patch of an object.
func (p *Plugin) Merge(
	ctx context.Context, kind Kind, namespace, name string, fields map[string]any, o ...client.PatchOption,
) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return p.Patch(ctx, kind.Named(namespace, name), client.RawPatch(types.MergePatchType, text), o...)
}
