// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/testcluster/rbacusage"
)

var _ = Describe("A call that Discord does not permit", func() {
	It("is repeated after a change of roles, but not after other events of the server", func(ctx context.Context) {
		w := newWorld(ctx)
		s, c, hooked := w.server(), w.channel("", "tokyo"), w.channel("", "kyoto")
		ready(ctx, s, c, hooked)
		w.expectIdle(ctx)
		permit := discord.Faults().Add(discordtest.Fault{
			Match: func(r discordtest.Request) bool {
				return r.BotID == w.bot.UserID && (r.Route == patchChannel || r.Route == postWebhook)
			},
			Action: discordtest.Action{Status: 403, Body: `{"message": "Missing Permissions", "code": 50013}`},
		})
		defer permit()
		before := len(w.edits())
		edit(ctx, c, slowmode(5))
		edit(ctx, hooked, withWebhook)
		eventuallyDegraded(ctx, c, v1alpha1.ReasonMissingPermissions)
		eventuallyDegraded(ctx, hooked, v1alpha1.ReasonMissingPermissions)
		count := reconciles(ctx)
		for i := range 5 {
			discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.AFKTimeout = 60 + 240*(i%2) })
			// Wait after each event, because the workqueue would merge events in quick succession.
			Eventually(ctx, func() int { return reconciles(ctx) - count }).
				Should(BeNumerically(">=", (i+1)*len(allIn(ctx, w.ns))), "each event should cause a reconcile of every object")
		}
		Expect(w.edits()[before:]).To(ConsistOf(patchChannel, postWebhook))

		permit()
		discord.GiveRole(w.guild, w.bot.UserID, discord.AddRole(w.guild, "Sensei", 0))
		eventuallyReady(ctx, c, hooked)
	})
})

var _ = Describe("The operator's permissions", func() {
	It("include list, for API servers without streaming lists (before Kubernetes 1.34)", func(ctx context.Context) {
		// Cleanups run in reverse order, so this one runs after GinkgoT has reset the variable.
		DeferCleanup(func(ctx context.Context) { operator.Restart(ctx) })
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
		Eventually(ctx, refetch(c)).WithTimeout(2*soon).
			Should(HaveCondition("Ready", "True", ""), "the operator should retry the write")
		operator.Proven(update)
	})

	It("include delete of Secrets, which some clusters require to set owner references", func(ctx context.Context) {
		remove := rbacusage.Permission{Resource: "secrets", Verb: "delete"}
		w := newWorld(ctx)
		c := w.channel("", "tokyo", withWebhook)
		ready(ctx, w.server(), c)
		restore := operator.Without(ctx, remove)
		// The operator gives the Secret an owner that does not exist, so that the garbage collector
		// deletes the Secret.
		edit(ctx, c, with(func(s *channelSpec) { s.Webhook = nil }))
		Expect(eventuallyDegraded(ctx, c, v1alpha1.ReasonRefused)).To(ContainSubstring("update of the owner references"))
		restore(ctx)
		Eventually(ctx, refetch(c)).WithTimeout(2*soon).
			Should(HaveCondition("Ready", "True", ""), "the operator should retry the write")
		eventuallyCollected(ctx, w.secret("tokyo-webhook"))
		operator.Proven(remove)
	})
})
