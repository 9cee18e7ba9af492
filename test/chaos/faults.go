// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
)

const operatorSlots = 2 * replicas

func (r *run) killOperator(_ context.Context, a action) (string, error) {
	k := r.replicas[a.slot]
	return k.name, k.signal(syscall.SIGKILL, true)
}

func (r *run) stopOperator(_ context.Context, a action) (string, error) {
	k := r.replicas[a.slot]
	return k.name, k.signal(syscall.SIGTERM, true)
}

// freezeOperator freezes a replica. A leader that is frozen for longer than its Lease then
// continues as if it were still the leader.
func (r *run) freezeOperator(ctx context.Context, a action) (string, error) {
	k, while := r.replicas[a.slot], time.Duration(1+a.random().IntN(7))*time.Second
	if err := k.signal(syscall.SIGSTOP, true); err != nil {
		return "", err
	}
	r.later(ctx, while, func(context.Context) { _ = k.signal(syscall.SIGCONT, true) })
	return fmt.Sprintf("%s for %s", k.name, while), nil
}

// freezeLeaders freezes one replica of each operator for longer than a Lease, and then the other.
// A user deletes channels before a frozen replica continues. So the former leader and the new
// leader both find these channels deleted.
func (r *run) freezeLeaders(ctx context.Context, a action) (string, error) {
	random := a.random()
	first, while := random.IntN(replicas), time.Duration(6000+random.IntN(3000))*time.Millisecond
	r.pending.Go(func() {
		for i := range replicas {
			r.freezeReplicas(ctx, (first+i)%replicas, while, random)
		}
	})
	return fmt.Sprintf("replica %d of both operators for %s, and then the other replica", first+1, while), nil
}

func (r *run) freezeReplicas(ctx context.Context, number int, while time.Duration, random *rand.Rand) {
	frozen := r.replicas[number*len(environment.All) : (number+1)*len(environment.All)]
	for _, k := range frozen {
		_ = k.signal(syscall.SIGSTOP, true) // fails if the process is down
	}
	_ = wait(ctx, while)
	for range 1 + random.IntN(3) {
		if c, err := r.anyChannel(random, false); err == nil {
			r.journal.say("  deleted by hand before replica %d continues: #%s (%s), %v", number+1, c.Name, c.ID,
				r.deleteOnDiscord(c.ID))
		}
	}
	for _, k := range frozen {
		_ = k.signal(syscall.SIGCONT, true)
	}
}

func (r *run) killAPIServer(ctx context.Context, a action) (string, error) {
	r.apiServerKilled = true
	return r.killComponent(ctx, testcluster.APIServer, time.Duration(a.random().IntN(5))*time.Second)
}

func (r *run) killControllers(ctx context.Context, a action) (string, error) {
	return r.killComponent(ctx, testcluster.ControllerManager, time.Duration(a.random().IntN(5))*time.Second)
}

func (r *run) killComponent(ctx context.Context, component string, away time.Duration) (string, error) {
	if err := r.Cluster.Kill(component); err != nil {
		return "", err
	}
	r.later(ctx, away, func(ctx context.Context) {
		for err := r.Cluster.Restart(ctx, component); err != nil &&
			ctx.Err() == nil; err = r.Cluster.Restart(ctx, component) {
			// A restart of the controllers fails while the API server is down.
			r.journal.say("  %s could not be restarted yet: %s", component, firstLine(err.Error()))
			_ = wait(ctx, probeInterval)
		}
	})
	return fmt.Sprintf("for %s", away), nil
}

// 401 and 403 are rare, because the operator waits a minute before it repeats such a call.
var spuriousErrors = discordtest.Weakness{Unauthorized: 0.001, Forbidden: 0.003, ServerErrors: 0.005}

// weaklyConsistent adds two faults to w: for up to two seconds after a write, some reads return the
// former state, or do not find the written channel or webhook.
func weaklyConsistent(w discordtest.Weakness) discordtest.Weakness {
	w.Stale, w.Missing = 0.1, 0.03
	return w
}

var callFaults = []struct {
	name string
	do   discordtest.Action
}{
	{"500 before the execution", discordtest.FailBefore(500)}, {"500 after the execution", discordtest.FailAfter(500)},
	{"502 after the execution", discordtest.FailAfter(502)},
	{"503 before the execution", discordtest.FailBefore(503)},
	{"no answer before the execution", discordtest.DropBefore()},
	{"no answer after the execution", discordtest.DropAfter()},
	{"cut answer", discordtest.CutAnswer(-20)}, {"429", discordtest.RateLimited(time.Second, "user")},
	{"garbage after the execution", garbledSuccess()},
	{"slow", discordtest.Slow(time.Second, time.Second)},
	{"global 429", discordtest.RateLimited(2*time.Second, "global")},
}

// garbledSuccess has the status 200, so the operator can know that the call succeeded.
func garbledSuccess() discordtest.Action {
	a := discordtest.Garbage()
	a.Effect = true
	return a
}

func (r *run) failDiscord(ctx context.Context, a action) (string, error) {
	random := a.random()
	way, part, while := pick(random, callFaults), 0.1+random.Float64()*0.5, time.Duration(2+random.IntN(8))*time.Second
	stop := r.discord.Faults().Add(discordtest.Fault{Rate: part, Action: way.do, Match: r.byBot})
	r.later(ctx, while, func(context.Context) { stop() })
	return fmt.Sprintf("%s, %.0f%% of all calls for %s", way.name, part*100, while), nil
}

func (r *run) byBot(q discordtest.Request) bool { return q.BotID == r.botID }

// loseCreates makes Discord execute the next creates, but drop their responses.
func (r *run) loseCreates(ctx context.Context, a action) (string, error) {
	random := a.random()
	n := 1 + random.IntN(3)
	for _, route := range []string{"POST /guilds/{guild_id}/channels", "POST /guilds/{guild_id}/roles",
		"POST /channels/{channel_id}/webhooks"} {
		stop := r.discord.Faults().Add(
			discordtest.Fault{Route: route, Times: n, Action: discordtest.DropAfter(), Match: r.byBot})
		r.later(ctx, 10*time.Second, func(context.Context) { stop() })
	}
	return fmt.Sprintf("the answers to the next %d", n), nil
}

func (r *run) loseAuditLog(_ context.Context, a action) (string, error) {
	n := 1 + a.random().IntN(3)
	r.discord.Faults().LoseAudit(n)
	return fmt.Sprintf("of the next %d actions", n), nil
}

func (r *run) dropGateway(_ context.Context, a action) (string, error) {
	gateway := r.discord.Gateway()
	end := pick(a.random(), []struct {
		name string
		do   func()
	}{
		{"cut", func() { gateway.Drop(0) }},
		{"closed with 4000", func() { gateway.Drop(4000) }},
		{"asked to reconnect", gateway.Reconnect},
		{"invalid session, resumable", func() { gateway.Invalidate(true) }},
		{"invalid session", func() { gateway.Invalidate(false) }},
	})
	end.do()
	return end.name, nil
}

func (r *run) refuseGateway(ctx context.Context, a action) (string, error) {
	random := a.random()
	while := time.Duration(3+random.IntN(10)) * time.Second
	r.discord.Gateway().SetFaults(pick(random, []discordtest.GatewayFaults{
		{Refuse: true}, {WithholdHello: true}, {InvalidOnIdentify: true}, {Twice: func(string) bool { return true }},
	}))
	r.discord.Gateway().Drop(0)
	r.later(ctx, while, func(context.Context) { r.discord.Gateway().SetFaults(discordtest.GatewayFaults{}) })
	return fmt.Sprintf("for %s", while), nil
}

func (r *run) hideServer(ctx context.Context, a action) (string, error) {
	while := time.Duration(1+a.random().IntN(5)) * time.Second
	r.discord.Gateway().Outage(r.guild, true)
	r.later(ctx, while, func(context.Context) { r.discord.Gateway().Outage(r.guild, false) })
	return fmt.Sprintf("for %s", while), nil
}

func (r *run) takePermission(ctx context.Context, a action) (string, error) {
	random := a.random()
	lost := pick(random, []struct {
		name string
		bit  discordtest.Permissions
	}{
		{"ManageChannels", discordtest.PermManageChannels}, {"ManageWebhooks", discordtest.PermManageWebhooks},
		{"ManageRoles", discordtest.PermManageRoles},
	})
	while := time.Duration(1+random.IntN(6)) * time.Second
	r.discord.SetPermissions(r.guild, r.botID, botPermissions&^lost.bit)
	r.later(ctx, while, func(context.Context) { r.discord.SetPermissions(r.guild, r.botID, botPermissions) })
	return fmt.Sprintf("%s for %s", lost.name, while), nil
}

func (r *run) takeRole(ctx context.Context, a action) (string, error) {
	while := time.Duration(1+a.random().IntN(6)) * time.Second
	role := r.discord.Guild(r.guild).Members[r.botID].Own
	r.discord.TakeRole(r.guild, r.botID, role)
	r.later(ctx, while, func(context.Context) { r.discord.GiveRole(r.guild, r.botID, role) })
	return fmt.Sprintf("for %s", while), nil
}
