// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func (w *world) iconMap(image []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "icon"}, BinaryData: map[string][]byte{"icon.png": image},
	}
}

func withIcon(s *v1alpha1.DiscordServer) {
	s.Spec.Icon = &v1alpha1.ServerIcon{ConfigMapKeyRef: v1alpha1.ConfigMapKeyReference{Name: "icon", Key: "icon.png"}}
}

func (w *world) icon() string { return discord.Guild(w.guild).Icon }

func hashOf(image []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(image)) }

var _ = Describe("The icon of a DiscordServer", func() {
	var w *world
	var s *v1alpha1.DiscordServer
	first, second := discordtest.PNG(64, 64, 1), discordtest.PNG(64, 64, 2)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		s = w.server(withIcon)
	})

	It("follows its ConfigMap, "+
		"and is set again when a user changes or removes the icon on Discord", func(ctx context.Context) {
		cm := w.iconMap(first)
		create(ctx, cm)
		ready(ctx, s)
		was := w.icon()
		Expect(s.Status.Icon).To(HaveValue(Equal(v1alpha1.ServerIconStatus{SourceHash: hashOf(first), DiscordHash: was})))
		Expect(w.edits()).To(Equal([]string{patchGuild}))

		By("writing nothing while it is in sync, also after a restart")
		operator.Restart(ctx)
		w.eventuallyLeads(ctx) // before it leads, an operator would be idle anyway
		w.expectInSync(ctx, s)
		Expect(w.edits()).To(Equal([]string{patchGuild}))

		By("putting another image into the ConfigMap")
		cm.BinaryData["icon.png"] = second
		Expect(k8s.Update(ctx, cm)).To(Succeed())
		Eventually(ctx, refetch(s)).Should(HaveField("Status.Icon.SourceHash", hashOf(second)))
		now := w.icon()
		Expect(now).NotTo(Equal(was))
		Expect(eventsOf(s)(ctx)).NotTo(ContainElement("Normal DriftCorrected"), "no user has changed anything")

		By("changing only a label of the ConfigMap")
		cm.Labels = map[string]string{"a": "b"}
		Expect(k8s.Update(ctx, cm)).To(Succeed())
		w.expectInSync(ctx, s)
		Expect(w.edits()).To(HaveLen(2))

		By("removing and changing the icon on Discord")
		for _, byHand := range []string{"", "0123456789abcdef0123456789abcdef"} {
			discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Icon = byHand })
			Eventually(ctx, w.icon).Should(Equal(now))
		}
		Eventually(ctx, eventsOf(s)).Should(ContainElement("Normal DriftCorrected"))
		w.expectInSync(ctx, s)
		Expect(w.edits()).To(HaveLen(4))

		By("leaving the icon out of the spec")
		edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.Icon = nil })
		Eventually(ctx, refetch(s)).Should(HaveField("Status.Icon", BeNil()))
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Icon = "" })
		w.expectInSync(ctx, s)
		Expect(w.edits()).To(HaveLen(4))
	})

	It("makes the server Degraded while its ConfigMap or key is missing, "+
		"and blocks no other setting", func(ctx context.Context) {
		s.Spec.Name = "Tokyo"
		create(ctx, s)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonIconNotFound)).To(And(ContainSubstring("ConfigMap icon"),
			ContainSubstring("`kubectl create configmap icon -n "+w.ns+" --from-file=icon.png=FILE`")))
		Expect(s).To(HaveCondition("Available", "True", v1alpha1.ReasonOnDiscord))
		Eventually(ctx, func() string { return discord.Guild(w.guild).Name }).Should(Equal("Tokyo"))
		ready(ctx, w.channel("", "alerts"))

		cm := w.iconMap(first)
		cm.BinaryData = map[string][]byte{"logo.png": first}
		create(ctx, cm)
		Eventually(ctx, refetch(s)).Should(WithTransform(func(s *v1alpha1.DiscordServer) string { return message(s, "Degraded") },
			And(ContainSubstring(`has no key "icon.png" in binaryData. Add the image under that key`),
				Not(ContainSubstring("kubectl create")))))
		cm.BinaryData = map[string][]byte{"icon.png": first}
		Expect(k8s.Update(ctx, cm)).To(Succeed())
		eventuallyReady(ctx, s)
		set := w.icon()
		Expect(set).NotTo(BeEmpty())

		deleteObjects(ctx, cm)
		eventuallyDegraded(ctx, s, v1alpha1.ReasonIconNotFound)
		Expect(w.icon()).To(Equal(set), "the icon should not change")
	})

	DescribeTable("makes the server Degraded, and is not sent to Discord, "+
		"if the image is invalid", func(ctx context.Context, image []byte, why string) {
		cm := w.iconMap(image)
		if strings.HasPrefix(why, "is in data") {
			cm.BinaryData, cm.Data = nil, map[string]string{"icon.png": string(image)}
		}
		create(ctx, cm, s)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonIconUnusable)).To(ContainSubstring(why))
		w.expectInSync(ctx, s)
		Expect(w.edits()).To(BeEmpty())
		cm.BinaryData, cm.Data = map[string][]byte{"icon.png": first}, nil
		Expect(k8s.Update(ctx, cm)).To(Succeed())
		eventuallyReady(ctx, s)
	},
		Entry("text in data instead of an image in binaryData", []byte("<svg/>"), "is in data, which is for text"),
		Entry("bytes that are no image", []byte{0xff, 0xfe}, "is no PNG, JPEG or GIF"),
		Entry("an image of more than 1024 by 1024 pixels",
			discordtest.PNG(1025, 1025, 0), "1025 by 1025 pixels. Scale it down to at most 1024 by 1024"),
		Entry("an image that is cut off", first[:len(first)-20], "is an image that cannot be read"),
	)

	It("makes the server Degraded if it is animated, "+
		"until the server has the feature ANIMATED_ICON", func(ctx context.Context) {
		create(ctx, w.iconMap(discordtest.GIF(3)), s)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonIconUnusable)).To(ContainSubstring("boost"))
		Expect(w.edits()).To(BeEmpty())
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = []string{"ANIMATED_ICON"} })
		eventuallyReady(ctx, s)
		Expect(w.icon()).To(HavePrefix("a_"))
		Expect(s.Status.Icon).To(HaveField("DiscordHash", w.icon()))
	})

	It("is sent at most twice if Discord stores it but answers 500, "+
		"and blocks no other setting", func(ctx context.Context) {
		w.fault(discordtest.Fault{Match: func(r discordtest.Request) bool {
			return r.Route == patchGuild && strings.Contains(string(r.Body), `"icon"`)
		}, Times: 1, Action: discordtest.FailAfter(500)})
		s.Spec.Name = "Tokyo"
		create(ctx, w.iconMap(first))
		ready(ctx, s)
		Expect(discord.Guild(w.guild).Name).To(Equal("Tokyo"))
		w.expectInSync(ctx, s)
		icons := slices.DeleteFunc(w.bodies(patchGuild), func(body map[string]any) bool { return body["icon"] == nil })
		Expect(len(icons)).To(BeNumerically("<=", 2))
		Expect(s.Status.Icon).To(HaveField("DiscordHash", w.icon()))
	})

	It("is only compared while managementPolicy is Observe: "+
		"status.differences shows its hash", func(ctx context.Context) {
		observing(s)
		create(ctx, w.iconMap(first), s)
		eventuallyDiffers(ctx, s, "icon: none -> "+hashOf(first))
		Expect(w.edits()).To(BeEmpty())
		manages(ctx, s)
		Expect(w.icon()).NotTo(BeEmpty())
		edit(ctx, s, func(s *v1alpha1.DiscordServer) { observing(s) })
		eventuallyDiffers(ctx, s)
	})

	It("makes the server Degraded when Discord accepts the edit but ignores the icon", func(ctx context.Context) {
		anotherDiscord(ctx, discordtest.Options{Limits: discordtest.NoRateLimits(), Altered: discordtest.Altered{Icon: true}})
		w = newWorld(ctx)
		s = w.server(withIcon)
		create(ctx, w.iconMap(first), s)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonNotApplied)).To(ContainSubstring("a change of icon"))
		w.expectInSync(ctx, s)
		Expect(w.edits()).To(Equal([]string{patchGuild}))
		edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.Icon = nil })
		eventuallyReady(ctx, s)
	})
})
