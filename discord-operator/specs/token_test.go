// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

var _ = Describe("The token of a bot", func() {
	var w *world
	var s *v1alpha1.DiscordServer
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		s = w.server()
	})
	inSecret := func(ctx context.Context, key, token string) {
		GinkgoHelper()
		edit(ctx, w.token(), func(secret *corev1.Secret) { secret.Data = map[string][]byte{key: []byte(token)} })
	}

	It("is used as soon as its Secret exists", func(ctx context.Context) {
		deleteObjects(ctx, w.token())
		create(ctx, s)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonTokenNotFound)).
			To(And(ContainSubstring("Secret discord-bot does not exist"),
				ContainSubstring("`kubectl create secret generic discord-bot -n "+w.ns+" --from-file=token=FILE`")))
		Expect(s).To(HaveCondition("Available", "False", v1alpha1.ReasonNotManageable))
		Eventually(ctx, eventsOf(s)).Should(ContainElement("Warning TokenNotFound"))
		create(ctx, w.token())
		eventuallyReady(ctx, s)
	})

	It("is read from the key that the spec names", func(ctx context.Context) {
		inSecret(ctx, "bot", w.bot.Token)
		create(ctx, s)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonTokenNotFound)).
			To(And(ContainSubstring(`has no value for the key "token". Add the bot's token under that key`),
				Not(ContainSubstring("kubectl create"))))
		edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.TokenSecretRef.Key = "bot" })
		eventuallyReady(ctx, s)
	})

	It("may have the prefix Bot and a newline at its end", func(ctx context.Context) {
		inSecret(ctx, "token", "Bot "+w.bot.Token+"\n")
		ready(ctx, s)
	})

	It("makes the server Degraded if Discord refuses it, "+
		"after at most two calls, until the token changes", func(ctx context.Context) {
		inSecret(ctx, "token", "not.a.token-at-all")
		before := len(discord.Requests())
		create(ctx, s)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonAuthenticationFailed)).To(ContainSubstring("Secret discord-bot"))
		for range 3 { // no reconcile should try the token again
			reconcileAgain(ctx, s)
		}
		w.expectIdle(ctx)
		var refused []string
		for _, r := range discord.Requests()[before:] {
			if r.Status == 401 {
				refused = append(refused, r.Route)
			}
		}
		Expect(refused).NotTo(BeEmpty(), "Discord, not the operator, should refuse the token")
		Expect(len(refused)).To(BeNumerically("<=", 2), "refused calls count towards a ban: %v", refused)
		inSecret(ctx, "token", w.bot.Token)
		eventuallyReady(ctx, s)
	})

	It("can be rotated without a restart of the operator", func(ctx context.Context) {
		c := w.channel("", "alerts")
		ready(ctx, s, c)
		rotated, err := discord.RotateToken(w.bot.Token)
		Expect(err).NotTo(HaveOccurred())
		secrets.Add(rotated)
		eventuallyDegraded(ctx, s, v1alpha1.ReasonAuthenticationFailed)
		edit(ctx, c, func(c *v1alpha1.DiscordChannel) { c.Spec.Topic = new("What is wrong") })
		eventuallyProgressing(ctx, c, v1alpha1.ReasonWaitingForServer)

		inSecret(ctx, "token", rotated)
		eventuallyReady(ctx, s, c)
		Expect(on(c).Topic).To(Equal("What is wrong"))
		Expect(discord.Guild(w.guild).Channels).To(HaveLen(1))
	})

	It("can be replaced by the token of another bot, which then manages the same channels", func(ctx context.Context) {
		c := w.channel("", "alerts")
		ready(ctx, s, c)
		second := newBot()
		discord.AddMember(w.guild, second.UserID, everything)
		inSecret(ctx, "token", second.Token)
		Eventually(ctx, refetch(s)).Should(HaveField("Status.ApplicationID", second.ApplicationID))
		edit(ctx, c, func(c *v1alpha1.DiscordChannel) { c.Spec.Topic = new("What is wrong") })
		eventuallyReady(ctx, c)
		Expect(discord.Guild(w.guild).Channels).To(ConsistOf(HaveField("Topic", "What is wrong")))
		w.bot = second
	})

	Describe("whose Secret is missing when an object is deleted", func() {
		var c *v1alpha1.DiscordChannel
		BeforeEach(func(ctx context.Context) {
			c = w.channel("", "alerts")
			ready(ctx, s, c)
			deleteObjects(ctx, w.token())
			eventuallyDegraded(ctx, s, v1alpha1.ReasonTokenNotFound)
			// Without a restart, the operator could use the token in its memory to delete the channel.
			operator.Restart(ctx)
			deleteObjects(ctx, c)
			text := eventuallyDegraded(ctx, c, v1alpha1.ReasonDeletionFailed)
			Expect(text).To(And(ContainSubstring("Secret discord-bot does not exist"),
				ContainSubstring(v1alpha1.ForceDeleteAnnotation+"=true")))
		})

		It("blocks the deletion until the Secret exists again", func(ctx context.Context) {
			create(ctx, w.token())
			eventuallyGone(ctx, c)
			Expect(discord.Guild(w.guild).Channels).To(BeEmpty())
		})

		It("does not block a forced deletion, which leaves the channel on Discord", func(ctx context.Context) {
			edits := w.edits()
			forceDelete(ctx, c)
			eventuallyGone(ctx, c)
			Eventually(ctx, eventsOf(c)).Should(ContainElement("Warning Abandoned"))
			Expect(w.edits()).To(Equal(edits))
			Expect(discord.Guild(w.guild).Channels).To(HaveLen(1), "the channel should stay on Discord")
		})
	})
})
