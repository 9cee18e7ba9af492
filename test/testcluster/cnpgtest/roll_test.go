// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestRolled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instances int64
		method    string
		want      []string
	}{
		"with switchover, standbys are replaced before the primary": {3, "switchover", []string{
			"pg-1 [pg-1 pg-2] Upgrading cluster", "pg-1 [pg-1 pg-3] Upgrading cluster",
			"pg-2 [pg-2 pg-3] Upgrading cluster", "pg-2 [pg-2 pg-3 pg-1] Cluster in healthy state",
		}},
		"with restart, the primary is away during its replacement": {2, "restart", []string{
			"pg-1 [pg-1] Upgrading cluster", "pg-1 [pg-2] Upgrading cluster", "pg-1 [pg-1 pg-2] Cluster in healthy state",
		}},
		"the only instance is away during its replacement": {1, "switchover", []string{
			"pg-1 [] Upgrading cluster", "pg-1 [pg-1] Cluster in healthy state",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := object("Cluster", "pg", map[string]any{"instances": c.instances, "primaryUpdateMethod": c.method})
			o.SetUID("1")
			var i instances
			next := func(image string) string {
				status := i.status(o)
				i = i.rolled(o, image, status)
				list, _, _ := unstructured.NestedSlice(status, "instancesStatus", "healthy")
				return fmt.Sprint(status["currentPrimary"], " ", list, " ", status["phase"])
			}
			before := next("postgresql:17.5")
			if again := next("postgresql:17.5"); again != before {
				t.Errorf("pods are replaced though nothing has changed: %s", again)
			}
			rolls := func(image string) {
				t.Helper()
				var got []string
				for range c.want {
					got = append(got, next(image))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			}
			rolls("postgresql:17.6")
			parameters := map[string]any{"work_mem": "8MB"}
			o.Object["spec"].(map[string]any)["postgresql"] = map[string]any{"parameters": parameters}
			i = instances{roll: i.roll} // pg-1 is the primary again
			if got := next("postgresql:17.6"); strings.Contains(got, upgrading) {
				t.Errorf("pods are replaced for a parameter that Postgres reloads: %s", got)
			}
			parameters["max_connections"] = "200"
			rolls("postgresql:17.6")
		})
	}
}
