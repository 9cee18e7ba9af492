package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/testcluster"
)

// The specs drive the operator's real binary, built with the race detector, as the ServiceAccount and with the permissions
// that deploy/ gives it, against a real Kubernetes API and a faithful Discord in memory. Each process of the test runner has a
// cluster, a Discord and an operator of its own; each spec has a namespace, a bot and a guild of its own.
const (
	deployFolder = "../deploy/discord-operator"
	// soon is for what the operator does at once; generous, since the machine may be busy.
	soon = 30 * time.Second
	// recoveryWait is short enough to be waited for, and longer than the audit log of the simulated Discord lags.
	recoveryWait = 2 * time.Second
)

var (
	cluster  *testcluster.Cluster
	k8s      client.Client
	discord  *discordtest.Server
	binary   string
	operator *operatorProcess
)

func TestDiscordOperator(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "discord-operator")
}

// The operator is built once for all processes of the test runner.
var _ = SynchronizedBeforeSuite(func() []byte {
	path, err := gexec.Build("jutsu.com/operators/discord-operator", "-race")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)
	return []byte(path)
}, func(ctx context.Context, path []byte) {
	binary = string(path)
	var err error
	discord = discordtest.New(discordtest.Options{Limits: limits(), KeepRequests: 1_000_000})
	Expect(discord.Start()).To(Succeed())
	DeferCleanup(discord.Close)

	// Nothing here needs Kubernetes' own controllers: a webhook's Secret is expected to name its owner, which is all that the
	// garbage collector goes by.
	cluster, err = testcluster.Start(ctx, testcluster.Options{Audit: true, CRDs: []string{deployFolder + "/crds"}, Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })

	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	k8s, err = client.New(cluster.Config(), client.Options{Scheme: scheme, FieldValidation: metav1.FieldValidationStrict})
	Expect(err).NotTo(HaveOccurred())

	install(ctx, "namespace.yaml", "service_account.yaml", "role.yaml", "role_binding.yaml", "metrics_reader.yaml")
	operator = startOperator(ctx)
	DeferCleanup(func() {
		operator.stop()
		expectNoSecretTold()
	})
})

var _ = ReportAfterSuite("keep what explains a failure", func(report Report) {
	if !report.SuiteSucceeded && cluster != nil {
		_, _ = fmt.Fprintln(os.Stderr, "the operator's log: "+operatorLog())
	}
})

// limits are Discord's own, except that a bot may come back at once: the operator is started often here.
func limits() *discordtest.Limits {
	l := discordtest.DefaultLimits()
	l.Identify = discordtest.Rate{}
	return l
}

// install creates the objects of deploy/discord-operator/base that the operator needs when it runs outside the cluster.
func install(ctx context.Context, files ...string) {
	GinkgoHelper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(deployFolder, "base", file))
		Expect(err).NotTo(HaveOccurred())
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			for _, o := range []client.Object{
				&corev1.Namespace{}, &corev1.ServiceAccount{}, &rbacv1.ClusterRole{}, &rbacv1.Role{}, &rbacv1.ClusterRoleBinding{}, &rbacv1.RoleBinding{},
			} {
				kind := fmt.Sprintf("%T", o)
				if !strings.Contains(document, "\nkind: "+kind[strings.LastIndex(kind, ".")+1:]+"\n") {
					continue
				}
				Expect(yaml.Unmarshal([]byte(document), o)).To(Succeed())
				Expect(k8s.Create(ctx, o)).To(Succeed())
			}
		}
	}
}
