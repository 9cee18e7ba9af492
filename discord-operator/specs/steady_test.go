// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

var _ = Describe("In the steady state, over several resyncs, "+
	"the operator neither calls Discord nor writes to Kubernetes", Ordered, ContinueOnFailure, SpecPriority(1), func() {
	const resyncs = 6
	BeforeAll(func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits()}, "--resync-period=1s")
	})
	expectNothing := func(ctx context.Context, w *world) {
		GinkgoHelper()
		w.expectIdle(ctx)
		before, count := w.traffic(), reconciles(ctx)
		Consistently(ctx, func() []string { return since(before, w.traffic()) }).WithTimeout(resyncs*time.Second).
			WithPolling(time.Second).
			Should(BeEmpty(), "neither a call to Discord nor a write to Kubernetes")
		// On a busy machine, the operator may need more than a period to reconcile all objects.
		Eventually(ctx, func() int { return reconciles(ctx) - count }).WithPolling(time.Second).
			Should(BeNumerically(">=", (resyncs-2)*len(allIn(ctx, w.ns))), "every object is reconciled in every period")
		Expect(since(before, w.traffic())).To(BeEmpty())
	}

	It("for objects with many fields", func(ctx context.Context) {
		m := newManaged(ctx)
		yaga := discord.AddUser("yaga")
		discord.AddMember(m.guild, yaga, 0)
		ready(ctx,
			m.world.group("untouched"), m.world.channel("", "alone"),
			m.world.group("Mixed-case-group", named("mixed"), func(g *v1alpha1.DiscordGroup) {
				g.Spec.Name, g.Spec.Position, g.Spec.PermissionOverwrites = "🚨 Incidents & Co.", new(int32(7)),
					[]v1alpha1.PermissionOverwrite{}
			}),
			m.world.channel("mixed", "only-allows", func(c *v1alpha1.DiscordChannel) {
				c.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{{Role: "@everyone",
					Allow: []v1alpha1.Permission{"ViewChannel", "SendMessages"}}}
				c.Spec.Topic = new("")
			}),
			m.world.channel("mixed", "only-denies", func(c *v1alpha1.DiscordChannel) {
				c.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{{User: yaga},
					{Role: "@everyone", Deny: []v1alpha1.Permission{"ViewChannel"}}}
				c.Spec.Position = new(int32(3))
			}),
			m.world.channel("incidents", "inherits", func(c *v1alpha1.DiscordChannel) { c.Spec.Position = new(int32(3)) }),
		)
		expectNothing(ctx, m.world)
	})

	It("for 50 channels with webhooks", func(ctx context.Context) {
		w := newWorld(ctx)
		objects := []client.Object{w.server(), w.group("incidents")}
		for i := range 50 {
			objects = append(objects, w.channel("incidents", fmt.Sprintf("alerts-%d", i), withWebhook))
		}
		ready(ctx, objects...)
		Expect(w.edits()).To(HaveLen(1+2*50), "a category, and for each channel one call for it and one for its webhook")
		expectNothing(ctx, w)
	})

	It("for objects that a user must fix", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		c := w.channel("", "refused", withOverwrites(allowing("Nobody")))
		second := w.server(func(s *v1alpha1.DiscordServer) { s.Name = "second" })
		create(ctx, c, second)
		eventuallyDegraded(ctx, c, v1alpha1.ReasonRoleNotFound)
		eventuallyDegraded(ctx, second, v1alpha1.ReasonConflict)
		expectNothing(ctx, w)
	})
})

func named(name string) func(*v1alpha1.DiscordGroup) {
	return func(g *v1alpha1.DiscordGroup) { g.Name = name }
}
