// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

const (
	chaosGroups, chaosChannels, chaosRoles = 5, 100, 12
	chaosKills                             = 30
	// chaosFaults is the fraction of calls to Discord that fail.
	chaosFaults = 0.10
)

// The same --ginkgo.seed gives the same random values, but the effect of a kill also depends on the
// machine.
var _ = Describe("Chaos", Label("chaos"), SpecPriority(1), func() { // first, because it takes longest
	It("the operator reaches exactly the desired state despite kills, "+
		"failed calls and lost events", SpecTimeout(30*time.Minute), func(ctx context.Context) {
		w := newWorld(ctx)
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 1))
		// With leader election, each restart would wait until the killed leader's Lease expires.
		operator.Restart(ctx, "--leader-elect=false")
		stop := injectFaults(w.bot.UserID, uint64(GinkgoRandomSeed()))
		defer stop()
		discord.Gateway().SetFaults(unreliableGateway(uint64(GinkgoRandomSeed())))
		DeferCleanup(func() { discord.Gateway().SetFaults(discordtest.GatewayFaults{}) })
		discord.Weaken(discordtest.Weakness{
			Stale: 0.2, Missing: 0.05, Unauthorized: 0.0005, Forbidden: 0.005, ServerErrors: 0.01,
		})
		DeferCleanup(func() { discord.Weaken(discordtest.Weakness{}) })

		objects := []client.Object{w.server()}
		for i := range chaosGroups {
			objects = append(objects, w.group(fmt.Sprintf("group-%d", i)))
		}
		for i := range chaosChannels {
			c := w.channel(fmt.Sprintf("group-%d", i%chaosGroups), fmt.Sprintf("channel-%d", i), position(int32(i)))
			if i%10 == 0 {
				withWebhook(c)
			}
			objects = append(objects, c)
		}
		member := w.user("student")
		for i := range chaosRoles {
			objects = append(objects, w.role(fmt.Sprintf("role-%02d", i), func(s *roleSpec) {
				s.Position, s.Color, s.Hoist = new(int32(i)), new("#E67E22"), new(i%2 == 0)
				s.Members = []v1alpha1.UserID{v1alpha1.UserID(member)}
			}))
		}
		foreign := discord.CreateRoleByHand(w.guild, discordtest.Role{Name: "role-00", Color: 7})
		create(ctx, objects...)

		undo := func() {}
		for kill := range chaosKills {
			undo()
			undo = w.disturb(ctx, kill, random)
			pause(ctx, time.Duration(random.IntN(1500))*time.Millisecond)
			if kill%5 == 0 {
				discord.Gateway().Drop(0)
			}
			operator.Kill(ctx)
			operator.Start(ctx, "--leader-elect=false")
		}
		undo()
		By("becoming Ready with the faults still on", func() {
			for _, o := range objects {
				Eventually(ctx, refetch(o)).WithTimeout(4*time.Minute).
					Should(HaveCondition("Ready", "True", ""), "%s should become Ready", o.GetName())
			}
		})
		stop()
		discord.Gateway().SetFaults(discordtest.GatewayFaults{})
		discord.Weaken(discordtest.Weakness{})
		// The status Ready may be older than the last kill, so check Discord.
		Eventually(ctx, func(g Gomega) {
			expectExactly(ctx, g, w)
			w.expectExactRoles(ctx, g, foreign, member)
		}).WithTimeout(4 * time.Minute).WithPolling(time.Second).Should(Succeed())
	})
})

// disturb changes something on Discord, like a user or another bot. undo reverts the change.
func (w *world) disturb(ctx context.Context, turn int, random *rand.Rand) (undo func()) {
	switch turn % 5 {
	case 0:
		return w.hideSome(random)
	case 1:
		role := discord.Guild(w.guild).Members[w.bot.UserID].Own
		discord.TakeRole(w.guild, w.bot.UserID, role)
		return func() { discord.GiveRole(w.guild, w.bot.UserID, role) }
	case 2:
		revoked, err := discord.RotateToken(w.bot.Token)
		Expect(err).NotTo(HaveOccurred())
		secrets.Add(revoked)
		w.bot.Token = revoked
		return func() { edit(ctx, w.token(), func(s *corev1.Secret) { s.Data["token"] = []byte(revoked) }) }
	case 3:
		w.editSomeRoles(random)
	default:
		discord.FillAuditLog(w.guild, 500)
	}
	return func() {}
}

func (w *world) editSomeRoles(random *rand.Rand) {
	for _, r := range discord.Guild(w.guild).Roles {
		if !strings.HasPrefix(r.Name, "role-") || r.Color == 7 || random.IntN(3) > 0 {
			continue
		}
		discord.EditRoleByHand(w.guild, r.ID, func(r *discordtest.Role) {
			r.Name, r.Color, r.Hoist, r.Position = "by hand", 1, !r.Hoist, 1
		})
	}
}

func (w *world) hideSome(random *rand.Rand) (undo func()) {
	var hidden []string
	for _, c := range discord.Guild(w.guild).Channels {
		if random.IntN(10) > 0 {
			continue
		}
		hidden = append(hidden, c.ID)
		discord.EditChannelByHand(c.ID, func(c *discordtest.Channel) {
			c.Overwrites = []discordtest.Overwrite{{ID: w.guild, Deny: discordtest.PermViewChannel}}
		})
	}
	return func() {
		for _, id := range hidden {
			discord.EditChannelByHand(id, func(c *discordtest.Channel) { c.Overwrites = nil })
		}
	}
}

func unreliableGateway(seed uint64) discordtest.GatewayFaults {
	random := rand.New(rand.NewPCG(seed, 3)) // only the simulator uses it, under its lock
	with := func(chance float64) func(string) bool {
		return func(string) bool { return random.Float64() < chance }
	}
	return discordtest.GatewayFaults{
		LoseOnWire: with(0.02), Twice: with(0.1),
		Delay: func(string) time.Duration { return time.Duration(random.IntN(200)) * time.Millisecond },
	}
}

func position(n int32) func(*v1alpha1.DiscordChannel) {
	return func(c *v1alpha1.DiscordChannel) { c.Spec.Position = &n }
}

func injectFaults(botID string, seed uint64) (stop func()) {
	ways := []discordtest.Action{
		discordtest.FailBefore(500), discordtest.FailAfter(500), discordtest.FailAfter(502), discordtest.FailBefore(503),
		discordtest.DropBefore(), discordtest.DropAfter(), discordtest.CutAnswer(-20),
		discordtest.RateLimited(time.Second, "user"), discordtest.BadGateway(),
	}
	random := rand.New(rand.NewPCG(seed, 2)) // only the simulator uses it, under its lock
	rest := 1.0
	var stops []func()
	for range ways {
		chance := chaosFaults / float64(len(ways)) / rest // probability for a call that no earlier fault has matched
		rest -= chaosFaults / float64(len(ways))
		stops = append(stops, discord.Faults().Add(discordtest.Fault{
			Match:  func(r discordtest.Request) bool { return r.BotID == botID && random.Float64() < chance },
			Action: ways[len(stops)],
		}))
	}
	return sync.OnceFunc(func() {
		for _, stop := range stops {
			stop()
		}
	})
}

// pause waits for the time d, because the spec has no condition to wait for.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// expectExactly expects that the operator has created one resource per object, and deleted none.
func expectExactly(ctx context.Context, g Gomega, w *world) {
	GinkgoHelper()
	var channels v1alpha1.DiscordChannelList
	var groups v1alpha1.DiscordGroupList
	g.Expect(k8s.List(ctx, &channels, client.InNamespace(w.ns))).To(Succeed())
	g.Expect(k8s.List(ctx, &groups, client.InNamespace(w.ns))).To(Succeed())
	wanted := map[string]string{}
	for _, group := range groups.Items {
		wanted[group.Status.GroupID] = group.Spec.Name
	}
	for _, c := range channels.Items {
		wanted[c.Status.ChannelID] = c.Spec.Name
	}
	g.Expect(wanted).To(HaveLen(chaosGroups+chaosChannels), "every object has an external resource of its own")
	guild := discord.Guild(w.guild)
	found := map[string]string{}
	order := map[string][]int{}
	for _, c := range guild.Channels {
		found[c.ID] = c.Name
		if number, ok := strings.CutPrefix(c.Name, "channel-"); ok {
			n, err := strconv.Atoi(number)
			g.Expect(err).NotTo(HaveOccurred())
			order[c.ParentID] = append(order[c.ParentID], n)
		}
	}
	g.Expect(found).To(Equal(wanted), "Discord should have the channels and categories of the objects, and no others")
	for _, numbers := range order {
		g.Expect(slices.IsSorted(numbers)).To(BeTrue(), "%v should be in order", numbers)
	}
	audited := map[int]int{}
	for _, e := range guild.Audit {
		if e.UserID == w.bot.UserID { // other users and bots fill the log too
			audited[e.Action]++
		}
	}
	g.Expect(audited[10]).To(Equal(chaosGroups+chaosChannels),
		"channels and categories, each created once (10 in the audit log)")
	g.Expect(audited[12]).To(BeZero(), "deleted channels and categories (12 in the audit log)")
	g.Expect(guild.Webhooks).To(HaveLen(chaosChannels/10), "webhooks, one per channel with spec.webhook")
	for _, c := range channels.Items {
		if c.Spec.Webhook != nil {
			g.Expect(c.Status.Webhook).NotTo(BeNil())
		}
	}
}

// expectExactRoles expects that the operator has created one role per DiscordRole. The roles must
// be in order, and member must have them. foreign is the id of another user's role, which must not
// have changed.
func (w *world) expectExactRoles(ctx context.Context, g Gomega, foreign, member string) {
	GinkgoHelper()
	var roles v1alpha1.DiscordRoleList
	g.Expect(k8s.List(ctx, &roles, client.InNamespace(w.ns))).To(Succeed())
	wanted := []string{w.guild, foreign, discord.Guild(w.guild).Members[w.bot.UserID].Own}
	var has []string
	for _, r := range roles.Items {
		has = append(has, r.Status.RoleID)
	}
	guild := discord.Guild(w.guild)
	var found, order []string
	for _, r := range guild.RankedRoles() {
		found = append(found, r.ID)
		if r.ID == foreign {
			g.Expect(r).To(And(HaveField("Name", "role-00"), HaveField("Color", 7)), "another user's role should not change")
		} else if strings.HasPrefix(r.Name, "role-") {
			order = append(order, r.Name)
			g.Expect(r.Color).To(Equal(0xE67E22))
		}
	}
	g.Expect(found).To(ConsistOf(append(wanted, has...)), "Discord should have these roles and no others")
	g.Expect(found[len(found)-1]).To(Equal(wanted[2]), "the bot's own role is the highest")
	g.Expect(order).To(HaveLen(chaosRoles))
	slices.Reverse(order)
	g.Expect(slices.IsSorted(order)).To(BeTrue(), "%v should be in order", order)
	g.Expect(guild.Members[member].Roles).To(ConsistOf(has))
	audited := map[int]int{}
	for _, e := range guild.Audit {
		if e.UserID == w.bot.UserID {
			audited[e.Action]++
		}
	}
	g.Expect(audited[roleCreated]).To(Equal(chaosRoles), "roles, each created once")
	g.Expect(audited[roleDeleted]).To(BeZero())
}
