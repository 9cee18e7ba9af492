// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxNames bounds the names in an error.
const maxNames = 10

// NamesOf returns the names of the objects of a list.
func NamesOf(list client.ObjectList) (names []string) {
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		names = append(names, o.(client.Object).GetName())
		return nil
	})
	return names
}

// Unknown returns the error for an object that does not exist, with the names of the existing ones.
// otherwise says what to do where there is none.
func Unknown(kind, name, namespace string, have []string, otherwise string) error {
	if len(have) == 0 {
		return fmt.Errorf("there is no %s %q in the namespace %s; %s", kind, name, namespace, otherwise)
	}
	if len(have) > maxNames {
		have = append(have[:maxNames:maxNames], "...")
	}
	return fmt.Errorf("there is no %s %q in the namespace %s, which has %s",
		kind, name, namespace, strings.Join(have, ", "))
}

// Complete completes the first argument with the names of objects of the namespace.
func (p *Plugin) Complete(list func() client.ObjectList) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.completed(cmd, list(), true, typed)
	}
}

func (p *Plugin) namespaceNames(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return p.completed(cmd, &corev1.NamespaceList{}, false, typed)
}

func (p *Plugin) completed(
	cmd *cobra.Command, list client.ObjectList, namespaced bool, typed string,
) (names []string, _ cobra.ShellCompDirective) {
	k8s, _, err := p.Connect()
	if err == nil {
		in := client.InNamespace("")
		if namespaced {
			in = client.InNamespace(p.Namespace)
		}
		err = k8s.List(cmd.Context(), list, in)
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, name := range NamesOf(list) {
		if strings.HasPrefix(name, typed) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
