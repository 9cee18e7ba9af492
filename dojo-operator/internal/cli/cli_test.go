// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/kubectl/kubectltest"
)

var update = flag.Bool("update", false, "write the golden files anew")

var page = kubectltest.Page{File: filepath.Join("..", "..", "..", "docs", "kubectl-dojo.md"), Name: "sendai"}

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	os.Exit(page.Run(m, update))
}

// TestPage compares the examples in docs/kubectl-dojo.md with the output of the commands.
func TestPage(t *testing.T) {
	t.Parallel()
	page.Check(t, *update, 8)
}

var stillClock = kubectltest.Clock{At: apitest.Now}

type result struct {
	code     int
	out, err string
}

func (r result) String() string { return fmt.Sprintf("%s%s[exit code %d]\n", r.out, r.err, r.code) }

func run(t *testing.T, s *apitest.Server, input string, args ...string) result {
	t.Helper()
	return runWith(t.Context(), s.Kubeconfig(t, apitest.Namespace), input, args...)
}

func runWith(ctx context.Context, kubeconfig, input string, args ...string) (r result) {
	var out, problems bytes.Buffer
	r.code = Run(ctx, append([]string{"--kubeconfig", kubeconfig}, args...), kubectl.Options{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(input), Out: &out, ErrOut: &problems},
		Version:   "v1.2.3", Env: func(string) string { return "" }, Clock: stillClock,
	})
	r.out, r.err = out.String(), kubectltest.WithoutNote(problems.String(), kubeconfig)
	return r
}

func expectGolden(t *testing.T, name, text string) {
	t.Helper()
	kubectltest.Golden(t, *update, name, text)
}
