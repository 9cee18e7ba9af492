// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"net/http"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("The operator's process", func() {
	It("serves its metrics over HTTPS to authorized clients only", func(ctx context.Context) {
		ns := newNamespace(ctx)
		runningDojo(ctx, ns, replicas(2))
		reader := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "prometheus"}}
		Expect(k8s.Create(ctx, reader)).To(Succeed())
		config, err := cluster.ServiceAccountConfig(ctx, ns, reader.Name)
		Expect(err).NotTo(HaveOccurred())

		code, _ := operator.Scrape(ctx, "")
		Expect(code).To(Equal(http.StatusUnauthorized))
		code, _ = operator.Scrape(ctx, config.BearerToken)
		Expect(code).To(Equal(http.StatusForbidden))

		grant := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "metrics-of-" + ns},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "dojo-operator-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: reader.Name}},
		}
		Expect(k8s.Create(ctx, grant)).To(Succeed())
		DeferCleanup(k8s.Delete, grant)
		Expect(cluster.AwaitMetricsReader(ctx, ns, reader.Name)).To(Succeed())
		// Use a new token, because the operator may have cached the denial of the old token.
		config, err = cluster.ServiceAccountConfig(ctx, ns, reader.Name)
		Expect(err).NotTo(HaveOccurred())
		var text string
		Eventually(func() string {
			_, text = operator.Scrape(ctx, config.BearerToken)
			return text
		}).Should(ContainSubstring(`dojo_replicas_ready{dojo="tokyo",namespace="` + ns + `"} 2`))
		secrets.ExpectNotIn(text)
		Expect(text).To(And(
			ContainSubstring(`dojo_condition{dojo="tokyo",namespace="`+ns+`",reason="Reconciled",type="Ready"} 1`),
			ContainSubstring(`dojo_child_applies_total{kind="Deployment",result="created"}`),
			ContainSubstring("dojo_time_to_available_seconds_count"),
			ContainSubstring("controller_runtime_reconcile_total"),
		))
	})

	It("releases its lease on SIGTERM, and a standby process becomes the leader", Serial, func(ctx context.Context) {
		first := operator.Process()
		Eventually(ctx, operator.Leader).ShouldNot(BeEmpty()) // otherwise the second process could become the leader
		before, err := operator.Leader(ctx)
		Expect(err).NotTo(HaveOccurred())
		operator.Start(ctx)
		first.Stop()
		Expect(operator.Leader(ctx)).NotTo(Equal(before), "the process should release the lease")
		Eventually(ctx, operator.Leader).ShouldNot(Or(BeEmpty(), Equal(before)), "the standby should hold the lease")
		runningDojo(ctx, newNamespace(ctx))
	})

	DescribeTable("reports an invalid command line", func(ctx context.Context, argument, want string) {
		out, err := exec.CommandContext(ctx, operator.Binary, argument).CombinedOutput()
		Expect(err).To(HaveOccurred())
		Expect(string(out)).To(ContainSubstring(want))
	},
		Entry("unknown flag", "--colour=red", "flag provided but not defined: -colour"),
		Entry("unexpected argument", "now", `unexpected argument "now"`),
		Entry("a deadline of 0", "--progress-deadline=0s", "--progress-deadline is 0s, it must be at least 1s"),
		Entry("a log level that includes Secrets", "--zap-log-level=8", "--zap-log-level must be at most 7"),
		Entry("no workers", "--concurrency=0", "--concurrency is 0, it must be at least 1"),
	)

	It("prints its flags and its version", func(ctx context.Context) {
		out, err := exec.CommandContext(ctx, operator.Binary, "--help").CombinedOutput()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(out)).
			To(And(ContainSubstring("-dojo-image"), ContainSubstring("-progress-deadline"), ContainSubstring("(default 2m0s)")))
		out, err = exec.CommandContext(ctx, operator.Binary, "--version").Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(out)).To(HavePrefix("dojo-operator "))
	})
})
