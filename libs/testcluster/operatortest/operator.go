// Package operatortest runs an operator in ginkgo specs as production does: the real binary as a process of its own, as the ServiceAccount, with the
// permissions, the arguments and the environment that deploy/ gives it, against a testcluster. What goes wrong fails the spec that runs.
package operatortest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/libs/testcluster/manifests"
	"jutsu.com/operators/libs/testcluster/rbacusage"
)

// Operator is an operator under test. Its specs declare one, with the first three fields, and set the others before they start it.
type Operator struct {
	// Name is the name of its Deployment, of its ServiceAccount, of its ClusterRole and of its user agent.
	Name string
	// Namespace is where it is deployed.
	Namespace string
	// Lease is the name of the Lease that its leader holds.
	Lease string

	// Binary is the path of its executable, built with the race detector.
	Binary string
	// Overlay is the folder of the kustomization that says how it is deployed.
	Overlay string
	// Cluster is where it works; its API server keeps an audit log.
	Cluster *testcluster.Cluster
	// Client is an administrator of the cluster.
	Client client.Client
	// Flags are arguments behind those of production; of a flag given twice the last counts.
	Flags []string
	// Folder is where logs are left.
	Folder string

	deployed []*unstructured.Unstructured
	process  *Process
	requests requests
	proven   rbacusage.Set
}

// Install applies what Overlay renders, except the kinds, which the cluster has, and the Deployment: Start runs it as a process instead.
func (o *Operator) Install(ctx context.Context) {
	ginkgo.GinkgoHelper()
	var err error
	o.deployed, err = manifests.Render(o.Overlay)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	objects := manifests.Without(o.deployed, "CustomResourceDefinition", "Deployment", "PodDisruptionBudget")
	gomega.Expect(manifests.Apply(ctx, o.Client, objects)).To(gomega.Succeed())
}

// LogFile is where the operator's processes of this process of the test runner log.
func (o *Operator) LogFile() string {
	return filepath.Join(o.Folder, fmt.Sprintf("operator-%d.log", ginkgo.GinkgoParallelProcess()))
}

// Process is the one that was started last.
func (o *Operator) Process() *Process { return o.process }

// Start starts a process with further flags, and waits until it is ready, which does not mean that it leads. One that runs already goes on: keep its Process
// to end it.
func (o *Operator) Start(ctx context.Context, flags ...string) {
	ginkgo.GinkgoHelper()
	production, err := manifests.CommandOf(o.deployed, o.Name)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	kubeconfig, err := o.Cluster.ServiceAccountKubeconfig(ctx, o.Namespace, o.Name)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	p := &Process{metrics: freeAddress(ctx), probes: freeAddress(ctx), log: o.openLog(), changed: len(flags) > 0}
	// What differs: the cluster is reached from outside, several operators share a machine, which may be too busy for ten seconds to renew a lease
	// or to end a pass, and the log tells all, so that a secret in it would be found.
	command := exec.Command(o.Binary, slices.Concat(production.Args, []string{
		"--kubeconfig=" + kubeconfig, "--leader-election-namespace=" + o.Namespace, "--lease-duration=2m", "--lease-renew-deadline=1m", "--shutdown-timeout=25s",
		"--metrics-bind-address=" + p.metrics, "--health-probe-bind-address=" + p.probes, "--zap-log-level=debug",
	}, o.Flags, flags)...)
	command.Env = slices.Concat(os.Environ(), production.Env, []string{"GORACE=halt_on_error=1"})
	p.start(ctx, command)
	o.process = p
}

// openLog opens the log, which is emptied for the first process and goes on for the others.
func (o *Operator) openLog() *os.File {
	ginkgo.GinkgoHelper()
	gomega.Expect(os.MkdirAll(o.Folder, 0o755)).To(gomega.Succeed())
	mode := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if o.process == nil {
		mode |= os.O_TRUNC
	}
	log, err := os.OpenFile(o.LogFile(), mode, 0o644)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return log
}

// Stop ends the operator as Kubernetes does and expects it to leave in peace.
func (o *Operator) Stop() {
	ginkgo.GinkgoHelper()
	o.process.Stop()
}

// Kill ends the operator as a crash does, but that the next one need not wait until its lease runs out.
func (o *Operator) Kill(ctx context.Context) {
	ginkgo.GinkgoHelper()
	o.process.kill()
	o.dropLease(ctx)
}

// Restart ends the operator in peace and starts it again. Further flags are for this spec: the next has an operator without them.
func (o *Operator) Restart(ctx context.Context, flags ...string) {
	ginkgo.GinkgoHelper()
	o.process.Stop()
	o.Start(ctx, flags...)
	if len(flags) > 0 {
		ginkgo.DeferCleanup(func(ctx context.Context) {
			if o.process.changed {
				o.Restart(ctx)
			}
		})
	}
}

// Guard makes an operator that ends by itself fail the spec in which it does, and none of those that come after: the next has a new one. Of a spec that
// fails the cluster's logs are kept in Folder. It is called where containers are declared.
func (o *Operator) Guard() bool {
	ginkgo.AfterEach(func() {
		if o.process.ended() {
			ginkgo.Fail(o.process.obituary())
		}
	})
	ginkgo.ReportAfterEach(func(report ginkgo.SpecReport) {
		if report.Failed() && o.Cluster != nil {
			folder := filepath.Join(o.Folder, fmt.Sprintf("kubernetes-%d", ginkgo.GinkgoParallelProcess()))
			gomega.Expect(o.Cluster.KeepLogs(folder)).To(gomega.Succeed())
		}
	})
	return ginkgo.BeforeEach(func(ctx context.Context) {
		if o.process.ended() {
			o.dropLease(ctx)
			o.Start(ctx)
		}
	})
}

// dropLease takes the lease from a process that is gone without giving it back.
func (o *Operator) dropLease(ctx context.Context) {
	ginkgo.GinkgoHelper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Lease}}
	gomega.Expect(client.IgnoreNotFound(o.Client.Delete(ctx, lease))).To(gomega.Succeed())
}

// Leader is the identity that holds the lease; empty where nobody does.
func (o *Operator) Leader(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	err := o.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Lease}, lease)
	if lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, err
}

func freeAddress(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	address, err := testcluster.FreeAddress(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return address
}
