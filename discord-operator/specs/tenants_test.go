// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

// tenant is a namespace without a bot. Its objects use the DiscordServer in the world's namespace.
type tenant struct {
	*world
	ns string
}

// newTenant creates a namespace. The cleanup deletes its objects before those of the world.
func (w *world) newTenant(ctx context.Context, labels map[string]string) *tenant {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenant-", Labels: labels}}
	Expect(k8s.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		expectLawful(ctx, ns.Name)
		deleteAll(ctx, ns.Name)
	})
	return &tenant{w, ns.Name}
}

func (t *tenant) group(name string, change ...func(*v1alpha1.DiscordGroup)) *v1alpha1.DiscordGroup {
	g := t.world.group(name)
	g.Namespace, g.Spec.ServerRef.Namespace = t.ns, t.world.ns
	return changed(g, change)
}

// channel returns a DiscordChannel of the tenant. It refers to a DiscordGroup of the world, or to
// the DiscordServer if group is empty.
func (t *tenant) channel(group, name string, change ...func(*v1alpha1.DiscordChannel)) *v1alpha1.DiscordChannel {
	c := t.world.channel(group, name)
	c.Namespace = t.ns
	if c.Spec.GroupRef != nil {
		c.Spec.GroupRef.Namespace = t.world.ns
	} else {
		c.Spec.ServerRef.Namespace = t.world.ns
	}
	return changed(c, change)
}

func inOwn(c *v1alpha1.DiscordChannel) { c.Spec.GroupRef.Namespace = "" }

func serverAllows(from v1alpha1.FromNamespaces) func(*v1alpha1.DiscordServer) {
	return func(s *v1alpha1.DiscordServer) { s.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: from} }
}

func groupAllows(from v1alpha1.FromNamespaces) func(*v1alpha1.DiscordGroup) {
	return func(g *v1alpha1.DiscordGroup) { g.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: from} }
}

func selecting(labels map[string]string) *v1alpha1.AllowedNamespaces {
	return &v1alpha1.AllowedNamespaces{
		From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{MatchLabels: labels},
	}
}

func allowsAdoption(s *v1alpha1.DiscordServer) { s.Spec.AllowAdoption = true }

func eventuallyNotAllowed(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		eventuallyDegraded(ctx, o, v1alpha1.ReasonNotAllowed)
	}
}

func namespaces(s *v1alpha1.DiscordServer) func(context.Context) (int32, error) {
	return func(ctx context.Context) (int32, error) {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(s), s)
		return s.Status.Namespaces, err
	}
}

var _ = Describe("Several namespaces with one DiscordServer", func() {
	It("use the server after it allows them, "+
		"and keep their resources after it no longer does", func(ctx context.Context) {
		w := newWorld(ctx)
		a, b := w.newTenant(ctx, nil), w.newTenant(ctx, nil)
		s, g := w.server(), w.group("alerts")
		ready(ctx, s, g)
		inGroup, inServer := a.channel("alerts", "a-alerts", withWebhook), a.channel("", "a-news")
		own, inOwnGroup := a.group("team-a"), a.channel("team-a", "a-talk", inOwn)
		create(ctx, inGroup, inServer, own, inOwnGroup)
		eventuallyNotAllowed(ctx, inGroup, inServer, own, inOwnGroup)
		Expect(inGroup.Finalizers).To(BeEmpty(), "an object that may not use the group has no resource")
		w.expectIdle(ctx)
		Expect(w.idsNamed("a-alerts")).To(BeEmpty())
		Expect(namespaces(s)(ctx)).To(BeEquivalentTo(1), "namespaces without the right do not count")

		By("allowing all namespaces, first in the group, then in the server")
		edit(ctx, g, groupAllows(v1alpha1.FromAll))
		eventuallyReady(ctx, inGroup)
		Expect(inServer).To(HaveCondition("Degraded", "True", v1alpha1.ReasonNotAllowed), "the server allows nothing yet")
		edit(ctx, s, serverAllows(v1alpha1.FromAll))
		eventuallyReady(ctx, inServer, own, inOwnGroup)
		Expect(inGroup.Status.ServerRef).To(HaveValue(Equal(v1alpha1.ServerReference{Namespace: w.ns, Name: "jujutsu"})))
		Expect(on(inGroup).ParentID).To(Equal(g.Status.GroupID))
		Expect(on(inOwnGroup).ParentID).To(Equal(own.Status.GroupID))
		hook := &corev1.Secret{}
		Expect(k8s.Get(ctx, nameOf(a.ns, "a-alerts-webhook"), hook)).To(Succeed(), "the tenant gets the URL")
		Expect(hook.Data).To(HaveLen(1), "the Secret should have the URL only")
		ready(ctx, b.channel("alerts", "b-alerts"))
		Eventually(ctx, namespaces(s)).Should(BeEquivalentTo(3))
		w.expectInSync(ctx, inGroup, inServer, own, inOwnGroup, s, g)

		By("withdrawing both grants")
		before := w.edits()
		edit(ctx, s, serverAllows(v1alpha1.FromSame))
		edit(ctx, g, groupAllows(v1alpha1.FromSame))
		eventuallyNotAllowed(ctx, inGroup, inServer, own, inOwnGroup)
		discord.EditChannelByHand(inServer.Status.ChannelID, func(c *discordtest.Channel) { c.Name = "renamed" })
		edit(ctx, inGroup, with(func(s *channelSpec) { s.Topic = new("a topic") }))
		eventuallyNotAllowed(ctx, inGroup)
		w.expectIdle(ctx)
		Expect(w.edits()).To(Equal(before), "nothing is changed or deleted")
		Expect(on(inServer).Name).To(Equal("renamed"))
		Expect(on(inOwnGroup).ID).NotTo(BeEmpty())
		Expect(namespaces(s)(ctx)).To(BeEquivalentTo(3), "a namespace with resources still counts")

		By("deleting the objects")
		deleteAndWait(ctx, inGroup, inServer, inOwnGroup, own)
		for _, id := range []string{
			inGroup.Status.ChannelID, inServer.Status.ChannelID, inOwnGroup.Status.ChannelID, own.Status.GroupID,
		} {
			_, exists := discord.Channel(id)
			Expect(exists).To(BeFalse(), "a resource should be deleted with its object")
		}
		Eventually(ctx, namespaces(s)).Should(BeEquivalentTo(2))
	})

	It("do not learn whether a server or group that they may not use exists", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		ready(ctx, w.server(), w.group("alerts"))
		inGroup, inServer, own := a.channel("alerts", "in-group"), a.channel("", "in-server"), a.group("own")
		pairs := map[client.Object]client.Object{ // each key has an existing parent; the parent of its value is missing
			inGroup:  a.channel("missing", "in-none"),
			inServer: a.channel("", "in-no-server", func(c *v1alpha1.DiscordChannel) { c.Spec.ServerRef.Name = "missing" }),
			own:      a.group("of-none", func(g *v1alpha1.DiscordGroup) { g.Spec.ServerRef.Name = "missing" }),
		}
		for exists, missing := range pairs {
			create(ctx, exists, missing)
			one := eventuallyDegraded(ctx, exists, v1alpha1.ReasonNotAllowed)
			other := eventuallyDegraded(ctx, missing, v1alpha1.ReasonNotAllowed)
			other = strings.NewReplacer("/missing ", "/alerts ").Replace(other)
			one = strings.NewReplacer("/jujutsu ", "/alerts ").Replace(one)
			Expect(one).To(Equal(other), "both messages should be the same")
		}

		By("deleting objects with a forged finalizer")
		for exists, missing := range pairs {
			for _, o := range []client.Object{exists, missing} {
				edit(ctx, o, func(o client.Object) { controllerutil.AddFinalizer(o, v1alpha1.CleanupFinalizer) })
				deleteAndWait(ctx, o)
			}
		}
	})

	It("cannot delete a user's channel by an object with spec.adopt and a forged finalizer", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		general := w.channelByHand(discordtest.Channel{Name: "general"})
		ready(ctx, w.server())
		forged := a.channel("", "general", adopting(general), func(c *v1alpha1.DiscordChannel) {
			c.Finalizers, c.Spec.DeletionPolicy = []string{v1alpha1.CleanupFinalizer}, v1alpha1.DeletionPolicyDelete
		})
		create(ctx, forged)
		eventuallyNotAllowed(ctx, forged)
		deleteAndWait(ctx, forged)
		Expect(w.idsNamed("general")).To(ConsistOf(general))
		Expect(w.edits()).To(BeEmpty())
	})

	It("adopt channels only if the server allows adoption, "+
		"and never the channel of another object", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		general := w.channelByHand(discordtest.Channel{Name: "general"})
		s, managed := w.server(serverAllows(v1alpha1.FromAll)), w.channel("", "managed")
		ready(ctx, s, managed)
		adopts := a.channel("", "general", adopting(general), func(c *v1alpha1.DiscordChannel) { c.Spec.Topic = new("mine") })
		create(ctx, adopts)
		Expect(eventuallyDegraded(ctx, adopts, v1alpha1.ReasonNotAllowed)).To(ContainSubstring("spec.allowAdoption"))
		forged := a.channel("", "forged", adopting(general), func(c *v1alpha1.DiscordChannel) {
			c.Finalizers, c.Spec.DeletionPolicy = []string{v1alpha1.CleanupFinalizer}, v1alpha1.DeletionPolicyDelete
		})
		create(ctx, forged)
		eventuallyNotAllowed(ctx, forged)
		deleteAndWait(ctx, forged)
		Expect(w.idsNamed("general")).To(ConsistOf(general))

		edit(ctx, s, allowsAdoption)
		eventuallyReady(ctx, adopts)
		Expect(on(adopts).ID).To(Equal(general))
		steals := a.channel("", "stolen", adopting(managed.Status.ChannelID))
		create(ctx, steals)
		Expect(eventuallyDegraded(ctx, steals, v1alpha1.ReasonConflict)).
			To(And(ContainSubstring("by an object of another namespace"), Not(ContainSubstring(w.ns))))
		deleteAndWait(ctx, steals)
		Expect(on(managed).Name).To(Equal("managed"))

		edit(ctx, s, func(s *v1alpha1.DiscordServer) { s.Spec.AllowAdoption = false })
		w.expectInSync(ctx, adopts)
		Expect(adopts).To(HaveCondition("Ready", "True", ""), "an adopted channel should stay adopted")
	})

	It("order their own channels and no others", func(ctx context.Context) {
		w := newWorld(ctx)
		a, b := w.newTenant(ctx, nil), w.newTenant(ctx, nil)
		ready(ctx, w.server(), w.group("alerts", groupAllows(v1alpha1.FromAll)))
		ready(ctx, a.channel("alerts", "a-2", position(2)), a.channel("alerts", "a-3", position(3)))
		last := b.channel("alerts", "b-9", position(9))
		ready(ctx, last, b.channel("alerts", "b-8", position(8)))
		w.expectIdle(ctx)
		of := func(prefix string) (names []string) {
			for _, name := range w.namesIn(w.idsNamed("alerts")[0]) {
				if strings.HasPrefix(name, prefix) {
					names = append(names, name)
				}
			}
			return names
		}
		Expect(of("b-")).To(Equal([]string{"b-8", "b-9"}))
		before := len(w.edits())
		edit(ctx, last, with(func(s *channelSpec) { s.Position = new(int32(0)) }))
		Eventually(func() []string { return of("b-") }).Should(Equal([]string{"b-9", "b-8"}))
		w.expectIdle(ctx)
		Expect(w.namesIn(w.idsNamed("alerts")[0])[:2]).
			To(Equal([]string{"a-2", "a-3"}), "position 0 of b should not precede position 2 of a")
		Expect(w.edits()[before:]).To(Equal([]string{moveChannels}))
	})

	It("cannot add permissions to the invite URL of the server's bot", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		s := w.server(serverAllows(v1alpha1.FromAll))
		ready(ctx, s)
		c := a.channel("", "greedy", func(c *v1alpha1.DiscordChannel) {
			c.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{allowing("@everyone", "BanMembers")}
		})
		create(ctx, c)
		Expect(eventuallyDegraded(ctx, c, v1alpha1.ReasonMissingPermissions)).
			To(And(ContainSubstring("BanMembers"), Not(ContainSubstring("http"))))
		invite := s.Status.InviteURL
		w.expectInSync(ctx, s)
		Expect(refetch(s)(ctx)).To(HaveCondition("Ready", "True", ""))
		Expect(s.Status.InviteURL).To(Equal(invite))
	})

	It("cannot make the invite URL ask for Administrator, even from the server's namespace", func(ctx context.Context) {
		w := newWorld(ctx)
		s := w.server()
		ready(ctx, s)
		mentioning := func(name string, permission v1alpha1.Permission) *v1alpha1.DiscordChannel {
			return w.channel("", name, func(c *v1alpha1.DiscordChannel) {
				c.Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{allowing("@everyone", permission)}
			})
		}
		admin, greedy := mentioning("admin", "Administrator"), mentioning("greedy", "BanMembers")
		create(ctx, admin, greedy)
		Expect(eventuallyDegraded(ctx, admin, v1alpha1.ReasonMissingPermissions)).
			To(And(ContainSubstring("Administrator"), Not(ContainSubstring("http"))))
		forBoth := discordtest.Permissions(1<<2 | 1<<3)
		Expect(asked(eventuallyDegraded(ctx, greedy, v1alpha1.ReasonMissingPermissions)) & forBoth).To(Equal(forBoth &^ (1 << 3)))
		Eventually(ctx, func(ctx context.Context) (discordtest.Permissions, error) {
			_, err := refetch(s)(ctx)
			return asked(s.Status.InviteURL) & forBoth, err
		}).Should(Equal(forBoth &^ (1 << 3)))
	})

	It("learn that a server is not available, why, and whom to ask", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		s := w.server(serverAllows(v1alpha1.FromAll))
		s.Spec.TokenSecretRef.Name = "a-secret-of-the-platform"
		create(ctx, s)
		eventuallyDegraded(ctx, s, v1alpha1.ReasonTokenNotFound)
		c := a.channel("", "tokyo")
		create(ctx, c)
		Expect(eventuallyProgressing(ctx, c, v1alpha1.ReasonWaitingForServer)).
			To(Equal("DiscordServer " + w.ns + "/jujutsu is not available (TokenNotFound). Ask its owner."))
	})

	It("block the deletion of a server and a group in which they have channels", func(ctx context.Context) {
		w := newWorld(ctx)
		a, b := w.newTenant(ctx, nil), w.newTenant(ctx, nil)
		s, g := w.server(serverAllows(v1alpha1.FromAll)), w.group("alerts", groupAllows(v1alpha1.FromAll))
		ready(ctx, s, g)
		c := a.channel("alerts", "tokyo")
		ready(ctx, c)
		edit(ctx, s, serverAllows(v1alpha1.FromSame))
		edit(ctx, g, groupAllows(v1alpha1.FromSame))
		eventuallyNotAllowed(ctx, c) // the operator has seen both edits
		never := b.channel("alerts", "never")
		create(ctx, never, b.channel("", "never-either"))
		eventuallyNotAllowed(ctx, never)
		deleteObjects(ctx, s, g)
		for _, o := range []client.Object{s, g} {
			Expect(eventuallyProgressing(ctx, o, v1alpha1.ReasonWaitingForDependents)).
				To(And(ContainSubstring(a.ns+"/tokyo"), Not(ContainSubstring("never"))))
		}
		deleteObjects(ctx, c)
		eventuallyGone(ctx, c, g, s)
		Expect(w.idsNamed("tokyo")).To(BeEmpty())
		Expect(w.idsNamed("alerts")).To(BeEmpty())
	})

	It("have at most as many objects as a ResourceQuota allows", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.newTenant(ctx, nil)
		ready(ctx, w.server(serverAllows(v1alpha1.FromAll)))
		hard := corev1.ResourceList{"count/discordchannels.discord.jutsu.com": resource.MustParse("1")}
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: a.ns, Name: "discord"},
			Spec: corev1.ResourceQuotaSpec{Hard: hard}}
		create(ctx, quota)
		counted := func(used string) { // replaces kube-controller-manager, which counts objects
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
			quota.Status.Hard, quota.Status.Used = hard, corev1.ResourceList{
				"count/discordchannels.discord.jutsu.com": resource.MustParse(used)}
			Expect(k8s.Status().Update(ctx, quota)).To(Succeed())
		}
		counted("0")
		first := a.channel("", "first")
		Eventually(ctx, func(ctx context.Context) error { return k8s.Create(ctx, first) }).
			Should(Succeed(), "while an API server knows the quota without its status, it refuses everything")
		eventuallyReady(ctx, first)
		counted("1")
		Eventually(ctx, func(ctx context.Context) error { return k8s.Create(ctx, a.channel("", "second"), client.DryRunAll) }).
			Should(MatchError(ContainSubstring("exceeded quota: discord")))
	})
})

var _ = Describe("allowedNamespaces.selector", func() {
	labels := map[string]string{"discord": "yes"}

	It("selects namespaces by their labels if the component namespace-selectors is deployed", func(ctx context.Context) {
		component, err := project.Path("deploy", "discord-operator", "components", "namespace-selectors", "role.yaml")
		Expect(err).NotTo(HaveOccurred())
		for _, o := range objectsIn(component) {
			create(ctx, o)
			DeferCleanup(func(ctx context.Context) { deleteObjects(ctx, o) })
		}
		operator.Restart(ctx, "--namespace-selectors")
		w := newWorld(ctx)
		with, without := w.newTenant(ctx, labels), w.newTenant(ctx, map[string]string{"discord": "no"})
		s := w.server(func(s *v1alpha1.DiscordServer) { s.Spec.AllowedNamespaces = selecting(labels) })
		g := w.group("alerts", func(g *v1alpha1.DiscordGroup) { g.Spec.AllowedNamespaces = selecting(labels) })
		selected, other := with.channel("alerts", "selected"), without.channel("alerts", "other")
		inServer := without.group("own")
		inOwnGroup := without.channel("own", "talk", inOwn)
		ready(ctx, s, g, selected)
		create(ctx, other, inServer, inOwnGroup)
		eventuallyNotAllowed(ctx, other, inServer)
		label := func(value string) {
			GinkgoHelper()
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: without.ns}}
			edit(ctx, ns, func(ns *corev1.Namespace) { ns.Labels["discord"] = value })
		}
		label("yes")
		eventuallyReady(ctx, other, inServer, inOwnGroup)
		Eventually(ctx, namespaces(s)).Should(BeEquivalentTo(3))
		before := w.edits()
		label("no")
		eventuallyNotAllowed(ctx, other, inServer, inOwnGroup)
		w.expectIdle(ctx)
		Expect(w.edits()).To(Equal(before))
		deleteAndWait(ctx, other, inOwnGroup, inServer)
		Expect(w.idsNamed("other")).To(BeEmpty())
	})

	It("selects no namespace without the component namespace-selectors, "+
		"and conditions report that", func(ctx context.Context) {
		w := newWorld(ctx)
		t := w.newTenant(ctx, labels)
		s := w.server(func(s *v1alpha1.DiscordServer) { s.Spec.AllowedNamespaces = selecting(labels) })
		g := w.group("alerts", func(g *v1alpha1.DiscordGroup) { g.Spec.AllowedNamespaces = selecting(labels) })
		own, others := w.channel("alerts", "own"), t.channel("alerts", "others")
		create(ctx, s, g, own, others)
		eventuallyReady(ctx, own)
		eventuallyNotAllowed(ctx, others)
		for _, o := range []client.Object{s, g} {
			Expect(eventuallyDegraded(ctx, o, v1alpha1.ReasonSelectorUnusable)).To(ContainSubstring("namespace-selectors"))
			Expect(o).To(HaveCondition("Available", "True", ""))
		}
		edit(ctx, s, serverAllows(v1alpha1.FromAll))
		edit(ctx, g, groupAllows(v1alpha1.FromAll))
		eventuallyReady(ctx, s, g, others)
	})

	It("selects no namespace with --watch-namespaces, "+
		"but \"from: All\" selects the watched namespaces", func(ctx context.Context) {
		w := newWorld(ctx)
		watched, unwatched := w.newTenant(ctx, labels), w.newTenant(ctx, labels)
		operator.Restart(ctx, "--namespace-selectors", "--watch-namespaces="+w.ns+","+watched.ns)
		s := w.server(func(s *v1alpha1.DiscordServer) { s.Spec.AllowedNamespaces = selecting(labels) })
		c, elsewhere := watched.channel("", "watched"), watched.channel("", "elsewhere", func(c *v1alpha1.DiscordChannel) {
			c.Spec.ServerRef.Namespace = unwatched.ns
		})
		ignored := unwatched.channel("", "ignored")
		create(ctx, s, c, elsewhere, ignored)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonSelectorUnusable)).To(ContainSubstring("--watch-namespaces"))
		eventuallyNotAllowed(ctx, c, elsewhere)
		edit(ctx, s, serverAllows(v1alpha1.FromAll))
		eventuallyReady(ctx, s, c)
		Consistently(ctx, refetch(ignored)).WithTimeout(time.Second).
			Should(HaveField("Status.Conditions", BeEmpty()), "its namespace is not watched")
		Expect(elsewhere).To(HaveCondition("Degraded", "True", v1alpha1.ReasonNotAllowed))
		deleteAndWait(ctx, elsewhere, c)
	})
})

var _ = Describe("A Secret with "+v1alpha1.AllowedServersAnnotation, func() {
	It("limits the use of its token to the servers that the annotation lists", func(ctx context.Context) {
		w := newWorld(ctx)
		allow := func(list string) {
			GinkgoHelper()
			edit(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "discord-bot"}},
				func(s *corev1.Secret) { s.Annotations = map[string]string{v1alpha1.AllowedServersAnnotation: list} })
		}
		allow("123456789")
		s, c := w.server(), w.channel("", "tokyo")
		create(ctx, s, c)
		Expect(eventuallyDegraded(ctx, s, v1alpha1.ReasonNotAllowed)).To(ContainSubstring(w.guild))
		Expect(w.calls()).To(BeEmpty(), "the token is not used at all")
		allow("123456789," + w.guild)
		eventuallyReady(ctx, s, c)
		before := w.calls()
		allow("")
		eventuallyDegraded(ctx, s, v1alpha1.ReasonNotAllowed)
		deleteObjects(ctx, c)
		Expect(eventuallyDegraded(ctx, c, v1alpha1.ReasonDeletionFailed)).
			To(ContainSubstring(v1alpha1.AllowedServersAnnotation))
		Expect(w.calls()).To(Equal(before))
		allow(w.guild)
		eventuallyGone(ctx, c)
		eventuallyReady(ctx, s)
	})
})

func objectsIn(file string) []*unstructured.Unstructured {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	objects, err := manifests.Parse(text)
	Expect(err).NotTo(HaveOccurred())
	return objects
}
