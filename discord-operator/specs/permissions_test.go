// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/testcluster/rbacusage"
)

var _ = Describe("The operator's permissions", func() {
	It("include list, for API servers that do not stream lists: those before Kubernetes 1.34", func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) { operator.Restart(ctx) }) // after the variable is reset
		GinkgoT().Setenv("KUBE_FEATURE_WatchListClient", "false")
		operator.Restart(ctx)
		w := newWorld(ctx)
		ready(ctx, w.server(), w.group("incidents"), w.channel("incidents", "tokyo", withWebhook))
	})

	It("include update of finalizers, for clusters that enforce blockOwnerDeletion", func(ctx context.Context) {
		update := rbacusage.Permission{Group: "discord.jutsu.com", Resource: "discordchannels/finalizers", Verb: "update"}
		restore := operator.Without(ctx, update)
		w := newWorld(ctx)
		ready(ctx, w.server())
		c := w.channel("", "tokyo", withWebhook)
		create(ctx, c)
		Eventually(ctx, refetch(c)).Should(WithTransform(func(o client.Object) string { return message(o, "Degraded") },
			Equal("The API server refuses the Secret tokyo-webhook: 403 Forbidden. "+
				"Check quotas, admission policies and the operator's permissions.")))
		restore(ctx)
		Eventually(ctx, refetch(c)).WithTimeout(2*soon).Should(HaveCondition("Ready", "True", ""), "it is retried")
		operator.Proven(update)
	})
})
