// SPDX-License-Identifier: Apache-2.0

// Package spec runs an operator in ginkgo specs as production does: the real binary as a process of
// its own, as the ServiceAccount, with the permissions, the arguments and the environment that
// deploy/ gives it, in an environment. What goes wrong fails the spec that runs.
package spec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/project"
	"jutsu.com/operators/test/testcluster/rbacusage"
)

const (
	// soon is for what an operator does at once. It is long, since the machine may be busy.
	soon = 30 * time.Second
	// bound limits a spec, with all that comes before and after it. Each wait has a bound
	// of its own and few seconds are usual, so that no machine is slow enough to exceed this one.
	bound = 10 * time.Minute
	// enforceOwnerReferences makes the API server as strict as some clusters are: a client that
	// sets blockOwnerDeletion needs the permission to update the finalizers of the owner.
	enforceOwnerReferences = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
)

// Each spec of the suite is bounded on its own, since how long a suite takes depends on the machine. A
// spec that may take longer has a SpecTimeout. What exceeds it fails with the stacks of where it hangs.
var _ = ginkgo.AddTreeConstructionNodeArgsTransformer(
	func(node types.NodeType, _ ginkgo.Offset, text string, args []any) (string, []any, []error) {
		isBound := func(arg any) bool { _, ok := arg.(ginkgo.SpecTimeout); return ok }
		if node == types.NodeTypeIt && !slices.ContainsFunc(args, isBound) {
			args = append(args, ginkgo.SpecTimeout(bound))
		}
		return text, args, nil
	})

// Operator is an operator under test. Its suite declares one, with the first field alone.
type Operator struct {
	environment.Operator

	// Plugins are names of main packages in its folder cmd, which Build builds too.
	Plugins []string

	// What follows is there after Begin.

	// Env is where it works; its API server keeps an audit log.
	Env *environment.Environment
	// Cluster and Client, an administrator, are those of Env.
	Cluster *testcluster.Cluster
	Client  client.Client
	// Binary is the path of its executable, built with the race detector.
	Binary string
	// Flags are arguments behind those of production; of a flag given twice the last counts.
	Flags []string

	built    map[string]string // path by name
	process  *Process
	requests requests
	proven   rbacusage.Set
}

// RunSpecs runs the suite.
func (o *Operator) RunSpecs(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ctrl.SetLogger(ginkgo.GinkgoLogr)
	gomega.SetDefaultEventuallyTimeout(soon)
	gomega.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	gomega.SetDefaultConsistentlyDuration(time.Second)
	// Gomega's own 10 ms would have four processes ask the API server 400 times a second.
	gomega.SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	gomega.EnforceDefaultTimeoutsWhenUsingContexts()
	ginkgo.RunSpecs(t, o.Name)
}

// Build builds the operator and its plugins of kubectl, once for all processes of the test runner, and
// returns their paths, one per line.
func (o *Operator) Build() []byte {
	var paths []string
	for _, name := range append([]string{o.Name}, o.Plugins...) {
		path, err := gexec.Build("jutsu.com/operators/"+o.Name+"/cmd/"+name, "-race")
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		paths = append(paths, path)
	}
	ginkgo.DeferCleanup(gexec.CleanupBuildArtifacts)
	return []byte(strings.Join(paths, "\n"))
}

// Plugin returns the path of a plugin of kubectl that Build has built.
func (o *Operator) Plugin(name string) string { return o.built[name] }

// Begin puts up the environment of this process of the test runner, with the operator installed as
// for production and not started yet. It ends with the suite.
func (o *Operator) Begin(ctx context.Context, paths []byte, options environment.Options) {
	ginkgo.GinkgoHelper()
	o.built = map[string]string{}
	for path := range strings.SplitSeq(string(paths), "\n") {
		o.built[filepath.Base(path)] = path
	}
	o.Binary = o.built[o.Name]
	options.Operators, options.Overlay, options.Deployed = []environment.Operator{o.Operator}, "overlays/production", true
	options.Binary, options.Folder = o.Binary, o.folder()
	options.Cluster.Audit, options.Cluster.Progress = true, ginkgo.GinkgoWriter
	options.Cluster.APIServerArgs = append(options.Cluster.APIServerArgs, enforceOwnerReferences)
	var err error
	o.Env, err = environment.Start(ctx, options)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(func() { gomega.Expect(o.Env.Stop()).To(gomega.Succeed()) })
	o.Cluster, o.Client = o.Env.Cluster, o.Env.Admin
	if err := os.Remove(o.LogFile()); !errors.Is(err, os.ErrNotExist) { // of an earlier run
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
	}
}

// folder is where logs are left.
func (o *Operator) folder() string {
	ginkgo.GinkgoHelper()
	folder, err := project.Path("out", o.Name)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return folder
}

// file is a file in that folder, of this process of the test runner.
func (o *Operator) file(format string) string {
	return fmt.Sprintf(format, ginkgo.GinkgoParallelProcess())
}

// LogFile is where the operator's processes of this process of the test runner log.
func (o *Operator) LogFile() string { return filepath.Join(o.folder(), o.file("operator-%d.log")) }

// Process is one process of an operator.
type Process struct {
	*environment.Process
	changed bool // it has other flags than usual
}

// Process is the one that was started last.
func (o *Operator) Process() *Process { return o.process }

// Start starts a process with further flags, and waits until it is ready, which does not mean that
// it leads. One that runs already continues: keep its Process to end it.
func (o *Operator) Start(ctx context.Context, flags ...string) {
	ginkgo.GinkgoHelper()
	if o.process == nil || !o.process.Running() {
		o.dropLease(ctx)
	}
	// What differs from production: several operators share a machine, which may be too busy for
	// ten seconds to renew a lease or to end a reconcile, and the log is verbose, so that a secret
	// in it would be found.
	started, err := o.Env.StartOperator(ctx, o.Operator, o.file("operator-%d.log"), slices.Concat([]string{
		"--lease-duration=2m", "--lease-renew-deadline=1m", "--shutdown-timeout=25s", "--zap-log-level=debug",
	}, o.Flags, flags)...)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	o.process = &Process{Process: started, changed: len(flags) > 0}
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	gomega.Expect(started.AwaitReady(ctx)).To(gomega.Succeed())
}

// Stop ends the process as Kubernetes does and expects it to end without an error or a data race.
func (p *Process) Stop() {
	ginkgo.GinkgoHelper()
	gomega.Expect(p.Process.Stop(soon)).To(gomega.Succeed())
	gomega.Expect(p.ExitCode()).To(gomega.BeZero(), func() string {
		return "the operator should end on SIGTERM without an error or a data race: " + p.Err().Error()
	})
}

// Stop ends the operator as Kubernetes does.
func (o *Operator) Stop() {
	ginkgo.GinkgoHelper()
	o.process.Stop()
}

// Kill ends the operator as a crash does, but that the next one need not wait until its lease
// expires.
func (o *Operator) Kill(ctx context.Context) {
	ginkgo.GinkgoHelper()
	o.process.Kill()
	o.dropLease(ctx)
}

// Restart stops the operator and starts it again. Further flags are for this spec: the next has an
// operator without them.
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

// Guard makes an operator that ends by itself fail the spec in which it does, and none of those
// that come after: the next has a new one. Of a spec that fails the cluster's logs are kept. It is
// called where containers are declared.
func (o *Operator) Guard() bool {
	ginkgo.AfterEach(func() {
		if !o.process.Running() {
			ginkgo.Fail(o.process.Err().Error())
		}
	})
	ginkgo.ReportAfterEach(func(report ginkgo.SpecReport) {
		if report.Failed() && o.Cluster != nil {
			gomega.Expect(o.Cluster.KeepLogs(filepath.Join(o.folder(), o.file("kubernetes-%d")))).To(gomega.Succeed())
		}
	})
	return ginkgo.BeforeEach(func(ctx context.Context) {
		if !o.process.Running() {
			o.Start(ctx)
		}
	})
}

// dropLease takes the lease from a process that is gone without releasing it: one that crashed, or
// that was stopped while it acquired the lease, since client-go releases only what it knows to have.
func (o *Operator) dropLease(ctx context.Context) {
	ginkgo.GinkgoHelper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Lease}}
	gomega.Expect(client.IgnoreNotFound(o.Client.Delete(ctx, lease))).To(gomega.Succeed())
}

// Leader is the identity that holds the lease; empty where none does.
func (o *Operator) Leader(ctx context.Context) (string, error) {
	return o.Operator.Leader(ctx, o.Client)
}

// Scrape reads the operator's metrics with a token, or without any where it is empty.
func (o *Operator) Scrape(ctx context.Context, token string) (code int, text string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() (err error) { // they are served a moment after the probes
		code, text, err = o.process.Scrape(ctx, token)
		return err
	}).WithTimeout(soon).Should(gomega.Succeed())
	return code, text
}
