// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/environment/spec"
	"jutsu.com/operators/test/testcluster"
)

// The specs run the operator's binary, built with the race detector. The permissions, arguments
// and environment come from the production overlay in deploy/.
const (
	// progressDeadline is much longer than a rollout on fake nodes.
	progressDeadline = 10 * time.Second
	// soon is the time limit for an immediate effect on a busy machine.
	soon = 30 * time.Second
)

var (
	cluster  *testcluster.Cluster
	k8s      client.Client
	operator = &spec.Operator{Operator: environment.Dojo, Plugins: []string{"kubectl-dojo"}}
)

func TestDojoOperator(t *testing.T) { operator.RunSpecs(t) }

var (
	_ = operator.Guard()
	_ = operator.UsesItsPermissions()
)

var _ = SynchronizedBeforeSuite(operator.Build, func(ctx context.Context, path []byte) {
	discord, err := environment.Discord.CRDs()
	Expect(err).NotTo(HaveOccurred())
	operator.Begin(ctx, path, environment.Options{
		Cluster: testcluster.Options{ControllerManager: true, Nodes: 3,
			CRDs: append(prometheusKinds(ctx), discord)},
		CloudNativePG: postgres, Admission: true, GatewayAPI: true,
		Components: []string{"owner-references-permission-enforcement"},
	})
	cluster, k8s, cloudNativePG = operator.Cluster, operator.Client, operator.Env.Postgres
	if planEveryChange {
		k8s = plans.of(k8s)
	}
	deadline := progressDeadline.String()
	operator.Flags = []string{"--progress-deadline=" + deadline, "--database-deadline=" + deadline}
	operator.Start(ctx)
	DeferCleanup(func() {
		operator.Stop()
		secrets.ExpectNotLogged(operator)
	})
})

// prometheusKinds lists only the used kinds. The CRDs of all kinds are six times as large.
func prometheusKinds(ctx context.Context) (files []string) {
	folder, err := testcluster.PrometheusOperatorCRDs(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, kind := range []string{"servicemonitors", "prometheusrules", "alertmanagerconfigs"} {
		files = append(files, filepath.Join(folder, "monitoring.coreos.com_"+kind+".yaml"))
	}
	return files
}
