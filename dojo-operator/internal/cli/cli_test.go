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
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/libs/kubectl"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	code := m.Run()
	if *update {
		if err := updatePage(); err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}

// stillClock is a clock that stands still and whose tickers hurry.
type stillClock struct{ clock.RealClock }

func (stillClock) Now() time.Time { return apitest.Now }

func (c stillClock) NewTicker(time.Duration) clock.Ticker {
	return c.RealClock.NewTicker(time.Millisecond)
}

// result holds the exit code and the output of a run.
type result struct {
	code     int
	out, err string
}

func (r result) String() string { return fmt.Sprintf("%s%s[exit code %d]\n", r.out, r.err, r.code) }

// run runs the plugin in the namespace of the fixtures.
func run(t *testing.T, s *apitest.Server, input string, args ...string) result {
	t.Helper()
	return runWith(t.Context(), s.Kubeconfig(t, apitest.Namespace), input, args...)
}

func runWith(ctx context.Context, kubeconfig, input string, args ...string) (r result) {
	var out, problems bytes.Buffer
	r.code = Run(ctx, append([]string{"--kubeconfig", kubeconfig}, args...), kubectl.Options{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(input), Out: &out, ErrOut: &problems},
		Version:   "v1.2.3", Env: func(string) string { return "" }, Clock: stillClock{},
	})
	r.out, r.err = out.String(), problems.String()
	return r
}

// expectGolden compares a text with testdata/NAME.golden.
func expectGolden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", file, diff)
	}
}
