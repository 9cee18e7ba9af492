// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"jutsu.com/operators/test/testcluster/binaries"
	"jutsu.com/operators/test/testcluster/internal/progress"
	"jutsu.com/operators/test/testcluster/process"
	"jutsu.com/operators/test/testcluster/project"
)

// Options configure a cluster. The zero value starts etcd and the
// API server. That suffices for custom resources, RBAC, admission
// and server-side apply, but no controller acts on created objects.
type Options struct {
	// ControllerManager adds kube-controller-manager with its usual controllers (Deployments,
	// garbage collection, namespaces, quota, autoscaling between min and max, disruption budgets,
	// endpoints, ServiceAccounts ...).
	ControllerManager bool
	// Scheduler adds kube-scheduler.
	Scheduler bool
	// Nodes is the number of fake nodes, node-0 and up, in three zones. If it
	// is more than 0, Scheduler and kwok run too. kwok runs no containers, and
	// reports pods on these nodes as running and ready at once. Pods with an
	// image from a registry under the domain .invalid stay in ImagePullBackOff.
	Nodes int
	// Address is an IPv4 address of this machine at which real nodes and their pods reach the API
	// server. With an Address, the API server listens on all addresses, and the Service
	// `kubernetes` leads to the API server. The API server contacts kubelets (logs, exec,
	// port-forward) at their InternalIP. Without an Address, the API server listens only on
	// 127.0.0.1.
	Address string
	// CRDs are files or folders with CustomResourceDefinitions.
	// The API server serves them when Start returns.
	CRDs []string
	// Audit makes the API server log every request; see Cluster.AuditLog.
	Audit bool
	// APIServerArgs are additional flags of kube-apiserver. They override the flags that the
	// cluster sets.
	APIServerArgs []string
	// Progress receives lines of text. If nil, only downloads, builds and unexpected ends of
	// components are reported, on os.Stderr.
	Progress io.Writer
}

// Cluster is a running Kubernetes API. It is safe for concurrent use.
type Cluster struct {
	options Options
	dir     string
	ca      *authority
	admin   *rest.Config
	client  kubernetes.Interface
	scrape  *http.Client // trusts the cluster's certificates, and sends no credentials

	reaper                 *process.Reaper
	apiPort, schedulerPort *port

	mu         sync.Mutex // guards the state of the components
	components map[string]*component
	stop       func() error
}

// Start downloads or builds missing binaries, starts a cluster and returns when everything is
// ready. The context bounds only the start: the cluster runs until Stop or the end of this process.
// After a failed Start nothing runs, and the error has the last log lines of the component that
// failed.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o.Progress = progress.Synchronized(o.Progress)
	paths, err := binaries.Locate(ctx, o.Progress, o.components()...)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(o, paths)
	if err != nil {
		return nil, fmt.Errorf("testcluster: %w", err)
	}
	if err := c.start(ctx); err != nil {
		err = errors.Join(fmt.Errorf("testcluster: %w", err), c.keepLogsOfFailure())
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func newCluster(o Options, paths map[string]string) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "testcluster-")
	if err != nil {
		return nil, err
	}
	reaper, err := process.NewReaper(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	if socket := filepath.Join(dir, etcdSocket); len(socket) > maxSocketPath {
		return nil, errors.Join(fmt.Errorf("%s is too long for the path of a Unix socket, at most %d characters; "+
			"set TMPDIR to a folder with a shorter path", socket, maxSocketPath), reaper.Clean())
	}
	c := &Cluster{options: o, dir: dir, reaper: reaper, components: map[string]*component{}}
	c.stop = sync.OnceValue(c.end)
	if err := c.prepare(paths); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) prepare(paths map[string]string) (err error) {
	if c.apiPort, err = reservePort(); err != nil {
		return err
	}
	if c.schedulerPort, err = reservePort(); err != nil {
		return err
	}
	if err := c.writeFiles(); err != nil {
		return err
	}
	if c.client, err = kubernetes.NewForConfig(c.admin); err != nil {
		return err
	}
	if c.scrape, err = rest.HTTPClientFor(rest.AnonymousClientConfig(c.admin)); err != nil {
		return err
	}
	for name, path := range paths {
		c.components[name] = &component{
			name: name, bin: path, args: c.args(name), dir: c.dir, log: c.file(filepath.Join("logs", name+".log")),
			ready: c.probe(name), reaper: c.reaper, died: func(err error) { c.warn("%v", err) },
		}
	}
	return nil
}

// start starts etcd, then the API server, then everything else concurrently. It creates
// CustomResourceDefinitions before it starts kube-controller-manager, because the garbage collector
// looks for new kinds only every 30 seconds.
func (c *Cluster) start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := c.options.components()
	for _, name := range names[:2] {
		if err := c.run(ctx, name); err != nil {
			return err
		}
	}
	if err := c.installCRDs(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range names[2:] {
		group.Go(func() error { return c.run(ctx, name) })
	}
	group.Go(func() error { return c.createNodes(ctx) })
	return group.Wait()
}

func (c *Cluster) run(ctx context.Context, name string) error {
	began := time.Now()
	if err := c.components[name].start(ctx); err != nil {
		return err
	}
	progress.Say(c.options.Progress, "%s is ready after %v", name, time.Since(began).Round(10*time.Millisecond))
	return nil
}

// crdTimeout bounds the time until a CustomResourceDefinition
// is served, which usually takes half a second.
const crdTimeout = 30 * time.Second

func (c *Cluster) installCRDs() error {
	if len(c.options.CRDs) == 0 {
		return nil
	}
	_, err := envtest.InstallCRDs(c.Config(), envtest.CRDInstallOptions{
		Paths: c.options.CRDs, ErrorIfPathMissing: true, MaxTime: crdTimeout, PollInterval: probeInterval,
	})
	if err != nil {
		return fmt.Errorf("install CustomResourceDefinitions: %w", err)
	}
	return nil
}

// Dir returns the cluster's folder: kubeconfigs, certificates, etcd's data, and the components'
// logs in logs/NAME.log. The folder is removed with the cluster.
func (c *Cluster) Dir() string { return c.dir }

// AuditLog returns the path of the API server's audit log, which exists with Options.Audit. Each
// line is one audit.k8s.io/v1 Event of the level Metadata, at the stage ResponseStarted or
// ResponseComplete. The log omits health checks.
func (c *Cluster) AuditLog() string { return c.file(filepath.Join("logs", "audit.log")) }

// Kill ends a component as a crash does. The component stays down until Restart. Kill does nothing
// if the component does not run.
func (c *Cluster) Kill(component string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kill(component)
}

func (c *Cluster) kill(component string) error {
	running, ok := c.components[component]
	if !ok {
		return fmt.Errorf("testcluster: this cluster has no %q; it has %v", component, c.options.components())
	}
	running.kill()
	return nil
}

// Restart kills a component that still runs. It then starts the component with the same data and
// port, and waits until the component is ready.
func (c *Cluster) Restart(ctx context.Context, component string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.kill(component); err != nil {
		return err
	}
	return c.run(ctx, component)
}

// KeepLogs copies the components' logs and the audit log into a folder that outlives the cluster.
func (c *Cluster) KeepLogs(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	logs, err := filepath.Glob(c.file("logs/*.log"))
	if err != nil {
		return err
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(log)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// keepLogsOfFailure copies the logs to out/testcluster of the project. Outside of the project it
// does nothing.
func (c *Cluster) keepLogsOfFailure() error {
	dir, err := project.Path("out", "testcluster", filepath.Base(c.dir))
	if err != nil {
		return nil //nolint:nilerr // the caller reports the failed start
	}
	if err := c.KeepLogs(dir); err != nil {
		return fmt.Errorf("keep the logs: %w", err)
	}
	return fmt.Errorf("all logs are in %s", dir)
}

// Stop ends the cluster and removes its folder. Further calls only return the same result.
func (c *Cluster) Stop() error { return c.stop() }

// end closes the pipe of the reaper, which then kills the components and removes the folder. A
// cluster therefore ends in the same way with Stop and with a crash of this process.
func (c *Cluster) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, running := range c.components {
		running.expected.Store(true)
	}
	err := c.reaper.Clean()
	for _, running := range c.components {
		if running.process != nil {
			<-running.process.Exited()
		}
	}
	for _, port := range []*port{c.apiPort, c.schedulerPort} {
		if port != nil {
			port.release()
		}
	}
	return err
}

// warn prints a line even if Options.Progress is nil.
func (c *Cluster) warn(format string, args ...any) {
	var to io.Writer = os.Stderr
	if c.options.Progress != nil {
		to = c.options.Progress
	}
	progress.Say(to, format, args...)
}
