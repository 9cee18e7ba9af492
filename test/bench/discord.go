package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/test/internal/operator"
)

const (
	// perGroup is how many channels a group has; Discord allows 50.
	perGroup = 48
	// hooked says which channels have a webhook: every fifth.
	hooked = 5
	// drifts is how many channels are renamed by hand, one after the other.
	drifts = 100
)

// simulated is the Discord that the operator works on: in memory, in this process, with the limit over all calls (50 per second) and without
// those of single routes, which Discord does not publish.
type simulated struct {
	*discordtest.Server
	bot   discordtest.Bot
	guild string
}

func simulate() (*simulated, error) {
	limits := discordtest.NoRateLimits()
	limits.Global = discordtest.DefaultLimits().Global
	d := &simulated{Server: discordtest.New(discordtest.Options{Limits: limits})}
	if err := d.Start(); err != nil {
		return nil, err
	}
	d.bot = d.AddBot(discordtest.Bot{Name: "bench"})
	d.guild = d.AddGuild(discordtest.GuildSpec{Name: "Bench"}).ID
	d.AddMember(d.guild, d.bot.UserID, discordtest.Permissions(discordclient.PermissionsOverwrites))
	return d, nil
}

// discord creates a server, its groups and all channels at once, and looks at what that costs, at the peace afterwards, at repairs, and at a restart.
func (b *bench) discord(ctx context.Context, s *stage) error {
	d, err := simulate()
	if err != nil {
		return err
	}
	defer d.Close()
	s.args = append(s.args, "--discord-api-url="+d.APIURL())
	process, err := s.startOperator(ctx)
	if err != nil {
		return err
	}
	if err := s.awaitLeader(ctx, ""); err != nil {
		return err
	}
	if err := b.loadDiscord(ctx, s, d); err != nil {
		return err
	}
	b.addMemory("discord", process)
	before := d.calls()
	if err := b.idleness(ctx, s, "discord", "idle: "); err != nil {
		return err
	}
	b.report.add("discord", "idle: calls to Discord", float64(d.calls()-before)/b.idle.Hours(), "per hour")
	if err := b.drift(ctx, d); err != nil {
		return err
	}
	return b.restartDiscord(ctx, s, d, process)
}

func (d *simulated) calls() int {
	all := 0
	for _, n := range d.RequestCounts() {
		all += n
	}
	return all
}

func (b *bench) loadDiscord(ctx context.Context, s *stage, d *simulated) error {
	b.say("discord: creating %d channels", b.channels)
	groups := (b.channels + perGroup - 1) / perGroup
	watch, err := newStopwatch(ctx, s, &v1alpha1.DiscordChannel{}, b.channels, channelReady)
	if err != nil {
		return err
	}
	moment := time.Now()
	parents := []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "discord-bot"}, StringData: map[string]string{"token": d.bot.Token}},
		&v1alpha1.DiscordServer{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bench"},
			Spec:       v1alpha1.DiscordServerSpec{TokenSecretRef: v1alpha1.TokenSecretReference{Name: "discord-bot"}, ServerID: d.guild},
		},
	}
	for i := range groups {
		parents = append(parents, &v1alpha1.DiscordGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("group-%d", i)},
			Spec:       v1alpha1.DiscordGroupSpec{ServerRef: v1alpha1.ServerReference{Name: "bench"}, Name: fmt.Sprintf("Group %d", i)},
		})
	}
	for _, o := range parents {
		if err := s.admin.Create(ctx, o); err != nil {
			return err
		}
	}
	began, err := createAll(ctx, b.channels, func(ctx context.Context, i int) (string, error) {
		c := channel(i)
		return c.Name, s.admin.Create(ctx, c)
	})
	if err != nil {
		return err
	}
	done, err := watch.await(ctx)
	if err != nil {
		return err
	}
	b.report.addSpread("discord", "channel created to Ready", spreadOf(began, done))
	if err := s.awaitQuiet(ctx, b.quiet); err != nil {
		return err
	}
	return b.addDiscordCosts(s, d, moment)
}

// addDiscordCosts reports what was asked of Discord and of the API server since the moment. What is needed once (the Gateway, who the bot is)
// and for the groups is not counted as the channels'.
func (b *bench) addDiscordCosts(s *stage, d *simulated, moment time.Time) error {
	counts := d.RequestCounts()
	groups := (b.channels + perGroup - 1) / perGroup
	var hooks, creates, others int
	for route, n := range counts {
		switch route {
		case "POST /guilds/{guild_id}/channels":
			creates = n - groups
		case "POST /channels/{channel_id}/webhooks":
			hooks = n
		default:
			others += n
			b.report.add("discord", "other calls to Discord: "+route, float64(n), "in all")
		}
	}
	b.report.add("discord", "calls to Discord per channel", float64(creates+hooks)/float64(b.channels), "a fifth have a webhook: the least is 1.2")
	requests, err := s.audit.since(moment)
	if err != nil {
		return err
	}
	t := count(slices.DeleteFunc(requests, func(r *request) bool {
		return !strings.HasPrefix(r.resource(), "discordchannels") && r.Object.Resource != "secrets"
	}))
	each := func(name string, n int) { b.report.add("discord", name, float64(n)/float64(b.channels), "per channel") }
	each("intents (finalizers)", t.byClass[classIntent])
	each("status writes", t.byClass[classStatus])
	each("Secrets written", t.byClass[classChild])
	b.report.add("discord", "writes that change nothing", float64(t.noops), "in all")
	b.report.add("discord", "writes that are refused", float64(t.refused), "in all")
	return nil
}

// drift renames channels by hand, one after the other, and sees how soon each has its name again.
func (b *bench) drift(ctx context.Context, d *simulated) error {
	b.say("discord: renaming channels by hand")
	var took []float64
	for _, c := range d.Guild(d.guild).Channels {
		if c.Type != discordtest.TypeText || len(took) == drifts {
			continue
		}
		began := time.Now()
		d.EditChannelByHand(c.ID, func(c *discordtest.Channel) { c.Name = "drifted" })
		if err := until(ctx, func() (bool, error) {
			now, there := d.Channel(c.ID)
			return there && now.Name == c.Name, nil
		}); err != nil {
			return fmt.Errorf("the repair of #%s: %w", c.Name, err)
		}
		took = append(took, time.Since(began).Seconds())
	}
	b.report.add("discord", "drift to repair by event, p50", quantile(took, 0.5)*1000, "ms")
	b.report.add("discord", "drift to repair by event, p99", quantile(took, 0.99)*1000, "ms")
	return nil
}

// restartDiscord stops the operator and starts it again: nothing has changed, so nothing is to be written.
func (b *bench) restartDiscord(ctx context.Context, s *stage, d *simulated, process *operator.Process) error {
	if err := s.awaitQuiet(ctx, b.quiet); err != nil {
		return err
	}
	if err := process.Stop(grace); err != nil {
		return err
	}
	before, moment := d.RequestCounts(), time.Now()
	if _, err := s.startOperator(ctx); err != nil {
		return err
	}
	if err := s.awaitQuiet(ctx, b.quiet); err != nil {
		return err
	}
	requests, err := s.audit.since(moment)
	if err != nil {
		return err
	}
	t := count(requests)
	b.report.add("discord", "restart: writes", float64(t.byClass[classStatus]+t.byClass[classIntent]+t.byClass[classChild]), "in all")
	after := d.RequestCounts()
	for _, route := range slices.Sorted(maps.Keys(after)) {
		if n := after[route] - before[route]; n > 0 {
			b.report.add("discord", "restart: calls to Discord: "+route, float64(n), "in all")
		}
	}
	return nil
}

func channel(i int) *v1alpha1.DiscordChannel {
	c := &v1alpha1.DiscordChannel{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("channel-%03d", i)},
		Spec: v1alpha1.DiscordChannelSpec{
			Name: fmt.Sprintf("channel-%03d", i), GroupRef: &v1alpha1.GroupReference{Name: fmt.Sprintf("group-%d", i/perGroup)},
		},
	}
	if i%hooked == 0 {
		c.Spec.Webhook = &v1alpha1.ChannelWebhook{Name: "alertmanager"}
	}
	return c
}

// channelReady reports whether a channel is Ready as its spec is now.
func channelReady(o client.Object) bool {
	c := o.(*v1alpha1.DiscordChannel)
	return c.Status.ObservedGeneration == c.Generation && meta.IsStatusConditionTrue(c.Status.Conditions, conditions.Ready)
}
