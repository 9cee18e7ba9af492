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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient/discordtest"
)

const (
	chaosGroups, chaosChannels = 5, 100
	chaosKills                 = 30
	// chaosFaults is the part of all calls to Discord that go wrong.
	chaosFaults = 0.10
)

// The operator is killed again and again while Discord fails, and in the end there is what was asked for: nothing twice, nothing lost, nothing left over.
// What is random comes from the seed that ginkgo prints (--ginkgo.seed repeats it); when the kills hit depends on the machine as well.
var _ = Describe("Chaos", Label("chaos"), func() {
	It("leaves exactly what was asked for, whatever fails", func(ctx context.Context) {
		w := newWorld(ctx)
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 1))
		operator.Restart(ctx, "--leader-elect=false") // a killed leader would be waited for, and nothing would be under way
		stop := misbehave(w.bot.UserID, uint64(GinkgoRandomSeed()))
		defer stop()
		discord.Gateway().SetFaults(unreliable(uint64(GinkgoRandomSeed())))
		DeferCleanup(func() { discord.Gateway().SetFaults(discordtest.GatewayFaults{}) })

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
		create(ctx, objects...)

		for kill := range chaosKills {
			pause(ctx, time.Duration(random.IntN(1500))*time.Millisecond)
			if kill%5 == 0 {
				discord.Gateway().Drop(0)
			}
			operator.Kill(ctx)
			operator.Start(ctx, "--leader-elect=false")
		}
		By("letting it settle with the faults still on, then off", func() {
			for _, o := range objects {
				Eventually(ctx, refetch(o)).WithTimeout(4*time.Minute).Should(HaveCondition("Ready", "True", ""), "%s should become Ready", o.GetName())
			}
		})
		stop()
		discord.Gateway().SetFaults(discordtest.GatewayFaults{})
		expectExactly(ctx, w)
	})
})

// unreliable has the events of the Gateway come up to 200 ms late, some twice, and some not at all, which shows.
func unreliable(seed uint64) discordtest.GatewayFaults {
	random := rand.New(rand.NewPCG(seed, 3)) // used under the simulator's lock alone
	now := func(chance float64) func(string) bool {
		return func(string) bool { return random.Float64() < chance }
	}
	return discordtest.GatewayFaults{
		LoseOnWire: now(0.02), Twice: now(0.1),
		Delay: func(string) time.Duration { return time.Duration(random.IntN(200)) * time.Millisecond },
	}
}

func position(n int32) func(*v1alpha1.DiscordChannel) {
	return func(c *v1alpha1.DiscordChannel) { c.Spec.Position = &n }
}

// misbehave lets a part of a bot's calls go wrong, in every way in which a call can.
func misbehave(botID string, seed uint64) (stop func()) {
	ways := []discordtest.Action{
		discordtest.FailBefore(500), discordtest.FailAfter(500), discordtest.FailAfter(502), discordtest.FailBefore(503),
		discordtest.DropBefore(), discordtest.DropAfter(), discordtest.CutAnswer(-20), discordtest.RateLimited(time.Second, "user"), discordtest.BadGateway(),
	}
	random := rand.New(rand.NewPCG(seed, 2)) // used under the simulator's lock alone
	left := 1.0
	var stops []func()
	for range ways {
		chance := chaosFaults / float64(len(ways)) / left // of what the ways before this one have let through
		left -= chaosFaults / float64(len(ways))
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

// pause lets the operator work for a while before it is killed: here time itself is what the spec is about.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// expectExactly expects that Discord has what the objects say, each once, and that nothing was ever created twice or deleted.
func expectExactly(ctx context.Context, w *world) {
	GinkgoHelper()
	var channels v1alpha1.DiscordChannelList
	var groups v1alpha1.DiscordGroupList
	Expect(k8s.List(ctx, &channels, client.InNamespace(w.ns))).To(Succeed())
	Expect(k8s.List(ctx, &groups, client.InNamespace(w.ns))).To(Succeed())
	wanted := map[string]string{}
	for _, g := range groups.Items {
		wanted[g.Status.GroupID] = g.Spec.Name
	}
	for _, c := range channels.Items {
		wanted[c.Status.ChannelID] = c.Spec.Name
	}
	Expect(wanted).To(HaveLen(chaosGroups+chaosChannels), "every object has a counterpart of its own")
	guild := discord.Guild(w.guild)
	found := map[string]string{}
	order := map[string][]int{}
	for _, c := range guild.Channels {
		found[c.ID] = c.Name
		if number, ok := strings.CutPrefix(c.Name, "channel-"); ok {
			n, err := strconv.Atoi(number)
			Expect(err).NotTo(HaveOccurred())
			order[c.ParentID] = append(order[c.ParentID], n)
		}
	}
	Expect(found).To(Equal(wanted), "Discord has the counterparts and nothing else")
	for _, numbers := range order {
		Expect(slices.IsSorted(numbers)).To(BeTrue(), "%v should be in order", numbers)
	}
	deeds := map[int]int{}
	for _, e := range guild.Audit {
		deeds[e.Action]++
	}
	Expect(deeds[10]).To(Equal(chaosGroups+chaosChannels), "created (10 in the audit log), each once")
	Expect(deeds[12]).To(BeZero(), "deleted (12)")
	Expect(guild.Webhooks).To(HaveLen(chaosChannels/10), "webhooks, each once")
	for _, c := range channels.Items {
		if c.Spec.Webhook != nil {
			Expect(c.Status.Webhook).NotTo(BeNil())
		}
	}
}
