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

// The operator is built with the race detector, and runs with the settings of deploy/. Each process
// of the test runner has its own cluster, Discord and operator.
const (
	// soon is the time limit for an immediate action of the operator on a busy machine.
	soon = 30 * time.Second
	// recoveryWait is longer than the delay of the simulated Discord's audit log.
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

var _ = SynchronizedBeforeSuite(operator.Build, func(ctx context.Context, path []byte) {
	// The API server has the admission plugin OwnerReferencesPermissionEnforcement, so the operator
	// needs the permission that this component adds.
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

// limits returns Discord's rate limits without the limit of identify calls, because the operator
// starts often.
func limits() *discordtest.Limits {
	l := discordtest.DefaultLimits()
	l.Identify = discordtest.Rate{}
	return l
}

func flagsFor(d *discordtest.Server) []string {
	return []string{"--discord-api-url=" + d.APIURL(), "--recovery-wait=" + recoveryWait.String()}
}

// anotherDiscord restarts the operator with another simulated Discord and further flags, until the
// end of the spec, or of the container if BeforeAll is the caller.
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
