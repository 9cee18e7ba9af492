// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

// finalizerForged sets the finalizer that the operator itself sets before it sends a create.
func finalizerForged(o client.Object) { o.SetFinalizers([]string{v1alpha1.CleanupFinalizer}) }

var _ = Describe("A finalizer of the operator that a user has forged", func() {
	unlogged := func(w *world, name string) string {
		discord.Faults().LoseAudit(1)
		DeferCleanup(func() { discord.Faults().LoseAudit(0) })
		return w.channelByHand(discordtest.Channel{Name: name})
	}

	It("binds the object to no existing channel of the same name, "+
		"and the object gets a new channel", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		s := w.server(serverAllows(v1alpha1.FromAll))
		ready(ctx, s)
		companys := unlogged(w, "general")
		c := a.channel("", "general", func(c *v1alpha1.DiscordChannel) { finalizerForged(c); c.Spec.Topic = new("mine") })
		ready(ctx, c)
		Expect(c.Status.ChannelID).NotTo(Equal(companys))
		Expect(c.Status.Matched).To(BeFalse())
		kept, _ := discord.Channel(companys)
		Expect(kept.Topic).To(BeEmpty())
		deleteAndWait(ctx, c)
		Expect(w.idsNamed("general")).To(ConsistOf(companys))
	})

	It("makes the object Degraded, and binds it to no channel, "+
		"if the bot may not view the audit log", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		ready(ctx, w.server(serverAllows(v1alpha1.FromAll)))
		discord.SetPermissions(w.guild, w.bot.UserID, everything&^discordtest.PermViewAuditLog)
		companys := w.channelByHand(discordtest.Channel{Name: "general"})
		c := a.channel("", "general", func(c *v1alpha1.DiscordChannel) { finalizerForged(c) })
		create(ctx, c)
		Expect(eventuallyDegraded(ctx, c, v1alpha1.ReasonCreateUnproven)).
			To(And(ContainSubstring("ask the owner"), ContainSubstring("ViewAuditLog"), Not(ContainSubstring(companys))))
		Expect(w.idsNamed("general")).To(ConsistOf(companys))

		By("changing spec.name, as the message says")
		edit(ctx, c, with(func(s *channelSpec) { s.Name = "tokyo" }))
		eventuallyReady(ctx, c)
		deleteAndWait(ctx, c)
		Expect(w.idsNamed("general")).To(ConsistOf(companys))
		Expect(w.idsNamed("tokyo")).To(BeEmpty())
	})

	It("is removed from a paused object, "+
		"so that the object is not bound to a channel that a user creates later", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		objects := []client.Object{w.group("incidents"), w.channel("", "alerts"), w.role("on-call")}
		for _, o := range objects {
			finalizerForged(o)
			o.SetAnnotations(map[string]string{v1alpha1.PausedAnnotation: "true"})
		}
		create(ctx, objects...)
		for _, o := range objects {
			eventuallyProgressing(ctx, o, v1alpha1.ReasonPaused)
			Eventually(ctx, refetch(o)).Should(HaveField("ObjectMeta.Finalizers", BeEmpty()))
		}
		byHand := unlogged(w, "alerts")
		operator.Restart(ctx)
		w.expectIdle(ctx)
		c := objects[1].(*v1alpha1.DiscordChannel)
		edit(ctx, c, func(c *v1alpha1.DiscordChannel) { c.Annotations = nil })
		eventuallyReady(ctx, c)
		Expect(c.Status.ChannelID).NotTo(Equal(byHand))
		Expect(c.Status.Matched).To(BeFalse())
	})
})
