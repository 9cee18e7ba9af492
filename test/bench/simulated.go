// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

const (
	// perGroup is Discord's limit of channels per category.
	perGroup = 50
	// perGuild is Discord's limit of channels per guild, categories included.
	perGuild       = 500
	callsPerSecond = 50
)

type crowd struct {
	guilds   int
	channels int // per guild
	bots     int // 1, or one per guild
	webhooks bool
	latency  time.Duration // of every call
}

func (c crowd) String() string {
	text := "without webhooks"
	if c.webhooks {
		text = "with webhooks"
	}
	if c.bots > 1 {
		text += ", a bot each"
	}
	return fmt.Sprintf("%s, %d ms", text, c.latency.Milliseconds())
}

func (c crowd) total() int { return c.guilds * c.channels }

func (c crowd) groups() int { return groupsFor(c.channels) }

func groupsFor(channels int) int { return (channels + perGroup - 1) / perGroup }

func (c crowd) calls() float64 {
	if c.webhooks {
		return 2
	}
	return 1
}

// least returns the shortest possible seconds: a bot makes 50 calls at once, then 50 per second.
func (c crowd) least(calls float64) float64 {
	return max(0, calls/float64(c.bots)/callsPerSecond-1) + c.calls()*c.latency.Seconds()
}

// simulated has only Discord's global rate limit, because Discord does not publish the limits of
// its routes.
type simulated struct {
	*discordtest.Server
	crowd
	bots   []discordtest.Bot
	guilds []string // ids
}

func simulate(c crowd) (*simulated, error) {
	limits := discordtest.NoRateLimits()
	limits.Global = discordtest.Rate{N: callsPerSecond, Per: time.Second}
	d := &simulated{Server: discordtest.New(discordtest.Options{Limits: limits, KeepRequests: 100_000}), crowd: c}
	if err := d.Start(); err != nil {
		return nil, err
	}
	for i := range c.bots {
		d.bots = append(d.bots, d.AddBot(discordtest.Bot{Name: fmt.Sprintf("bench-%d", i)}))
	}
	for i := range c.guilds {
		d.guilds = append(d.guilds, d.AddGuild(discordtest.GuildSpec{Name: fmt.Sprintf("Bench %d", i)}).ID)
		d.AddMember(d.guilds[i], d.bots[i%c.bots].UserID, discordtest.Permissions(discordclient.PermissionsOverwrites))
	}
	if c.latency > 0 {
		d.Faults().Add(discordtest.Fault{Action: discordtest.Slow(c.latency/2, c.latency/2)})
	}
	return d, nil
}

func (d *simulated) parents() []client.Object {
	var all []client.Object
	for i, bot := range d.bots {
		all = append(all, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("bot-%d", i)},
			StringData: map[string]string{"token": bot.Token},
		})
	}
	for i, guild := range d.guilds {
		server := fmt.Sprintf("server-%d", i)
		all = append(all, &v1alpha1.DiscordServer{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: server},
			Spec: v1alpha1.DiscordServerSpec{
				TokenSecretRef: v1alpha1.TokenSecretReference{Name: fmt.Sprintf("bot-%d", i%len(d.bots))}, ServerID: guild,
			},
		})
		for j := range d.groups() {
			all = append(all, &v1alpha1.DiscordGroup{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: groupName(i, j)},
				Spec: v1alpha1.DiscordGroupSpec{ServerRef: v1alpha1.ServerReference{Name: server},
					Name: fmt.Sprintf("Group %d", j)},
			})
		}
	}
	return all
}

func groupName(guild, group int) string { return fmt.Sprintf("group-%d-%d", guild, group) }

// channel returns channel i. Consecutive channels belong to different guilds.
func (c crowd) channel(i int) *v1alpha1.DiscordChannel {
	guild, nth := i%c.guilds, i/c.guilds
	made := &v1alpha1.DiscordChannel{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("channel-%04d", i)},
		Spec: v1alpha1.DiscordChannelSpec{
			Name: fmt.Sprintf("channel-%04d", i), GroupRef: &v1alpha1.GroupReference{Name: groupName(guild, nth/perGroup)},
		},
	}
	if c.webhooks {
		made.Spec.Webhook = &v1alpha1.ChannelWebhook{Name: "alertmanager"}
	}
	return made
}

func channelReady(o client.Object) bool {
	c := o.(*v1alpha1.DiscordChannel)
	return c.Status.ObservedGeneration == c.Generation &&
		meta.IsStatusConditionTrue(c.Status.Conditions, conditions.TypeReady)
}

func (d *simulated) textChannels() []discordtest.Channel {
	var found []discordtest.Channel
	for _, guild := range d.guilds {
		for _, c := range d.Guild(guild).Channels {
			if c.Type == discordtest.TypeText {
				found = append(found, c)
			}
		}
	}
	return found
}

func (d *simulated) callCount() int {
	all := 0
	for _, n := range d.RequestCounts() {
		all += n
	}
	return all
}

func (d *simulated) refused(status int) int {
	n := 0
	for _, r := range d.Requests() {
		if r.Status == status {
			n++
		}
	}
	return n
}

func (d *simulated) repairs(ctx context.Context, channels []discordtest.Channel,
	interval time.Duration) (took []float64) {
	ctx, cancel := context.WithTimeoutCause(ctx, waitLimit, fmt.Errorf("not repaired after %s", waitLimit))
	defer cancel()
	since, next := map[int]time.Time{}, time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for broken := 0; len(took) < len(channels); {
		if broken < len(channels) && !time.Now().Before(next) {
			d.EditChannelByHand(channels[broken].ID, func(c *discordtest.Channel) { c.Name = "drifted" })
			since[broken] = time.Now()
			broken, next = broken+1, next.Add(interval)
		}
		for i, moment := range since {
			if now, there := d.Channel(channels[i].ID); there && now.Name == channels[i].Name {
				took = append(took, time.Since(moment).Seconds())
				delete(since, i)
			}
		}
		select {
		case <-ctx.Done():
			check(context.Cause(ctx))
		case <-tick.C:
		}
	}
	return took
}
