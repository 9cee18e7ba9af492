// SPDX-License-Identifier: Apache-2.0

// Package spec runs an operator in ginkgo specs as in production: the real binary is a process with
// the ServiceAccount, permissions, arguments and environment of deploy/. An error in a function of
// this package fails the running spec.
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
	soon = 30 * time.Second
	// startLimit allows for two slow cores, on which a start took 24 s until the first log line.
	startLimit = 2 * time.Minute
	// bound limits a spec that has no SpecTimeout.
	bound = 10 * time.Minute
	// With this admission plugin, a client may set blockOwnerDeletion only if the client may update
	// the finalizers of the owner.
	enforceOwnerReferences = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
)

// A spec without a SpecTimeout gets the limit bound. If a spec exceeds its limit, ginkgo prints the
// stacks. The suite has no limit, because its duration depends on the machine.
var _ = ginkgo.AddTreeConstructionNodeArgsTransformer(
	func(node types.NodeType, _ ginkgo.Offset, text string, args []any) (string, []any, []error) {
		isBound := func(arg any) bool { _, ok := arg.(ginkgo.SpecTimeout); return ok }
		if node == types.NodeTypeIt && !slices.ContainsFunc(args, isBound) {
			args = append(args, ginkgo.SpecTimeout(bound))
		}
		return text, args, nil
	})

// Operator is an operator under test. A suite sets the embedded field and Plugins before Build,
// and Flags before Start.
type Operator struct {
	environment.Operator

	// Plugins are main packages in the operator's folder cmd.
	Plugins []string

	// Env is the environment. Its API server writes an audit log.
	Env *environment.Environment
	// Cluster is the cluster of Env, and Client is a client of its administrator.
	Cluster *testcluster.Cluster
	Client  client.Client
	// Binary is the operator's binary, built with the race detector.
	Binary string
	// Flags follow the flags of the Deployment. If a flag is repeated, its last value applies.
	Flags []string

	built    map[string]string // maps the name of a binary to its path
	process  *Process
	requests requests
	proven   rbacusage.Set
}

// RunSpecs runs the specs of the suite.
func (o *Operator) RunSpecs(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ctrl.SetLogger(ginkgo.GinkgoLogr)
	gomega.SetDefaultEventuallyTimeout(soon)
	gomega.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	gomega.SetDefaultConsistentlyDuration(time.Second)
	// The default of 10 ms would cause 400 requests per second from four test processes.
	gomega.SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	gomega.EnforceDefaultTimeoutsWhenUsingContexts()
	ginkgo.RunSpecs(t, o.Name)
}

// Build builds the operator and its plugins, and returns their paths, one per line.
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

// Plugin returns the path of a plugin that Build has built.
func (o *Operator) Plugin(name string) string { return o.built[name] }

// Begin starts the environment of this test process and installs the operator.
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
	if err := os.Remove(o.LogFile()); !errors.Is(err, os.ErrNotExist) { // remove the log of an earlier run
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
	}
}

func (o *Operator) folder() string {
	ginkgo.GinkgoHelper()
	folder, err := project.Path("out", o.Name)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return folder
}

func (o *Operator) file(format string) string {
	return fmt.Sprintf(format, ginkgo.GinkgoParallelProcess())
}

// LogFile returns the path of the common log of all operator processes of this test process.
func (o *Operator) LogFile() string { return filepath.Join(o.folder(), o.file("operator-%d.log")) }

// Process is one process of the operator.
type Process struct {
	*environment.Process
	changed bool // whether Start or Restart got flags
}

// Process returns the process that was started last.
func (o *Operator) Process() *Process { return o.process }

// Start starts a process with additional flags and waits until it is ready. It does not stop other
// processes.
func (o *Operator) Start(ctx context.Context, flags ...string) {
	ginkgo.GinkgoHelper()
	if o.process == nil || !o.process.Running() {
		o.dropLease(ctx)
	}
	// A busy operator can miss the default deadlines of its Lease. With the level debug, specs also
	// find secrets in debug messages.
	started, err := o.Env.StartOperator(ctx, o.Operator, o.file("operator-%d.log"), slices.Concat([]string{
		"--lease-duration=2m", "--lease-renew-deadline=1m", "--shutdown-timeout=25s", "--zap-log-level=debug",
	}, o.Flags, flags)...)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	o.process = &Process{Process: started, changed: len(flags) > 0}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	gomega.Expect(started.AwaitReady(ctx)).To(gomega.Succeed())
}

// Stop ends the process with SIGTERM, and expects neither an error nor a data race.
func (p *Process) Stop() {
	ginkgo.GinkgoHelper()
	gomega.Expect(p.Process.Stop(soon)).To(gomega.Succeed())
	gomega.Expect(p.ExitCode()).To(gomega.BeZero(), func() string {
		return "the operator should end on SIGTERM without an error or a data race: " + p.Err().Error()
	})
}

// Stop ends the current process with SIGTERM.
func (o *Operator) Stop() {
	ginkgo.GinkgoHelper()
	o.process.Stop()
}

// Kill kills the current process and deletes its Lease, so that the next process leads at once.
func (o *Operator) Kill(ctx context.Context) {
	ginkgo.GinkgoHelper()
	o.process.Kill()
	o.dropLease(ctx)
}

// Restart restarts the process with additional flags. At the end of the spec, it restarts the
// process without these flags.
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

// Guard fails a spec in which the operator ended, and starts a new process for the next spec.
// Call Guard at package level, like Describe.
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

// dropLease deletes the Lease. client-go does not release the Lease if the process crashes, or if
// the process ends while it acquires the Lease.
func (o *Operator) dropLease(ctx context.Context) {
	ginkgo.GinkgoHelper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Lease}}
	gomega.Expect(client.IgnoreNotFound(o.Client.Delete(ctx, lease))).To(gomega.Succeed())
}

// Leader returns the holder identity of the Lease, or "".
func (o *Operator) Leader(ctx context.Context) (string, error) {
	return o.Operator.Leader(ctx, o.Client)
}

// Scrape reads the operator's metrics. If token is empty, the request has no token.
func (o *Operator) Scrape(ctx context.Context, token string) (code int, text string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() (err error) { // retries, because metrics are served a moment after readiness
		code, text, err = o.process.Scrape(ctx, token)
		return err
	}).WithTimeout(soon).Should(gomega.Succeed())
	return code, text
}
