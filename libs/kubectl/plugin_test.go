// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Without the note, a pasted command could change an object in another cluster.
func TestPrintedCommandsNeedTheFlagsOfTheCluster(t *testing.T) {
	t.Parallel()
	const note = "Add --context=prod --user=jane to each command above. Otherwise, kubectl may use another cluster.\n"
	for name, c := range map[string]struct {
		args []string
		text string
		err  error
		want string
	}{
		"a command":             {[]string{"--context", "prod", "--user=jane"}, "kubectl delete x\n", nil, note},
		"a command in an error": {[]string{"--context", "prod", "--user=jane"}, "", errors.New("use kubectl get x"), "kubectl dojo: use kubectl get x\n" + note},
		"another kubeconfig": {[]string{"--kubeconfig", "/my prod.yaml"}, "kubectl delete x\n", nil,
			"Add --kubeconfig='/my prod.yaml' to each command above. Otherwise, kubectl may use another cluster.\n"},
		"no flag for the cluster":        {nil, "kubectl delete x\n", nil, ""},
		"no command":                     {[]string{"--context", "prod"}, "Ready\n", nil, ""},
		"an error without a command":     {[]string{"--context", "prod"}, "", errors.New("no"), "kubectl dojo: no\n"},
		"a flag that selects no cluster": {[]string{"-n", "school"}, "kubectl delete x\n", nil, ""},
	} {
		streams, _, _, errOut := genericiooptions.NewTestIOStreams()
		p := New("dojo", runtime.NewScheme(), nil, Options{IOStreams: streams, Env: func(string) string { return "" }})
		root := p.Root("", "")
		root.RunE = func(*cobra.Command, []string) error {
			p.Print("%s", c.text)
			return c.err
		}
		p.Run(t.Context(), root, c.args)
		if got := errOut.String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
