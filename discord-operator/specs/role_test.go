// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

const (
	postRole    = "POST /guilds/{guild_id}/roles"
	patchRole   = "PATCH /guilds/{guild_id}/roles/{role_id}"
	moveRoles   = "PATCH /guilds/{guild_id}/roles"
	deleteRole  = "DELETE /guilds/{guild_id}/roles/{role_id}"
	giveRole    = "PUT /guilds/{guild_id}/members/{user_id}/roles/{role_id}"
	takeRole    = "DELETE /guilds/{guild_id}/members/{user_id}/roles/{role_id}"
	getMember   = "GET /guilds/{guild_id}/members/{user_id}"
	roleCreated = 30 // actions of the audit log
	roleDeleted = 32
)

type roleSpec = v1alpha1.DiscordRoleSpec

func (w *world) rolesNamed(name string) []discordtest.Role {
	guild := discord.Guild(w.guild)
	return slices.DeleteFunc(guild.RankedRoles(), func(r discordtest.Role) bool { return r.Name != name })
}

func (w *world) roleOn(r *v1alpha1.DiscordRole) func() discordtest.Role {
	return func() discordtest.Role {
		guild := discord.Guild(w.guild)
		for _, role := range guild.Roles {
			if role.ID == r.Status.RoleID {
				return role
			}
		}
		return discordtest.Role{}
	}
}

func (w *world) ranked() (names []string) {
	guild := discord.Guild(w.guild)
	for _, r := range guild.RankedRoles() {
		names = append(names, r.Name)
	}
	return names
}

func (w *world) user(name string) string {
	id := discord.AddUser(name)
	discord.AddMember(w.guild, id, 0)
	return id
}

func (w *world) has(user string) func() []string {
	return func() []string { return discord.Guild(w.guild).Members[user].Roles }
}

func editRole(ctx context.Context, r *v1alpha1.DiscordRole, change func(*roleSpec)) {
	GinkgoHelper()
	edit(ctx, r, func(r *v1alpha1.DiscordRole) { change(&r.Spec) })
	eventuallyReady(ctx, r)
}

var _ = Describe("A DiscordRole", func() {
	It("is created by one call with all fields", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		r := w.role("on-call", func(s *roleSpec) {
			s.Name, s.Color, s.Hoist, s.Mentionable = "On call", new("#E67E22"), new(true), new(true)
			s.Permissions, s.Position = []v1alpha1.Permission{"ViewChannel", "SendMessages"}, new(int32(3))
		})
		ready(ctx, r)
		w.expectIdle(ctx)
		Expect(w.edits()).To(Equal([]string{postRole}))
		Expect(w.roleOn(r)()).To(Equal(discordtest.Role{
			ID: r.Status.RoleID, Name: "On call", Color: 0xE67E22, Hoist: true, Mentionable: true, Position: 1,
			Permissions: discordtest.PermViewChannel | discordtest.PermSendMessages,
		}))
		Expect(w.writesTo("discordroles", "on-call")).
			To(Equal([]string{"patch discordroles/on-call", "patch discordroles/on-call/status"}))
		Expect(r.Status.ServerID).To(Equal(w.guild))
		Eventually(ctx, eventsOf(r)).Should(ConsistOf("Normal Created", "Normal Ready"))
		w.expectInSync(ctx, r)
	})

	It("keeps Discord's defaults, and users' changes, in fields that the spec leaves out", func(ctx context.Context) {
		w := newWorld(ctx)
		r := w.role("on-call")
		ready(ctx, w.server(), r)
		Expect(w.bodies(postRole)).To(Equal([]map[string]any{{"name": "on-call"}}))
		discord.EditRoleByHand(w.guild, r.Status.RoleID, func(role *discordtest.Role) {
			role.Color, role.Hoist, role.Mentionable, role.Permissions = 7, true, true, 1
		})
		w.expectInSync(ctx, r)
		Expect(w.edits()).To(Equal([]string{postRole}))
	})

	It("is edited by one call with all fields that differ, "+
		"and drift in each field is corrected", func(ctx context.Context) {
		w := newWorld(ctx)
		r := w.role("on-call")
		ready(ctx, w.server(), r)
		editRole(ctx, r, func(s *roleSpec) {
			s.Name, s.Color, s.Hoist, s.Mentionable = "On call", new("#00ff00"), new(true), new(true)
			s.Permissions = []v1alpha1.Permission{"SendMessages"}
		})
		want := w.roleOn(r)()
		Expect(want).To(And(HaveField("Name", "On call"), HaveField("Color", 0x00FF00), HaveField("Hoist", true),
			HaveField("Mentionable", true), HaveField("Permissions", discordtest.PermSendMessages)))
		Expect(w.edits()).To(Equal([]string{postRole, patchRole}))
		for field, change := range map[string]func(*discordtest.Role){
			"name":        func(role *discordtest.Role) { role.Name = "by hand" },
			"color":       func(role *discordtest.Role) { role.Color = 7 },
			"hoist":       func(role *discordtest.Role) { role.Hoist = false },
			"mentionable": func(role *discordtest.Role) { role.Mentionable = false },
			"permissions": func(role *discordtest.Role) { role.Permissions |= discordtest.PermViewChannel },
		} {
			discord.EditRoleByHand(w.guild, r.Status.RoleID, change)
			Eventually(ctx, w.roleOn(r)).Should(Equal(want), field)
			patches := w.bodies(patchRole)
			Expect(patches[len(patches)-1]).To(HaveLen(1), "only the %s differs", field)
		}
		Eventually(ctx, eventsOf(r)).Should(ContainElement("Normal DriftCorrected"))
		editRole(ctx, r, func(s *roleSpec) {
			s.Color, s.Hoist, s.Mentionable, s.Permissions = new("#000000"), new(false), new(false), []v1alpha1.Permission{}
		})
		Expect(w.roleOn(r)()).To(And(HaveField("Color", 0), HaveField("Hoist", false), HaveField("Mentionable", false),
			HaveField("Permissions", discordtest.Permissions(0))))
		w.expectInSync(ctx, r)
	})

	It("has a gradient if the server may use gradients, and is Degraded otherwise", func(ctx context.Context) {
		w := newWorld(ctx)
		gradient := func(s *roleSpec) { s.Color, s.SecondaryColor = new("#0000FF"), new("#00FF00") }
		r := w.role("on-call", gradient)
		create(ctx, w.server(), r)
		Expect(eventuallyDegraded(ctx, r, "Refused")).To(ContainSubstring("boosts"))
		discord.EditGuildByHand(w.guild, func(g *discordtest.Guild) { g.Features = append(g.Features, "ENHANCED_ROLE_COLORS") })
		eventuallyReady(ctx, r)
		Expect(w.roleOn(r)()).To(HaveField("Secondary", HaveValue(Equal(0x00FF00))))
		w.expectInSync(ctx, r)
		editRole(ctx, r, func(s *roleSpec) { s.SecondaryColor = new("") })
		Expect(w.roleOn(r)()).To(And(HaveField("Secondary", BeNil()), HaveField("Color", 0x0000FF)))
	})

	It("gets a new role with the same members after a user has deleted its role", func(ctx context.Context) {
		w := newWorld(ctx)
		yuji := w.user("Yuji")
		r := w.role("on-call", func(s *roleSpec) { s.Members = []v1alpha1.UserID{v1alpha1.UserID(yuji)} })
		ready(ctx, w.server(), r)
		before := r.Status.RoleID
		discord.DeleteRole(w.guild, before)
		Eventually(ctx, refetch(r)).Should(HaveField("Status.RoleID", Not(Equal(before))))
		eventuallyReady(ctx, r)
		Eventually(w.has(yuji)).Should(ConsistOf(r.Status.RoleID))
		Expect(w.rolesNamed("on-call")).To(HaveLen(1))
	})

	It("that is deleted also deletes its role on Discord, "+
		"unless the role is retained or adopted", func(ctx context.Context) {
		w := newWorld(ctx)
		id := discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "By hand"})
		created, retained := w.role("created"), w.role("retained", func(s *roleSpec) { s.DeletionPolicy = "Retain" })
		adopted := w.role("adopted", func(s *roleSpec) { s.Adopt = &v1alpha1.Adoption{ID: id} })
		ready(ctx, w.server(), created, retained, adopted)
		Eventually(ctx, eventsOf(adopted)).Should(ContainElement("Normal Adopted"))
		deleteAndWait(ctx, created, retained, adopted)
		Expect(w.rolesNamed("created")).To(BeEmpty())
		Expect(w.rolesNamed("retained")).To(HaveLen(1))
		Expect(w.rolesNamed("adopted")).To(HaveExactElements(HaveField("ID", id)))
		Expect(w.edits()).To(ConsistOf(postRole, postRole, patchRole, deleteRole))
	})

	It("blocks the deletion of its DiscordServer", func(ctx context.Context) {
		w := newWorld(ctx)
		s, r := w.server(), w.role("on-call")
		ready(ctx, s, r)
		deleteObjects(ctx, s)
		Expect(eventuallyProgressing(ctx, s, "WaitingForDependents")).To(ContainSubstring("DiscordRole on-call"))
		deleteAndWait(ctx, r)
		eventuallyGone(ctx, s)
	})

	DescribeTable("cannot adopt a role that Discord assigns", func(ctx context.Context, which func(w *world) string) {
		w := newWorld(ctx)
		r := w.role("mine", func(s *roleSpec) { s.Adopt = &v1alpha1.Adoption{ID: which(w)} })
		create(ctx, w.server(), r)
		Expect(eventuallyDegraded(ctx, r, "AdoptMismatch")).To(ContainSubstring(r.Spec.Adopt.ID))
		deleteAndWait(ctx, r)
		Expect(w.edits()).To(BeEmpty())
	},
		Entry("the bot's own role", func(w *world) string { return discord.Guild(w.guild).Members[w.bot.UserID].Own }),
		Entry("the boosters' role", func(w *world) string {
			return discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "Booster", Booster: true})
		}),
		Entry("@everyone", func(w *world) string { return w.guild }),
	)

	It("above the bot's highest role is Degraded, without an edit on Discord, "+
		"until a user drags the role down", func(ctx context.Context) {
		w := newWorld(ctx)
		r := w.role("on-call", func(s *roleSpec) { s.Hoist = new(false) })
		ready(ctx, w.server(), r)
		before := len(w.edits())
		discord.EditRoleByHand(w.guild, r.Status.RoleID, func(role *discordtest.Role) { role.Position, role.Hoist = 50, true })
		Expect(eventuallyDegraded(ctx, r, "RoleTooHigh")).To(ContainSubstring(`drag a role of the bot above "on-call"`))
		Expect(r).To(HaveCondition("Available", "True", "OnDiscord"))
		Expect(w.edits()[before:]).To(BeEmpty())
		discord.EditRoleByHand(w.guild, r.Status.RoleID, func(role *discordtest.Role) { role.Position = 1 })
		eventuallyReady(ctx, r)
		Expect(w.roleOn(r)()).To(HaveField("Hoist", false))
	})

	It("with permissions that the bot lacks is Degraded, "+
		"and its status names these permissions", func(ctx context.Context) {
		w := newWorld(ctx)
		s := w.server()
		r := w.role("on-call", func(s *roleSpec) { s.Permissions = []v1alpha1.Permission{"BanMembers"} })
		create(ctx, s, r)
		text := eventuallyDegraded(ctx, r, "MissingPermissions")
		Expect(text).To(ContainSubstring("BanMembers"))
		Expect(w.edits()).To(BeEmpty())

		By("inviting the bot with the message's link, which must ask for all permissions that the bot needs")
		discord.SetPermissions(w.guild, w.bot.UserID, asked(text))
		eventuallyReady(ctx, r)
		eventuallyReady(ctx, s)
		Eventually(ctx, func(ctx context.Context) (bool, error) {
			_, err := refetch(s)(ctx)
			return asked(s.Status.InviteURL).Has(1 << 2), err
		}).Should(BeTrue(), "the server's reconcile follows the role's")
	})

	It("in another namespace than its DiscordServer needs a grant "+
		"in spec.allowedRoles of the server", func(ctx context.Context) {
		w, guest := newWorld(ctx), newNamespace(ctx)
		s := w.server()
		r := w.role("on-call", func(s *roleSpec) { s.ServerRef.Namespace = w.ns })
		r.Namespace = guest
		DeferCleanup(func(ctx context.Context) { deleteAll(ctx, guest) })
		create(ctx, s, r)
		eventuallyDegraded(ctx, r, "NotAllowed")
		edit(ctx, s, func(s *v1alpha1.DiscordServer) {
			s.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}
		})
		eventuallyReady(ctx, s)
		eventuallyDegraded(ctx, r, "NotAllowed")
		edit(ctx, s, allowsRoles())
		eventuallyReady(ctx, r)
		Eventually(ctx, namespaces(s)).Should(Equal(int32(1)))
	})
})

var _ = Describe("The positions of DiscordRoles", func() {
	It("are set by one call, below the bot's role, and are corrected after a user moves roles", func(ctx context.Context) {
		w := newWorld(ctx)
		discord.AddRole(w.guild, "Sensei", 0)
		objects := []client.Object{}
		for i := range 5 {
			objects = append(objects, w.role(fmt.Sprintf("role-%d", i), func(s *roleSpec) { s.Position = new(int32(i)) }))
		}
		ready(ctx, w.server())
		ready(ctx, objects...)
		want := []string{"@everyone", "role-4", "role-3", "role-2", "role-1", "role-0", "operator", "Sensei"}
		Eventually(w.ranked).Should(Equal(want), "the lowest number is the highest role")
		w.expectIdle(ctx)
		Expect(len(slices.DeleteFunc(w.edits(), func(call string) bool { return call != moveRoles }))).
			To(BeNumerically("<=", 1), "one call moves all")
		before := len(w.edits())
		guild := discord.Guild(w.guild)
		at := func(name string) int { return w.rolesNamed(name)[0].Position }
		low, high := at("role-4"), at("role-1")
		discord.EditRoleByHand(guild.ID, w.rolesNamed("role-4")[0].ID, func(r *discordtest.Role) { r.Position = high })
		discord.EditRoleByHand(guild.ID, w.rolesNamed("role-1")[0].ID, func(r *discordtest.Role) { r.Position = low })
		Eventually(w.ranked).Should(Equal(want))
		w.expectInSync(ctx, objects...)
		Expect(len(w.edits())).To(BeNumerically("<=", before+2), "a user's drags are corrected together")
	})

	It("are set although one role cannot be created", func(ctx context.Context) {
		w := newWorld(ctx)
		ready(ctx, w.server())
		refused := w.role("refused", func(s *roleSpec) {
			s.Position, s.Permissions = new(int32(2)), []v1alpha1.Permission{"Administrator"}
		})
		first := w.role("first", func(s *roleSpec) { s.Position = new(int32(0)) })
		second := w.role("second", func(s *roleSpec) { s.Position = new(int32(1)) })
		create(ctx, first, second, refused)
		eventuallyReady(ctx, first, second)
		Expect(eventuallyDegraded(ctx, refused, "MissingPermissions")).
			NotTo(ContainSubstring("http"), "no link makes the bot an administrator")
		Eventually(w.ranked).Should(Equal([]string{"@everyone", "second", "first", "operator"}))
	})
})

var _ = Describe("The members of a DiscordRole", func() {
	It("get the role, "+
		"and after their removal from the spec lose it only if the operator gave it to them", func(ctx context.Context) {
		w := newWorld(ctx)
		yuji, nobara, megumi := w.user("Yuji"), w.user("Nobara"), w.user("Megumi")
		r := w.role("on-call")
		ready(ctx, w.server(), r)
		id := r.Status.RoleID
		for _, before := range []string{nobara, megumi} {
			discord.GiveRole(w.guild, before, id)
		}
		editRole(ctx, r, func(s *roleSpec) { s.Members = []v1alpha1.UserID{v1alpha1.UserID(yuji), v1alpha1.UserID(nobara)} })
		Eventually(w.has(yuji)).Should(ConsistOf(id))
		Eventually(ctx, refetch(r)).Should(HaveField("Status.Members", ConsistOf(v1alpha1.UserID(yuji))))
		w.expectInSync(ctx, r)
		Expect(w.edits()).To(Equal([]string{postRole, giveRole}))
		Expect(slices.DeleteFunc(w.calls(), func(call string) bool { return call != getMember })).
			To(HaveLen(2), "one read for each member")
		editRole(ctx, r, func(s *roleSpec) { s.Members = nil })
		Eventually(w.has(yuji)).Should(BeEmpty())
		Eventually(ctx, refetch(r)).Should(HaveField("Status.Members", BeEmpty()))
		Expect(w.has(nobara)()).To(ConsistOf(id), "a member who had the role before should keep it")
		Expect(w.has(megumi)()).To(ConsistOf(id), "a member outside the spec should keep the role")
		Expect(w.edits()).To(Equal([]string{postRole, giveRole, takeRole}))
		w.expectInSync(ctx, r)
	})

	It("outside the server are named in the status, and all other members get the role", func(ctx context.Context) {
		w := newWorld(ctx)
		yuji, gone := w.user("Yuji"), discord.AddUser("Satoru")
		r := w.role("on-call", func(s *roleSpec) {
			s.Members = []v1alpha1.UserID{v1alpha1.UserID(gone), v1alpha1.UserID(yuji)}
		})
		create(ctx, w.server(), r)
		Expect(eventuallyDegraded(ctx, r, "MemberNotFound")).To(ContainSubstring(gone))
		Eventually(w.has(yuji)).Should(ConsistOf(r.Status.RoleID))
		editRole(ctx, r, func(s *roleSpec) { s.Members = s.Members[1:] })
	})

	It("get the role back after a user took it, "+
		"although the bot receives no event about members", func(ctx context.Context) {
		operator.Stop()
		operator.Start(ctx, "--live-resync-period=2s", "--resync-period=1s")
		DeferCleanup(func(ctx context.Context) { operator.Restart(ctx) })
		w := newWorld(ctx)
		yuji := w.user("Yuji")
		r := w.role("on-call", func(s *roleSpec) { s.Members = []v1alpha1.UserID{v1alpha1.UserID(yuji)} })
		ready(ctx, w.server(), r)
		Eventually(w.has(yuji)).Should(HaveLen(1))
		discord.TakeRole(w.guild, yuji, r.Status.RoleID)
		Eventually(w.has(yuji)).Should(ConsistOf(r.Status.RoleID))
		Eventually(ctx, eventsOf(r)).Should(ContainElement("Normal DriftCorrected"))
		operator.Restart(ctx)
	})
})

var _ = Describe("A role's create whose response is lost or is an error", func() {
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		ready(ctx, w.server())
	})

	DescribeTable("leaves exactly one role", func(ctx context.Context, way discordtest.Action) {
		w.fault(discordtest.Fault{Route: postRole, Times: 2, Action: way})
		r := w.role("on-call")
		ready(ctx, r)
		w.expectIdle(ctx)
		Expect(w.rolesNamed("on-call")).To(HaveExactElements(HaveField("ID", r.Status.RoleID)))
		Expect([]int{w.audited(roleCreated), w.audited(roleDeleted)}).To(Equal([]int{1, 0}), "creates and deletions logged")
	}, lostAnswers)

	It("is recovered if the operator is killed "+
		"between the create and the update of the status", func(ctx context.Context) {
		release := w.holdAnswer(postRole)
		r := w.role("on-call")
		create(ctx, r)
		Eventually(func() []discordtest.Role { return w.rolesNamed("on-call") }).Should(HaveLen(1))
		restartAfterCrash(ctx, release)
		eventuallyReady(ctx, r)
		Expect(w.rolesNamed("on-call")).To(HaveExactElements(HaveField("ID", r.Status.RoleID)))
		Expect(w.audited(roleCreated)).To(Equal(1))
	})

	It("is recovered although the audit log lacks it, and Discord keeps the role when the object is deleted", func(ctx context.Context) {
		discord.Faults().LoseAudit(-1)
		DeferCleanup(func() { discord.Faults().LoseAudit(0) })
		w.fault(discordtest.Fault{Route: postRole, Times: 1, Action: discordtest.DropAfter()})
		r := w.role("on-call")
		ready(ctx, r)
		Expect(r.Status.Matched).To(BeTrue())
		deleteAndWait(ctx, r)
		Expect(w.rolesNamed("on-call")).To(HaveLen(1), "the role may be another user's")
	})
})

var _ = Describe("A role", func() {
	It("in an overwrite's roleRef makes channels and groups wait until it exists, "+
		"and keeps its overwrites when it is created again", func(ctx context.Context) {
		w := newWorld(ctx)
		of := []v1alpha1.PermissionOverwrite{{RoleRef: &v1alpha1.RoleReference{Name: "on-call"}, Allow: []v1alpha1.Permission{"SendMessages"}}}
		c := w.channel("", "alerts", with(func(s *channelSpec) { s.PermissionOverwrites = of }))
		g := w.group("incidents", func(g *v1alpha1.DiscordGroup) { g.Spec.PermissionOverwrites = of })
		ready(ctx, w.server())
		create(ctx, c, g)
		Expect(eventuallyProgressing(ctx, c, "WaitingForRole")).To(ContainSubstring("on-call"))
		eventuallyProgressing(ctx, g, "WaitingForRole")
		r := w.role("on-call")
		ready(ctx, r)
		eventuallyReady(ctx, c, g)
		allows := func() []discordtest.Overwrite {
			return []discordtest.Overwrite{{ID: r.Status.RoleID, Allow: discordtest.PermSendMessages}}
		}
		Expect(on(c).Overwrites).To(Equal(allows()))
		Expect(category(g).Overwrites).To(Equal(allows()))
		before := r.Status.RoleID
		discord.DeleteRole(w.guild, before)
		Eventually(ctx, refetch(r)).Should(HaveField("Status.RoleID", Not(Equal(before))))
		Eventually(func() []discordtest.Overwrite { return on(c).Overwrites }).Should(Equal(allows()))
		eventuallyReady(ctx, r, c, g)
		w.expectInSync(ctx, r, c, g)
	})

	It("that does not exist, but is named in an overwrite, makes channels and groups Degraded until it is created",
		func(ctx context.Context) {
			w := newWorld(ctx)
			named := func(name string) []v1alpha1.PermissionOverwrite {
				return []v1alpha1.PermissionOverwrite{{Role: name, Allow: []v1alpha1.Permission{"SendMessages"}}}
			}
			c := w.channel("", "alerts", with(func(s *channelSpec) { s.PermissionOverwrites = named("on-call") }))
			g := w.group("incidents", func(g *v1alpha1.DiscordGroup) { g.Spec.PermissionOverwrites = named("by hand") })
			ready(ctx, w.server())
			create(ctx, c, g)
			eventuallyDegraded(ctx, c, "RoleNotFound")
			eventuallyDegraded(ctx, g, "RoleNotFound")
			ready(ctx, w.role("on-call"))
			eventuallyReady(ctx, c)
			discord.AddRole(w.guild, "by hand", 0)
			eventuallyReady(ctx, g)
		})

	It("in an overwrite's roleRef makes channels and groups wait after its DiscordRole is deleted, "+
		"even if the role is retained", func(ctx context.Context) {
		w := newWorld(ctx)
		of := []v1alpha1.PermissionOverwrite{{RoleRef: &v1alpha1.RoleReference{Name: "on-call"}, Allow: []v1alpha1.Permission{"SendMessages"}}}
		c := w.channel("", "alerts", with(func(s *channelSpec) { s.PermissionOverwrites = of }))
		g := w.group("incidents", func(g *v1alpha1.DiscordGroup) { g.Spec.PermissionOverwrites = of })
		r := w.role("on-call", func(s *roleSpec) { s.DeletionPolicy = v1alpha1.DeletionPolicyRetain })
		ready(ctx, w.server())
		ready(ctx, r, c, g)
		deleteAndWait(ctx, r)
		Expect(w.rolesNamed("on-call")).To(HaveLen(1))
		eventuallyProgressing(ctx, c, "WaitingForRole")
		eventuallyProgressing(ctx, g, "WaitingForRole")
	})

	DescribeTable("with an invalid field is refused", func(ctx context.Context, change func(*roleSpec), message string) {
		r := (&world{ns: "default"}).role("invalid", change)
		Expect(k8s.Create(ctx, r, client.DryRunAll)).To(MatchError(ContainSubstring(message)))
	},
		Entry("a colour's name instead of its digits",
			func(s *roleSpec) { s.Color = new("red") }, "six hexadecimal digits"),
		Entry("a secondaryColor without a color", func(s *roleSpec) { s.SecondaryColor = new("#000000") }, "needs color"),
		Entry("holographic colours that are not Discord's", func(s *roleSpec) {
			s.Color, s.SecondaryColor, s.TertiaryColor = new("#000001"), new("#000002"), new("#000003")
		}, "#A9C9FF"),
		Entry("a reserved name", func(s *roleSpec) { s.Name = "@everyone" }, "reserves"),
		Entry("white space before a name", func(s *roleSpec) { s.Name = " a" }, "white space"),
		Entry("a member's name instead of the id",
			func(s *roleSpec) { s.Members = []v1alpha1.UserID{"Yuji"} }, "id of a Discord user"),
		Entry("too many members", func(s *roleSpec) {
			for i := range 101 {
				s.Members = append(s.Members, v1alpha1.UserID(strconv.Itoa(1000000+i)))
			}
		}, "100"),
		Entry("an unknown permission", func(s *roleSpec) { s.Permissions = []v1alpha1.Permission{"Fly"} }, "Unsupported value"),
		Entry("a negative position", func(s *roleSpec) { s.Position = new(int32(-1)) }, "greater than or equal to 0"),
	)
})
