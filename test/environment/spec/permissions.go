// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"jutsu.com/operators/test/testcluster/rbacusage"
)

// UsesItsPermissions fails the suite if a permission of the operator is unused after all specs ran
// and passed. Call UsesItsPermissions at package level, like Describe.
func (o *Operator) UsesItsPermissions() bool {
	ginkgo.AfterSuite(func() {
		if o.process == nil {
			return
		}
		used, err := rbacusage.Used(o.Cluster.AuditLog(), o.Namespace, o.Name)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		for p := range o.proven {
			used[p] = true
		}
		gomega.Expect(used.Save(o.usedBy(ginkgo.GinkgoParallelProcess()))).To(gomega.Succeed())
	})
	return ginkgo.ReportAfterSuite("the operator uses every permission that it is given", func(report ginkgo.Report) {
		c := report.SuiteConfig
		filters := slices.Concat(c.FocusStrings, c.SkipStrings, c.FocusFiles, c.SkipFiles)
		if !report.SuiteSucceeded || report.SuiteHasProgrammaticFocus || len(filters) > 0 || c.LabelFilter != "" ||
			c.DryRun {
			return // not all specs ran and passed
		}
		granted, err := rbacusage.Granted(o.Env.Deployed(o.Operator), o.Namespace, o.Name)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		for process := 1; process <= c.ParallelTotal; process++ {
			used, err := rbacusage.Load(o.usedBy(process))
			gomega.Expect(err).NotTo(gomega.HaveOccurred())
			granted = granted.Without(used)
		}
		gomega.Expect(granted.Sorted()).To(gomega.BeEmpty(),
			"no spec needs these permissions: remove their +kubebuilder:rbac markers, or add a spec that needs them")
	})
}

func (o *Operator) usedBy(process int) string {
	return filepath.Join(o.folder(), fmt.Sprintf("permissions-%d.json", process))
}

// Proven marks a permission as used. The audit log does not show permissions that the API server
// checks within other requests, so the calling spec must test the operator without the permission.
func (o *Operator) Proven(p rbacusage.Permission) {
	if o.proven == nil {
		o.proven = rbacusage.Set{}
	}
	o.proven[p] = true
}

// Without removes a permission from the ClusterRole until the spec ends or restore is called.
func (o *Operator) Without(ctx context.Context, p rbacusage.Permission) (restore func(context.Context)) {
	ginkgo.GinkgoHelper()
	allowed := func(ctx context.Context) (bool, error) {
		return rbacusage.Allowed(ctx, o.Client, o.Namespace, o.Name, p)
	}
	giveBack, err := rbacusage.Withdraw(ctx, o.Client, o.Name, p)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	restore = func(ctx context.Context) {
		gomega.Expect(giveBack(ctx)).To(gomega.Succeed())
		gomega.Eventually(ctx, allowed).WithTimeout(soon).Should(gomega.BeTrue())
	}
	ginkgo.DeferCleanup(restore)
	gomega.Eventually(ctx, allowed).WithTimeout(soon).Should(gomega.BeFalse())
	return restore
}
