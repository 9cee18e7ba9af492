// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

var _ = Describe("An object that is paused", func() {
	paused := HaveCondition(v1alpha1.TypePaused, "True", v1alpha1.ReasonPaused)
	annotate := func(ctx context.Context, value string, objects ...client.Object) {
		GinkgoHelper()
		patch := client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"`+v1alpha1.PausedAnnotation+`":`+value+`}}}`))
		for _, o := range objects {
			Expect(k8s.Patch(ctx, o, patch)).To(Succeed())
		}
	}
	asPaused := func(o client.Object) {
		o.SetAnnotations(map[string]string{v1alpha1.PausedAnnotation: "true"})
	}

	It("is changed on Discord only after it is resumed, and its status reports the pause", func(ctx context.Context) {
		w := newWorld(ctx)
		s, g, c := w.server(), w.group("incidents"), w.channel("incidents", "alerts", withWebhook)
		r := w.role("on-call")
		ready(ctx, s, g, c, r)
		annotate(ctx, `"true"`, s, g, c, r)
		for _, o := range []client.Object{s, g, c, r} {
			Eventually(ctx, refetch(o)).Should(And(paused, HaveCondition("Ready", "True", v1alpha1.ReasonPaused)))
		}
		w.expectIdle(ctx)
		before := w.edits()
		edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.Name = "Renamed" })
		edit(ctx, g, func(g *v1alpha1.DiscordGroup) { g.Spec.Name = "renamed" })
		edit(ctx, c, func(c *v1alpha1.DiscordChannel) { c.Spec.Topic, c.Spec.Webhook = new("On call"), nil })
		edit(ctx, r, func(r *v1alpha1.DiscordRole) { r.Spec.Hoist = new(true) })
		for _, o := range []client.Object{s, g, c, r} {
			Expect(eventuallyProgressing(ctx, o, v1alpha1.ReasonPaused)).
				To(And(ContainSubstring("To resume: `kubectl annotate discord"),
					HaveSuffix(fmt.Sprintf(".discord.jutsu.com %s -n %s discord.jutsu.com/paused-`.", o.GetName(), w.ns))))
			Expect(o).To(And(paused, HaveCondition("Available", "True", ""), HaveCondition("Degraded", "False", "")))
		}
		Expect(c.Status.ChannelID).NotTo(BeEmpty(), "the status should keep the channel's id")
		w.expectIdle(ctx)
		Expect(since(before, w.edits())).To(BeEmpty())

		annotate(ctx, `null`, s, g, c, r)
		eventuallyReady(ctx, s, g, c, r)
		Expect(w.roleOn(r)().Hoist).To(BeTrue())
		for _, o := range []client.Object{s, g, c, r} {
			Expect(o).To(And(Not(paused), HaveCondition("Ready", "True", "Reconciled")))
		}
		Expect(on(c).Topic).To(Equal("On call"))
		Expect(category(g).Name).To(Equal("renamed"))
		Expect(discord.Guild(w.guild).Name).To(Equal("Renamed"))
	})

	It("is not created on Discord until it is resumed", func(ctx context.Context) {
		w := newWorld(ctx)
		g, c, r := w.group("incidents"), w.channel("", "alerts"), w.role("on-call")
		asPaused(g)
		asPaused(c)
		asPaused(r)
		ready(ctx, w.server())
		create(ctx, g, c, r)
		for _, o := range []client.Object{g, c, r} {
			eventuallyProgressing(ctx, o, v1alpha1.ReasonPaused)
			Expect(o.GetFinalizers()).To(BeEmpty())
		}
		w.expectIdle(ctx)
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
		Expect(w.rolesNamed("on-call")).To(BeEmpty())
		annotate(ctx, `null`, g, c, r)
		eventuallyReady(ctx, g, c, r)
	})

	It("is deleted together with its channel or category "+
		"only after it is resumed", func(ctx context.Context) {
		w := newWorld(ctx)
		g, c := w.group("incidents"), w.channel("", "alerts")
		ready(ctx, w.server(), g, c)
		annotate(ctx, `"true"`, g, c)
		deleteObjects(ctx, g, c)
		for _, o := range []client.Object{g, c} {
			Expect(eventuallyDegraded(ctx, o, v1alpha1.ReasonPaused)).To(And(ContainSubstring("nothing is deleted on Discord"),
				MatchRegexp("To undo the deletion: `kubectl discord undelete (group|channel) %s -n %s`", o.GetName(), w.ns)))
		}
		w.expectIdle(ctx)
		Expect(on(c).Name).To(Equal("alerts"))
		Expect(category(g).Name).To(Equal("incidents"))
		annotate(ctx, `null`, g, c)
		eventuallyGone(ctx, g, c)
		Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
	})
})
