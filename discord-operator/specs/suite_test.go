// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/environment/spec"
	"jutsu.com/operators/test/testcluster"
)

// The specs run the operator's real binary, built with the race detector, with the ServiceAccount,
// permissions, arguments and environment of deploy/. It runs against a real Kubernetes API and a
// simulated Discord. Each process of the test runner has its own cluster, Discord and operator;
// each spec has its own namespace, bot and guild.
const (
	// soon is the timeout for actions that the operator takes immediately. It is long, because the
	// machine may be busy.
	soon = 30 * time.Second
	// recoveryWait is the operator's --recovery-wait: short, but longer than the delay of the
	// simulated Discord's audit log.
	recoveryWait = 2 * time.Second
)

var (
	cluster  *testcluster.Cluster
	k8s      client.Client
	discord  *discordtest.Server
	operator = &spec.Operator{Operator: environment.Discord, Plugins: []string{"kubectl-discord"}}
)

func TestDiscordOperator(t *testing.T) { operator.RunSpecs(t) }

var (
	_ = operator.Guard()
	_ = operator.UsesItsPermissions()
)

// One process builds the operator for all processes of the test runner.
var _ = SynchronizedBeforeSuite(operator.Build, func(ctx context.Context, path []byte) {
	// The specs need none of Kubernetes' own controllers: they check that a webhook's Secret has an
	// owner reference, which is enough for the garbage collector.
	operator.Begin(ctx, path, environment.Options{Discord: startDiscord, Components: []string{"owner-references-permission-enforcement"}})
	cluster, k8s = operator.Cluster, operator.Client
	operator.Flags = flagsFor(discord)
	operator.Start(ctx)
	DeferCleanup(func() {
		operator.Stop()
		secrets.ExpectNotLogged(operator)
	})
})

func startDiscord(context.Context) (environment.DiscordAPI, error) {
	discord = discordtest.New(discordtest.Options{Limits: limits(), KeepRequests: 1_000_000})
	err := discord.Start()
	return discord, err
}

// limits returns Discord's limits without the limit of identify calls, because the operator starts
// often.
func limits() *discordtest.Limits {
	l := discordtest.DefaultLimits()
	l.Identify = discordtest.Rate{}
	return l
}

func flagsFor(d *discordtest.Server) []string {
	return []string{"--discord-api-url=" + d.APIURL(), "--recovery-wait=" + recoveryWait.String()}
}

// anotherDiscord restarts the operator with another simulated Discord and further flags, until the
// end of the spec. If BeforeAll calls anotherDiscord, the other Discord and the flags stay until
// the end of the container's last spec. Guilds that newWorld creates after this call are on the new
// Discord.
func anotherDiscord(ctx context.Context, o discordtest.Options, flags ...string) {
	GinkgoHelper()
	before := discord
	discord = discordtest.New(o)
	Expect(discord.Start()).To(Succeed())
	operator.Flags = append(flagsFor(discord), flags...)
	DeferCleanup(func(ctx context.Context) {
		operator.Flags = flagsFor(before)
		operator.Restart(ctx)
		discord.Close()
		discord = before
	})
	operator.Restart(ctx)
}
