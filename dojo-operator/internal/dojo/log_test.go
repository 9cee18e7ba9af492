// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/dojo-operator/internal/dojotest"
)

func TestChangesOfTheReasonAreLogged(t *testing.T) {
	t.Parallel()
	var lines []string
	ctx := logf.IntoContext(t.Context(), logr.New(funcr.New(func(_, args string) {
		if strings.Contains(args, "conditions changed") {
			lines = append(lines, args)
		}
	}, funcr.Options{}).GetSink()))
	w := newWorld(t, dojotest.Dojo())
	reconcile := func(want string) {
		t.Helper()
		lines = nil
		for range 2 { // the second reconcile changes nothing
			if _, err := w.reconciler.Reconcile(ctx, w.dojo()); err != nil {
				t.Fatal(err)
			}
		}
		if len(lines) != 1 || !strings.Contains(lines[0], want) || !strings.Contains(lines[0], `"kind"="Dojo"`) {
			t.Errorf("%q, want one line with %s", lines, want)
		}
	}
	reconcile(`"from"="" "to"="WaitingForCredentials" "ready"="False" "message"="`)
	source := dojotest.Source()
	source.SetResourceVersion("")
	must(t, w.Create(ctx, source))
	reconcile(`"from"="WaitingForCredentials"`)
}
