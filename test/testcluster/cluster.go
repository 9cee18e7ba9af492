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

// Options configure a cluster. The zero value starts only etcd and the API server.
type Options struct {
	// ControllerManager adds kube-controller-manager. Autoscalers get no metrics.
	ControllerManager bool

	Scheduler bool
	// Nodes is the number of fake nodes, in three zones. It also adds Scheduler and kwok, which
	// reports pods as ready at once, except pods with an image from a registry under .invalid.
	Nodes int
	// Address is an IPv4 address of this machine for real nodes and pods. With an Address, the API
	// server listens on all addresses, otherwise only on 127.0.0.1.
	Address string
	// CRDs are files or folders with CustomResourceDefinitions, which Start installs.
	CRDs []string

	Audit bool
	// APIServerArgs are additional flags of kube-apiserver, which override the cluster's flags.
	APIServerArgs []string
	// Progress receives messages. If nil, os.Stderr gets only downloads, builds and crashes.
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

// Start downloads or builds missing binaries, starts a cluster and waits until it is ready. The
// context bounds only the start. The cluster runs until Stop or the end of this process.
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

// start creates CustomResourceDefinitions before kube-controller-manager starts, because the
// garbage collector looks for new kinds only every 30 seconds.
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

// crdTimeout bounds the time until a CustomResourceDefinition is served, usually half a second.
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

// Dir returns the cluster's folder with kubeconfigs, certificates, etcd's data and logs/NAME.log.
func (c *Cluster) Dir() string { return c.dir }

// AuditLog returns the path of the audit log (Options.Audit). Each line is an audit.k8s.io/v1
// Event of the level Metadata, at any stage except RequestReceived.
func (c *Cluster) AuditLog() string { return c.file(filepath.Join("logs", "audit.log")) }

// Kill ends a component as a crash does. Only Restart starts the component again. If the component
// does not run, Kill does nothing.
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

// Restart kills and starts a component with the same data and port, and waits until it is ready.
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

// Reaper returns the cluster's reaper. A process that is started with it ends with the cluster,
// also after a crash of this program.
func (c *Cluster) Reaper() *process.Reaper { return c.reaper }

// Stop ends the cluster and removes its folder. Further calls return the same result.
func (c *Cluster) Stop() error { return c.stop() }

// end lets the reaper kill the components and remove the folder, as after a crash of this process.
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

func (c *Cluster) warn(format string, args ...any) {
	var to io.Writer = os.Stderr
	if c.options.Progress != nil {
		to = c.options.Progress
	}
	progress.Say(to, format, args...)
}
