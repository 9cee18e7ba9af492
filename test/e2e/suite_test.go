// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/e2e/internal/cluster"
)

// Environment variables. Specs run only if E2E or E2E_KUBECONFIG is set.
const (
	// enabled runs the specs on a new cluster, and removes the cluster afterwards.
	enabled = "E2E"
	// kubeconfigFile runs the specs on an existing cluster. The installed stack stays there.
	kubeconfigFile = "E2E_KUBECONFIG"
	// registryAddress (host:port or host/path) is the registry of the existing cluster.
	registryAddress = "E2E_REGISTRY"
)

const (
	soon = time.Minute
	// eventually is for several pods that start in succession. If a container keeps exiting, the
	// kubelet waits up to five minutes before it restarts the container (CrashLoopBackOff). So the
	// pods of a Dojo can be that late.
	eventually = 8 * time.Minute
	// installing is for the installation before the first spec, including all builds.
	installing = 45 * time.Minute
	// longest makes ginkgo start the longest parallel specs first.
	longest = SpecPriority(1)
)

var (
	config         *rest.Config
	kubeconfigPath string // kubeconfig file of config
	k8s            client.Client
	typed          *kubernetes.Clientset
	installed      *Stack

	// Only the first test process sets these variables. It also runs the Serial specs.
	ownCluster    *cluster.Cluster // nil on a user's cluster
	standingWorld *world
)

func TestEndToEnd(t *testing.T) {
	if os.Getenv(enabled) == "" && os.Getenv(kubeconfigFile) == "" {
		t.Skipf("end-to-end specs take a real node: run make e2e, or name a cluster in %s", kubeconfigFile)
	}
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // client-go logs the end of a port-forward as an error
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	SetDefaultConsistentlyDuration(3 * time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "end to end")
}

type sharedSetup struct {
	Kubeconfig string
	Installed  *Stack
}

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	began := time.Now()
	kubeconfig, registry := findCluster(ctx)
	connect(kubeconfig)
	var err error
	installed, err = Install(ctx, k8s, registry, GinkgoT().TempDir(), os.Stderr)
	if err != nil {
		reportEvidence(ctx, "install")
	}
	Expect(err).NotTo(HaveOccurred())
	progress("everything is installed and ready, %.0f s after the start", time.Since(began).Seconds())
	standingWorld = newWorld(ctx, "standing")
	standingWorld.createObjects(ctx)
	text, err := json.Marshal(sharedSetup{kubeconfig, installed})
	Expect(err).NotTo(HaveOccurred())
	return text
}, func(text []byte) {
	var first sharedSetup
	Expect(json.Unmarshal(text, &first)).To(Succeed())
	connect(first.Kubeconfig)
	if installed == nil {
		installed = first.Installed
	}
}, NodeTimeout(installing))

func findCluster(ctx context.Context) (kubeconfig, registry string) {
	if kubeconfig = os.Getenv(kubeconfigFile); kubeconfig != "" {
		registry = os.Getenv(registryAddress)
		Expect(registry).NotTo(BeEmpty(), "%s must name the registry of the cluster in %s", registryAddress,
			kubeconfigFile)
		return kubeconfig, registry
	}
	if err := cluster.Unsupported(); err != nil {
		Skip(fmt.Sprintf("end-to-end specs are skipped: %v. Name a cluster in %s to run them there.", err, kubeconfigFile))
	}
	var err error
	ownCluster, err = cluster.Start(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(ownCluster.Stop()).To(Succeed())
		Expect(cluster.Traces(ctx)).To(BeEmpty(), "nothing should be left on the machine")
	}, NodeTimeout(eventually))
	return ownCluster.Control.Kubeconfig(), ownCluster.Registry()
}

func connect(kubeconfig string) {
	var err error
	kubeconfigPath = kubeconfig
	config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(corev1api.AddToScheme(scheme)).To(Succeed())
	k8s, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	typed, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
