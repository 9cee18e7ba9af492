// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
)

func notesOf(o client.Object) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var events eventsv1.EventList
		if err := k8s.List(ctx, &events, client.InNamespace(o.GetNamespace())); err != nil {
			return nil, err
		}
		var all []string
		for _, e := range events.Items {
			if e.Regarding.UID == o.GetUID() {
				all = append(all, e.Type+" "+e.Reason+": "+e.Note)
			}
		}
		return all, nil
	}
}

func logged(words ...string) func() []string {
	return func() (lines []string) {
		text, err := os.ReadFile(operator.LogFile())
		Expect(err).NotTo(HaveOccurred())
		for line := range strings.Lines(string(text)) {
			has := true
			for _, word := range words {
				has = has && strings.Contains(line, word)
			}
			if has {
				lines = append(lines, line)
			}
		}
		return lines
	}
}

var _ = Describe("A resource that is created again", func() {
	It("causes a warning event that names its old id, its new id, and what was lost", func(ctx context.Context) {
		w := newWorld(ctx)
		channel, group, role := w.channel("", "tokyo", withWebhook), w.group("team"), w.role("on-call")
		ready(ctx, w.server(), channel, group, role)
		for _, o := range []struct {
			object   client.Object
			id       func() string
			remove   func(string)
			says     string
			lossSays string
		}{
			{channel, func() string { return channel.Status.ChannelID }, discord.DeleteChannelByHand,
				`deleted the channel "tokyo" (`, "without its messages, threads, invites and webhook URLs"},
			{group, func() string { return group.Status.GroupID }, discord.DeleteChannelByHand,
				`deleted the category "team" (`, "without its former place"},
			{role, func() string { return role.Status.RoleID }, func(id string) { discord.DeleteRoleByHand(w.guild, id) },
				`deleted the role "on-call" (`, "without the members that spec.members does not list"},
		} {
			was := o.id()
			o.remove(was)
			Eventually(ctx, func(ctx context.Context) (string, error) {
				_, err := refetch(o.object)(ctx)
				return o.id(), err
			}).ShouldNot(Equal(was))
			Eventually(ctx, notesOf(o.object)).Should(ContainElement(And(
				HavePrefix("Warning Recreated: "), ContainSubstring(o.says+was+")"),
				ContainSubstring("created it again ("+o.id()+")"), ContainSubstring(o.lossSays))))
			Expect(notesOf(o.object)(ctx)).NotTo(ContainElement(ContainSubstring("existence")))
			Expect(logged(`"level":"info"`, was, o.id())()).To(HaveLen(1))
		}
	})
})

var _ = Describe("A deleted DiscordServer", func() {
	It("reports how to retain its dependents, and a user who follows the report loses nothing", func(ctx context.Context) {
		w := newWorld(ctx)
		s, g, c := w.server(), w.group("team"), w.channel("team", "tokyo", withWebhook)
		ready(ctx, s, g, c)
		Expect(k8s.Delete(ctx, s)).To(Succeed())
		Expect(eventuallyProgressing(ctx, s, v1alpha1.ReasonWaitingForDependents)).To(And(
			ContainSubstring("DiscordGroup team"), ContainSubstring("Nothing is deleted on Discord yet"),
			ContainSubstring("`kubectl discord undelete server "+s.Name+" -n "+w.ns+"`"),
			ContainSubstring("except resources that spec.deletionPolicy retains")))
		Expect(c.Spec.DeletionPolicy).To(BeEmpty())

		By("editing a channel of the deleted DiscordServer")
		edit(ctx, c, with(func(s *channelSpec) { s.Topic = new("still managed") }))
		eventuallyReady(ctx, c)
		Expect(on(c).Topic).To(Equal("still managed"))

		By("setting the deletionPolicy Retain before the deletion of the dependents")
		before, hook := on(c), hooks(c)
		edit(ctx, c, with(func(s *channelSpec) { s.DeletionPolicy = v1alpha1.DeletionPolicyRetain }))
		edit(ctx, g, func(g *v1alpha1.DiscordGroup) { g.Spec.DeletionPolicy = v1alpha1.DeletionPolicyRetain })
		deleteAndWait(ctx, c, g, s)
		Expect(on(c)).To(Equal(before))
		Expect(hooks(c)).To(Equal(hook))
		Expect(k8s.Delete(ctx, w.secret("tokyo-webhook"))).To(Succeed(), "as the garbage collector does")
		again := w.channel("team", "tokyo", adopting(c.Status.ChannelID), withWebhook)
		ready(ctx, w.server(), w.group("team", groupAdopting(g.Status.GroupID)), again)
		Expect(on(again).ID).To(Equal(before.ID))
		Expect(hooks(again)).To(Equal(hook), "the webhook keeps its URL")
	})
})

var _ = Describe("The log", func() {
	It("has a line for each change of an object's condition reason, "+
		"and no line for an unchanged object", func(ctx context.Context) {
		w := newWorld(ctx)
		c := w.channel("", "tokyo")
		create(ctx, c)
		eventuallyProgressing(ctx, c, v1alpha1.ReasonWaitingForServer)
		ready(ctx, w.server())
		eventuallyReady(ctx, c)
		lines := logged(`"conditions changed"`, w.ns, `"DiscordChannel"`)
		Eventually(lines).Should(HaveLen(2))
		Expect(lines()[0]).To(And(ContainSubstring(`"from":""`), ContainSubstring(`"to":"WaitingForServer"`),
			ContainSubstring(`"name":"tokyo"`), ContainSubstring(`"namespace":"`+w.ns+`"`)))
		Expect(lines()[1]).To(And(ContainSubstring(`"from":"WaitingForServer"`), ContainSubstring(`"to":"Reconciled"`)))
		reconcileAgain(ctx, c)
		w.expectIdle(ctx)
		Expect(lines()).To(HaveLen(2))
	})
})
