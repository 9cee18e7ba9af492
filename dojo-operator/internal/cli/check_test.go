// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	blind := sendai(t)
	blind.Deny("list deployments.apps", "list prometheuses.monitoring.coreos.com", "list alertmanagers.monitoring.coreos.com",
		"list storageclasses.storage.k8s.io", "list servicemonitors.monitoring.coreos.com", "create pods/exec", "get namespaces",
		"create clusters.postgresql.cnpg.io", "delete clusters.postgresql.cnpg.io")
	some := sendai(t)
	some.Uninstall(kinds.HTTPRoute.Resource(), kinds.Channel.Resource(), kinds.Pooler.Resource(), kinds.Prometheus.Resource())
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "dojo-system", Name: "dojo-operator", Labels: map[string]string{"app.kubernetes.io/name": "dojo-operator"},
	}}
	some.Put(d)
	for name, s := range map[string]*apitest.Server{"check blind": blind, "check some": some} {
		got := run(t, s, "", "check")
		expectGolden(t, name, "$ kubectl dojo check\n"+got.String())
		if want := map[string]int{"check blind": 0, "check some": 3}[name]; got.code != want {
			t.Errorf("%s ends with %d", name, got.code)
		}
	}
}
