package main_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/testcluster/rbacusage"
)

// proven are permissions that the API server asks for without a request for them, by specs that show what happens without.
var proven = rbacusage.Set{}

// permissionsOf is where a process of the test runner leaves what the operator has used there.
func permissionsOf(process int) string {
	return filepath.Join("..", "out", "discord-operator", fmt.Sprintf("permissions-%d.json", process))
}

var _ = AfterSuite(func() {
	if cluster == nil {
		return
	}
	used, err := rbacusage.Used(cluster.AuditLog(), "discord-system", "discord-operator")
	Expect(err).NotTo(HaveOccurred())
	for p := range proven {
		used[p] = true
	}
	Expect(used.Save(permissionsOf(GinkgoParallelProcess()))).To(Succeed())
})

// The other direction, that nothing is missing, is what all specs show.
var _ = ReportAfterSuite("the operator uses every permission that it is given", func(report Report) {
	c := report.SuiteConfig
	filters := slices.Concat(c.FocusStrings, c.SkipStrings, c.FocusFiles, c.SkipFiles)
	if !report.SuiteSucceeded || report.SuiteHasProgrammaticFocus || len(filters) > 0 || c.LabelFilter != "" || c.DryRun {
		return // not all specs ran
	}
	granted, err := rbacusage.Granted(deployed, "discord-system", "discord-operator")
	Expect(err).NotTo(HaveOccurred())
	for process := 1; process <= c.ParallelTotal; process++ {
		used, err := rbacusage.Load(permissionsOf(process))
		Expect(err).NotTo(HaveOccurred())
		granted = granted.Without(used)
	}
	Expect(granted.Sorted()).To(BeEmpty(), "no spec needs these permissions: take them out of the +kubebuilder:rbac markers, or show what they are for")
})

var _ = Describe("The operator's permissions", func() {
	It("include to list, for API servers that do not stream lists, which is those before Kubernetes 1.34", func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) { restartOperator(ctx) }) // when the variable is as before
		GinkgoT().Setenv("KUBE_FEATURE_WatchListClient", "false")
		restartOperator(ctx)
		w := newWorld(ctx)
		ready(ctx, w.server(), w.group("alarms"), w.channel("alarms", "tokyo", withWebhook))
	})

	It("include to write finalizers, for clusters that ask it of whoever holds back a deletion", func(ctx context.Context) {
		update := rbacusage.Permission{Group: "discord.jutsu.com", Resource: "discordchannels/finalizers", Verb: "update"}
		restore := without(ctx, update)
		w := newWorld(ctx)
		ready(ctx, w.server())
		c := w.channel("", "tokyo", withWebhook)
		create(ctx, c)
		Eventually(ctx, refetch(c)).Should(WithTransform(func(o client.Object) string { return message(o, "Degraded") },
			Equal("The API server refuses the Secret tokyo-webhook: Forbidden.")))
		restore(ctx)
		Eventually(ctx, refetch(c)).WithTimeout(2*soon).Should(HaveCondition("Ready", "True", ""), "it is tried again")
		proven[update] = true
	})
})

// without takes a permission from the operator, until the spec is over or what it returns is called.
func without(ctx context.Context, p rbacusage.Permission) (restore func(context.Context)) {
	GinkgoHelper()
	allowed := func(ctx context.Context) (bool, error) {
		return rbacusage.Allowed(ctx, k8s, "discord-system", "discord-operator", p)
	}
	giveBack, err := rbacusage.Withdraw(ctx, k8s, "discord-operator", p)
	Expect(err).NotTo(HaveOccurred())
	restore = func(ctx context.Context) {
		Expect(giveBack(ctx)).To(Succeed())
		Eventually(ctx, allowed).Should(BeTrue())
	}
	DeferCleanup(restore)
	Eventually(ctx, allowed).Should(BeFalse())
	return restore
}
