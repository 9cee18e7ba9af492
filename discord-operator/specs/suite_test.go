package specs_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/libs/testcluster/operatortest"
)

// The specs run the operator's real binary, built with the race detector, as the ServiceAccount and
// with the permissions, arguments and environment of deploy/ for production, on a real Kubernetes
// API and a simulated Discord. Each process of the test runner has a cluster, a Discord and an
// operator of its own; each spec has a namespace, a bot and a guild of its own.
const (
	deployFolder = "../../deploy/discord-operator"
	// enforceOwnerReferences makes the API server as strict as some clusters are: a client that
	// sets blockOwnerDeletion needs the permission to update the finalizers of the owner.
	enforceOwnerReferences = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
	// soon is for what the operator does at once. It is long, since the machine may be busy.
	soon = 30 * time.Second
	// recoveryWait is short, but longer than the delay of the simulated Discord's audit log.
	recoveryWait = 2 * time.Second
)

var (
	cluster  *testcluster.Cluster
	k8s      client.Client
	discord  *discordtest.Server
	operator = &operatortest.Operator{
		Name: "discord-operator", Namespace: "discord-system", Lease: "discord-operator.discord.jutsu.com",
		Overlay: deployFolder + "/overlays/production", Folder: "../../out/discord-operator",
	}
)

func TestDiscordOperator(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "discord-operator")
}

var (
	_ = operator.Guard()
	_ = operator.UsesItsPermissions()
)

// The operator is built once for all processes of the test runner.
var _ = SynchronizedBeforeSuite(func() []byte {
	path, err := gexec.Build("jutsu.com/operators/discord-operator", "-race")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)
	return []byte(path)
}, func(ctx context.Context, path []byte) {
	var err error
	discord = discordtest.New(discordtest.Options{Limits: limits(), KeepRequests: 1_000_000})
	Expect(discord.Start()).To(Succeed())
	DeferCleanup(discord.Close)

	// Nothing here needs Kubernetes' own controllers: a webhook's Secret is expected to have an
	// owner reference, which is all that the garbage collector needs.
	cluster, err = testcluster.Start(ctx, testcluster.Options{
		Audit: true, APIServerArgs: []string{enforceOwnerReferences}, CRDs: []string{deployFolder + "/crds"},
		Progress: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })

	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	k8s, err = client.New(cluster.Config(), client.Options{Scheme: scheme, FieldValidation: metav1.FieldValidationStrict})
	Expect(err).NotTo(HaveOccurred())

	operator.Binary, operator.Cluster, operator.Client = string(path), cluster, k8s
	operator.Flags = flagsFor(discord)
	operator.Install(ctx)
	operator.Start(ctx)
	DeferCleanup(func() {
		operator.Stop()
		secrets.ExpectNotLogged(operator)
	})
})

// limits are Discord's own, except that a bot may identify at once: the operator starts often here.
func limits() *discordtest.Limits {
	l := discordtest.DefaultLimits()
	l.Identify = discordtest.Rate{}
	return l
}

// flagsFor are the arguments with which the operator uses a simulated Discord.
func flagsFor(d *discordtest.Server) []string {
	return []string{"--discord-api-url=" + d.APIURL(), "--recovery-wait=" + recoveryWait.String()}
}

// anotherDiscord restarts the operator with another Discord and further flags, until the spec ends.
// Worlds that are created from now on are there.
func anotherDiscord(ctx context.Context, o discordtest.Options, flags ...string) {
	GinkgoHelper()
	before := discord
	discord = discordtest.New(o)
	Expect(discord.Start()).To(Succeed())
	operator.Flags = flagsFor(discord)
	DeferCleanup(func(ctx context.Context) {
		operator.Flags = flagsFor(before)
		operator.Restart(ctx)
		discord.Close()
		discord = before
	})
	operator.Stop()
	operator.Start(ctx, flags...)
}
