// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/check"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/libs/kubectl"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	blind := sendai(t)
	blind.Deny("list deployments.apps", "list prometheuses.monitoring.coreos.com", "list alertmanagers.monitoring.coreos.com",
		"list storageclasses.storage.k8s.io", "list servicemonitors.monitoring.coreos.com", "create pods/exec", "get namespaces",
		"create clusters.postgresql.cnpg.io", "delete clusters.postgresql.cnpg.io", "create backups.postgresql.cnpg.io",
		"get services", "get secrets")
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

// failing is a client that fails to list one kind. Its other reads succeed and return nothing.
type failing struct {
	client.Client
	kind string
	err  error
}

func (failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (f failing) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if list.GetObjectKind().GroupVersionKind().Kind == f.kind+"List" {
		return f.err
	}
	return nil
}

// TestCheckFails asserts that check does not report a failed list as an unreadable kind.
func TestCheckFails(t *testing.T) {
	t.Parallel()
	for _, kind := range []kinds.Kind{kinds.Prometheus, kinds.Alertmanager, kinds.ServiceMonitor} {
		want := errors.New("the connection is lost")
		s := &session{&kubectl.Plugin{Client: failing{kind: kind.Kind, err: want}, Namespace: apitest.Namespace}}
		if err := s.findServers(t.Context(), &check.Facts{Deployments: map[string][]appsv1.Deployment{}}); !errors.Is(err, want) {
			t.Errorf("%s: %v", kind.Resource(), err)
		}
	}
}
