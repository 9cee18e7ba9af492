// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

func allowsRetention(s *v1alpha1.DiscordServer) { s.Spec.AllowRetention = true }

func setRetention(ctx context.Context, o client.Object, policy v1alpha1.DeletionPolicy, management v1alpha1.ManagementPolicy) {
	GinkgoHelper()
	edit(ctx, o, func(o client.Object) {
		switch o := o.(type) {
		case *v1alpha1.DiscordChannel:
			o.Spec.DeletionPolicy, o.Spec.ManagementPolicy = policy, management
		case *v1alpha1.DiscordGroup:
			o.Spec.DeletionPolicy, o.Spec.ManagementPolicy = policy, management
		case *v1alpha1.DiscordRole:
			o.Spec.DeletionPolicy, o.Spec.ManagementPolicy = policy, management
		}
	})
}

func (w *world) count(name string) func() int {
	return func() int { return len(w.idsNamed(name)) + len(w.rolesNamed(name)) }
}

var _ = Describe("A deleted object of a tenant", func() {
	kinds := map[string]func(t *tenant) client.Object{
		"a channel":  func(t *tenant) client.Object { return t.channel("", "left") },
		"a category": func(t *tenant) client.Object { return t.group("left") },
		"a role":     func(t *tenant) client.Object { return t.role("left") },
	}
	entries := []any{
		func(ctx context.Context, kind string) {
			w := newWorld(ctx)
			a := w.newTenant(ctx, nil)
			s := w.server(serverAllows(v1alpha1.FromAll), allowsRoles())
			ready(ctx, s)
			object := func() client.Object { return kinds[kind](a) }

			By("creating a new object with the deletionPolicy Retain, which gets no resource on Discord")
			never := object()
			switch o := never.(type) {
			case *v1alpha1.DiscordChannel:
				o.Spec.DeletionPolicy = "Retain"
			case *v1alpha1.DiscordGroup:
				o.Spec.DeletionPolicy = "Retain"
			case *v1alpha1.DiscordRole:
				o.Spec.DeletionPolicy = "Retain"
			}
			create(ctx, never)
			Expect(eventuallyDegraded(ctx, never, v1alpha1.ReasonNotAllowed)).To(ContainSubstring("spec.allowRetention"))
			deleteAndWait(ctx, never)
			Expect(w.edits()).To(BeEmpty())

			By("blocking the deletion of an object that asks for retention after its creation")
			for _, ask := range []func(client.Object){
				func(o client.Object) { setRetention(ctx, o, "Retain", "Manage") },
				func(o client.Object) { setRetention(ctx, o, "", "Observe") },
				func(o client.Object) { // spec.adopt with the id of a created resource does not make the resource adopted
					adopt := &v1alpha1.Adoption{ID: idIn(o)}
					edit(ctx, o, func(o client.Object) {
						switch o := o.(type) {
						case *v1alpha1.DiscordChannel:
							o.Spec.Adopt = adopt
						case *v1alpha1.DiscordGroup:
							o.Spec.Adopt = adopt
						case *v1alpha1.DiscordRole:
							o.Spec.Adopt = adopt
						}
					})
				},
			} {
				o := object()
				ready(ctx, o)
				ask(o)
				forceDelete(ctx, o)
				deleteObjects(ctx, o)
				Expect(eventuallyDegraded(ctx, o, v1alpha1.ReasonNotAllowed)).To(And(
					ContainSubstring("spec.deletionPolicy to Delete"), ContainSubstring("spec.allowRetention")))
				w.expectIdle(ctx)
				Expect(w.count("left")()).To(Equal(1), "nothing is deleted before the user consents")
				Expect(o.GetFinalizers()).NotTo(BeEmpty())
				setRetention(ctx, o, "Delete", "Manage")
				eventuallyGone(ctx, o)
				Expect(w.count("left")()).To(BeZero())
			}

			By("deleting the object after the DiscordServer allows retention")
			o := object()
			ready(ctx, o)
			setRetention(ctx, o, "Retain", "Manage")
			deleteObjects(ctx, o)
			eventuallyDegraded(ctx, o, v1alpha1.ReasonNotAllowed)
			edit(ctx, s, allowsRetention)
			eventuallyGone(ctx, o)
			Expect(w.count("left")()).To(Equal(1))
		},
	}
	for kind := range kinds {
		entries = append(entries, Entry(kind, kind))
	}
	DescribeTable("leaves nothing on Discord that the operator created, "+
		"unless the DiscordServer allows retention:", entries...)

	It("waits for the deletion of another object with the same channel in its spec.adopt", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		ready(ctx, w.server(serverAllows(v1alpha1.FromAll)))
		c := a.channel("", "left")
		ready(ctx, c)
		claims := a.channel("", "claims", adopting(c.Status.ChannelID))
		create(ctx, claims)
		eventuallyNotAllowed(ctx, claims)
		deleteObjects(ctx, c)
		Expect(eventuallyDegraded(ctx, c, v1alpha1.ReasonNotAllowed)).To(ContainSubstring("claims"))
		deleteAndWait(ctx, claims)
		eventuallyGone(ctx, c)
		Expect(w.count("left")()).To(BeZero())
	})

	It("cannot leave its channel to a second object that adopts the channel", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		first := a.channel("", "left")
		ready(ctx, w.server(serverAllows(v1alpha1.FromAll), allowsAdoption), first)
		setRetention(ctx, first, "", "Observe")
		second := a.channel("", "left", adopting(first.Status.ChannelID))
		second.Name = "second"
		ready(ctx, second)
		Expect(second.Status.Adopted).To(BeFalse(), "the operator created the channel")
		setRetention(ctx, first, "", "Manage")
		eventuallyDegraded(ctx, first, v1alpha1.ReasonConflict)
		deleteAndWait(ctx, first)
		deleteObjects(ctx, second)
		Expect(eventuallyDegraded(ctx, second, v1alpha1.ReasonNotAllowed)).To(ContainSubstring("spec.allowRetention"))
		Expect(w.count("left")()).To(Equal(1))
		setRetention(ctx, second, "Delete", "Manage")
		eventuallyGone(ctx, second)
		Expect(w.count("left")()).To(BeZero())
	})

	It("cannot be removed by force until the DiscordServer allows retention", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		s := w.server(serverAllows(v1alpha1.FromAll))
		ready(ctx, s)
		c := a.channel("", "left")
		ready(ctx, c)
		discord.SetPermissions(w.guild, w.bot.UserID, discordtest.PermViewChannel)
		forceDelete(ctx, c)
		deleteObjects(ctx, c)
		Expect(eventuallyDegraded(ctx, c, v1alpha1.ReasonDeletionFailed)).To(ContainSubstring("spec.allowRetention"))
		w.expectIdle(ctx)
		Expect(c.GetFinalizers()).NotTo(BeEmpty())
		edit(ctx, s, allowsRetention)
		eventuallyGone(ctx, c)
		Expect(w.count("left")()).To(Equal(1))
	})

	It("leaves the channel that it adopted", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		general := w.channelByHand(discordtest.Channel{Name: "general"})
		own := w.channel("", "own", with(func(s *channelSpec) { s.DeletionPolicy = "Retain" }))
		adopts := a.channel("", "general", adopting(general))
		ready(ctx, w.server(serverAllows(v1alpha1.FromAll), allowsAdoption), own, adopts)
		Expect(adopts.Status.Adopted).To(BeTrue())
		deleteAndWait(ctx, adopts, own)
		Expect(w.count("general")() + w.count("own")()).To(Equal(2))
	})

	It("loses each permission of its role that the DiscordServer no longer lists, "+
		"even while its deletion is blocked", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		s := w.server(allowsRoles("SendMessages"))
		r := a.role("team", permitting("SendMessages"))
		ready(ctx, s, r)
		setRetention(ctx, r, "Retain", "Manage")
		deleteObjects(ctx, r)
		eventuallyDegraded(ctx, r, v1alpha1.ReasonNotAllowed)
		edit(ctx, s, allowsRoles())
		Eventually(func() discordtest.Permissions { return w.roleOn(r)().Permissions }).Should(Equal(discordtest.Permissions(0)))
		setRetention(ctx, r, "Delete", "Manage")
		eventuallyGone(ctx, r)
	})
})

func idIn(o metav1.Object) string {
	switch o := o.(type) {
	case *v1alpha1.DiscordChannel:
		return o.Status.ChannelID
	case *v1alpha1.DiscordGroup:
		return o.Status.GroupID
	case *v1alpha1.DiscordRole:
		return o.Status.RoleID
	}
	return ""
}
