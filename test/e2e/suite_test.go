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

// Environment variables. Without any nothing runs.
const (
	// wanted says that the specs are to run, on a cluster that they start and remove.
	wanted = "E2E"
	// kubeconfigFile names a cluster to run on instead; what is installed on it stays.
	kubeconfigFile = "E2E_KUBECONFIG"
	// registryAddress (host:port or host/path) is where that cluster pulls images from and where
	// this machine can push to.
	registryAddress = "E2E_REGISTRY"
)

const (
	// soon is for what happens in seconds; generous, since the machine may be busy.
	soon = time.Minute
	// eventually is for what takes several pods to start one after the other.
	eventually = 4 * time.Minute
	// installing is for everything before the first spec, with nothing built yet.
	installing = 45 * time.Minute
	// longest is of what takes longest of all that runs in parallel, and so begins first: an alert.
	longest = SpecPriority(1)
)

var (
	config         *rest.Config
	kubeconfigPath string // what config was read from
	k8s            client.Client
	typed          *kubernetes.Clientset
	installed      *Stack

	// own and standing are those of the first process, which alone runs the specs that are marked
	// Serial.
	own      *cluster.Cluster // nil where the cluster is a user's
	standing *world
)

func TestEndToEnd(t *testing.T) {
	if os.Getenv(wanted) == "" && os.Getenv(kubeconfigFile) == "" {
		t.Skipf("end-to-end specs take a real node: run make e2e, or name a cluster in %s", kubeconfigFile)
	}
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // client-go's: a port-forward whose connection ends says so as an error
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	SetDefaultConsistentlyDuration(3 * time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "end to end")
}

// found is what the first process hands to the others.
type found struct {
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
	standing = newWorld(ctx, "standing")
	standing.begin(ctx)
	text, err := json.Marshal(found{kubeconfig, installed})
	Expect(err).NotTo(HaveOccurred())
	return text
}, func(text []byte) {
	var first found
	Expect(json.Unmarshal(text, &first)).To(Succeed())
	connect(first.Kubeconfig)
	if installed == nil {
		installed = first.Installed
	}
}, NodeTimeout(installing))

// findCluster starts a cluster, or takes the one that is named, and returns the registry for
// images.
func findCluster(ctx context.Context) (kubeconfig, registry string) {
	if kubeconfig = os.Getenv(kubeconfigFile); kubeconfig != "" {
		registry = os.Getenv(registryAddress)
		Expect(registry).NotTo(BeEmpty(), "%s has to say where the cluster of %s pulls images from", registryAddress,
			kubeconfigFile)
		return kubeconfig, registry
	}
	if err := cluster.Possible(); err != nil {
		Skip(fmt.Sprintf("end-to-end specs are skipped: %v. Name a cluster in %s to run them there.", err, kubeconfigFile))
	}
	var err error
	own, err = cluster.Start(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(own.Stop()).To(Succeed())
		Expect(cluster.Traces(ctx)).To(BeEmpty(), "what is left on the machine")
	}, NodeTimeout(eventually))
	return own.Control.Kubeconfig(), own.Registry()
}

// connect makes the clients.
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

// progress is printed for users who wait.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
