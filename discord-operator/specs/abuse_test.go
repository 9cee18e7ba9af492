// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

// `make bench ARGS="--only abuse"` measures larger attacks.
const (
	refusedServers = 100
	forgedSecrets  = 40
	// lives is the number of channels that the resident creates, edits and deletes per attack.
	lives = 3
)

// resident is a tenant that uses the operator as usual while another tenant attacks.
type resident struct {
	*world
	server *v1alpha1.DiscordServer
	group  *v1alpha1.DiscordGroup
	// An attack must not change kept or the webhook of kept.
	kept  *v1alpha1.DiscordChannel
	lived int
}

func newResident(ctx context.Context) *resident {
	GinkgoHelper()
	w := newWorld(ctx)
	r := &resident{world: w, server: w.server(), group: w.group("team"), kept: w.channel("team", "alerts", withWebhook)}
	ready(ctx, r.server, r.group, r.kept)
	return r
}

type belongings struct {
	versions map[string]string // resourceVersions of the kept channel and two Secrets
	channel  discordtest.Channel
	category discordtest.Channel
	webhooks []discordtest.Webhook
}

func (r *resident) belongings(ctx context.Context) belongings {
	GinkgoHelper()
	has := belongings{versions: map[string]string{},
		channel: on(r.kept), category: category(r.group), webhooks: hooks(r.kept)}
	for _, o := range []client.Object{r.kept.DeepCopy(), r.token(), r.secret(r.kept.WebhookSecretName())} {
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		has.versions[fmt.Sprintf("%T %s", o, o.GetName())] = o.GetResourceVersion()
	}
	return has
}

func (r *resident) lives(ctx context.Context) {
	GinkgoHelper()
	for range lives {
		r.lived++
		c := r.channel("team", fmt.Sprintf("incident-%d", r.lived), withWebhook)
		ready(ctx, c)
		Expect(r.secretOf(c.WebhookSecretName())(ctx)).To(holdURLOf(hooks(c)[0]))
		edit(ctx, c, func(c *v1alpha1.DiscordChannel) { c.Spec.Topic = new("What is wrong") })
		eventuallyReady(ctx, c)
		Expect(on(c).Topic).To(Equal("What is wrong"))
		deleteAndWait(ctx, c)
		Expect(r.idsNamed(c.Spec.Name)).To(BeEmpty())
	}
}

func (r *resident) undisturbed(ctx context.Context, attack func()) {
	GinkgoHelper()
	before := r.belongings(ctx)
	attack()
	r.lives(ctx)
	eventuallyReady(ctx, r.server, r.group, r.kept)
	Expect(r.belongings(ctx)).To(Equal(before), "nothing of the other tenant changes")
}

// everySecond calls do once a second until end is called. times returns the number of calls.
func everySecond(do func()) (times func() int64, end func()) {
	ending := make(chan struct{})
	var done atomic.Int64
	var running sync.WaitGroup
	running.Go(func() {
		defer GinkgoRecover()
		for {
			do()
			done.Add(1)
			select {
			case <-ending:
				return
			case <-time.After(time.Second):
			}
		}
	})
	return done.Load, sync.OnceFunc(func() {
		close(ending)
		running.Wait()
	})
}

func refusals() (n int) {
	for _, r := range discord.Requests() {
		if r.Status == http.StatusUnauthorized {
			n++
		}
	}
	return n
}

var _ = Describe("Another tenant's objects stay unchanged and its new objects become Ready while a tenant",
	Ordered, SpecPriority(1),
	func() {
		var b *resident
		BeforeAll(func(ctx context.Context) { b = newResident(ctx) })

		It("creates 100 DiscordServers with a refused token, "+
			"and edits the token's Secret every second", func(ctx context.Context) {
			a := b.newTenant(ctx, nil)
			bad := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.ns, Name: "discord-bot"},
				StringData: map[string]string{"token": secrets.Add("wrong.token.of-a-tenant-that-abuses-it")}}
			create(ctx, bad)
			before, start := refusals(), time.Now()
			var servers []client.Object
			for i := range refusedServers {
				s := a.server(func(s *v1alpha1.DiscordServer) { s.Namespace, s.Name = a.ns, fmt.Sprintf("refused-%d", i) })
				servers = append(servers, s)
			}
			b.undisturbed(ctx, func() {
				create(ctx, servers...)
				going := context.WithoutCancel(ctx) // ctx ends before end is called
				changes, end := everySecond(func() {
					edit(going, bad, func(s *corev1.Secret) { s.Annotations = map[string]string{"at": time.Now().String()} })
				})
				DeferCleanup(end)
				for _, s := range servers {
					eventuallyDegraded(ctx, s, v1alpha1.ReasonAuthenticationFailed)
				}
				Eventually(changes).Should(BeNumerically(">=", 3), "each edit could make the operator try the token again")
			})
			tries := 1
			if time.Since(start) > time.Minute {
				tries = 2 // the operator tries a refused token again after one minute, then after ten
			}
			Expect(refusals()-before).To(And(BeNumerically(">", 0), BeNumerically("<=", 3*tries)),
				"each refusal counts towards a ban of the IP address")
		})

		It("creates Secrets of almost 1 MiB with the operator's labels, "+
			"one with the name of the other tenant's webhook Secret", func(ctx context.Context) {
			a := b.newTenant(ctx, nil)
			origin, err := b.secretOf(b.kept.WebhookSecretName())(ctx)
			Expect(err).NotTo(HaveOccurred())
			var forged []*corev1.Secret
			b.undisturbed(ctx, func() {
				for i := range forgedSecrets {
					s := forgery(origin, a.ns, fmt.Sprintf("%s-%d", origin.Name, i))
					if i == 0 {
						s.Name = origin.Name
					}
					create(ctx, s)
					forged = append(forged, s)
				}
			})
			for _, s := range forged {
				Expect(refetch(s.DeepCopy())(ctx)).To(HaveField("ResourceVersion", s.ResourceVersion))
			}
			Expect(operator.Writes(a.ns)).To(BeEmpty(), "the operator should not change Secrets that it has not created")
		})

		It("refers to the other tenant's group, server, channel and Secret, "+
			"first without a grant and then with grants", func(ctx context.Context) {
			a := b.newTenant(ctx, nil)
			inGroup := a.channel("team", "alerts", withWebhook, func(c *v1alpha1.DiscordChannel) {
				c.Spec.Webhook.SecretName = b.kept.WebhookSecretName()
			})
			adopts := a.channel("", "mine", adopting(b.kept.Status.ChannelID), withWebhook)
			group := a.group("own")
			server := a.server(func(s *v1alpha1.DiscordServer) { s.Namespace = a.ns }) // refers to the Secret of b
			b.undisturbed(ctx, func() {
				create(ctx, inGroup, adopts, group, server)
				eventuallyNotAllowed(ctx, inGroup, adopts, group)
				eventuallyDegraded(ctx, server, v1alpha1.ReasonTokenNotFound)
			})
			Expect(operator.Writes(a.ns)).NotTo(ContainElement(ContainSubstring("secrets/")))

			By("granting access to all namespaces")
			allowAll := func(from v1alpha1.FromNamespaces) {
				GinkgoHelper()
				edit(ctx, b.server, func(s *v1alpha1.DiscordServer) {
					serverAllows(from)(s)
					s.Spec.AllowAdoption = from == v1alpha1.FromAll
				})
				edit(ctx, b.group, groupAllows(from))
			}
			b.undisturbed(ctx, func() {
				allowAll(v1alpha1.FromAll)
				eventuallyReady(ctx, inGroup, group)
				Expect(eventuallyDegraded(ctx, adopts, v1alpha1.ReasonConflict)).NotTo(ContainSubstring(b.ns))
			})
			Expect(on(inGroup).ID).NotTo(Equal(b.kept.Status.ChannelID))
			hook := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.ns, Name: b.kept.WebhookSecretName()}}
			Expect(refetch(hook)(ctx)).To(holdURLOf(hooks(inGroup)[0]),
				"the Secret should have the webhook of the tenant's own channel")

			By("withdrawing the grants, and deleting the tenant's objects")
			b.undisturbed(ctx, func() {
				allowAll(v1alpha1.FromSame)
				eventuallyNotAllowed(ctx, inGroup, adopts, group)
				deleteAndWait(ctx, inGroup, adopts, group, server)
			})
			Expect(b.idsNamed("alerts")).To(ConsistOf(b.kept.Status.ChannelID))
		})
	})

// Serial, because beside nine other processes the specs would make too few edits to use up the
// tenant's share of the bot's calls.
var _ = Describe("A tenant that edits all its channels every second", Serial, func() {
	const (
		// perSecond is Discord's limit for the bot. The edits use up the tenant's share even on a
		// slow machine, and the rest is enough for the other tenants.
		perSecond = 30
		share     = perSecond / 2
		edits     = share - share/5 // the rest of the share is for creates and deletes
		looped    = 2 * perSecond   // number of channels of the tenant, all edited every second
	)

	It("takes at most half of the calls that Discord allows the bot, "+
		"and delays no other tenant", func(ctx context.Context) {
		l := discordtest.NoRateLimits()
		l.Global = discordtest.Rate{N: perSecond, Per: time.Second}
		anotherDiscord(ctx, discordtest.Options{Limits: l}, "--discord-calls-per-second="+strconv.Itoa(perSecond))
		b := newResident(ctx)
		a, other := b.newTenant(ctx, nil), b.newTenant(ctx, nil)
		edit(ctx, b.server, serverAllows(v1alpha1.FromAll))
		var channels []client.Object
		for i := range looped {
			channels = append(channels, a.channel("", fmt.Sprintf("loop-%d", i)))
		}
		ready(ctx, channels...)
		waits := heldBack(ctx, "global")
		var end func()
		b.undisturbed(ctx, func() {
			going := context.WithoutCancel(ctx) // ctx ends before end is called
			seconds := 0
			_, end = everySecond(func() {
				seconds++
				for _, c := range channels {
					edit(going, c.DeepCopyObject().(*v1alpha1.DiscordChannel), slowmode(seconds))
				}
			})
			DeferCleanup(end)
			Eventually(ctx, func() int { return busiestSecond(b.changesBy(a.ns)) }).
				Should(BeNumerically(">=", edits), "the edits should use up the tenant's share")
			Eventually(ctx, func() int { return heldBack(ctx, "tenant") }).Should(BeNumerically(">", 0))
			ready(ctx, other.channel("", "other", withWebhook))
		})
		end()
		Expect(heldBack(ctx, "global")).To(Equal(waits), "the edits should not use up Discord's limit")
		Expect(busiestSecond(b.changesBy(a.ns))).To(BeNumerically("<=", share))
		eventuallyReady(ctx, channels...)
	})
})

func (w *world) changesBy(namespace string) (times []time.Time) {
	for _, r := range discord.RequestsOf(w.bot.UserID) {
		if reason, _ := url.PathUnescape(r.Header.Get("X-Audit-Log-Reason")); strings.Contains(reason, " "+namespace+"/") {
			times = append(times, r.Time)
		}
	}
	return times
}

func busiestSecond(times []time.Time) (most int) {
	first := 0
	for i, t := range times {
		for t.Sub(times[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// heldBack returns how many calls the operator itself has delayed for a rate limit with this scope.
func heldBack(ctx context.Context, scope string) int {
	GinkgoHelper()
	series := fmt.Sprintf(`(?m)^discord_rate_limited_total\{origin="local",scope=%q\} (\d+)$`, scope)
	found := regexp.MustCompile(series).FindStringSubmatch(scrape(ctx))
	Expect(found).NotTo(BeNil(), "the series should exist from the start")
	n, err := strconv.Atoi(found[1])
	Expect(err).NotTo(HaveOccurred())
	return n
}

// forgery returns a Secret of almost 1 MiB with the labels and owner references of a real Secret.
func forgery(of *corev1.Secret, namespace, name string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: of.Labels,
		OwnerReferences: of.OwnerReferences}}
	s.Annotations = map[string]string{"example.org/forged": strings.Repeat("f", 200<<10)}
	s.StringData = map[string]string{"url": "https://example.org", "filling": strings.Repeat("f", 700<<10)}
	return s
}
