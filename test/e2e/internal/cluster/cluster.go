// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/e2e/internal/images"
	"jutsu.com/operators/test/e2e/internal/node"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/manifests"
)

//go:embed dns.yaml
var dns []byte

// DefaultPostgres configures CloudNativePG to use the Postgres image of the cluster's registry.
//
//go:embed postgres.yaml
var DefaultPostgres []byte

// Cluster runs until Stop, or until the program that started it ends, even by SIGKILL.
type Cluster struct {
	// Control is the control plane.
	Control *testcluster.Cluster

	registry *images.Registry
	node     *node.Node
	storage  func() // stops the provisioner of the storage class
}

// Start returns when pods can run in the cluster. The first start builds and installs missing
// parts, which takes up to half an hour.
func Start(ctx context.Context, progress io.Writer) (*Cluster, error) {
	if err := Unsupported(); err != nil {
		return nil, err
	}
	if err := installPackages(ctx, progress); err != nil {
		return nil, err
	}
	c := &Cluster{}
	if err := c.start(ctx, progress); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, progress io.Writer) (err error) {
	c.Control, err = testcluster.Start(ctx, testcluster.Options{
		ControllerManager: true, Scheduler: true, Audit: true, Address: node.Gateway, Progress: progress,
	})
	if err != nil {
		return err
	}
	if c.registry, err = images.StartRegistry(ctx, filepath.Join(c.Control.Dir(), "registry")); err != nil {
		return err
	}
	if err := c.fillRegistry(ctx, progress); err != nil {
		return err
	}
	began := time.Now()
	if c.node, err = node.Start(ctx, c.Control, c.registry.Address(node.Gateway), progress); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(progress, "the node is ready after %.1f s\n", time.Since(began).Seconds())
	return c.setUp(ctx)
}

func (c *Cluster) fillRegistry(ctx context.Context, progress io.Writer) error {
	began := time.Now()
	all, err := pinned(ctx, c.Control.Dir(), progress)
	if err != nil {
		return err
	}
	for _, image := range all {
		if _, err := image.Push(c.Registry()); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(progress, "the registry has %d images after %.1f s\n", len(all), time.Since(began).Seconds())
	return nil
}

func (c *Cluster) setUp(ctx context.Context) error {
	ctx = klog.NewContext(ctx, logr.Discard()) // discards the provisioner's log
	typed, err := kubernetes.NewForConfig(c.Control.Config())
	if err != nil {
		return err
	}
	if c.storage, err = provideStorage(ctx, typed, c.node.Volumes()); err != nil {
		return err
	}
	admin, err := client.New(c.Control.Config(), client.Options{})
	if err != nil {
		return err
	}
	return manifests.ApplyTexts(ctx, admin, dns, DefaultPostgres)
}

// Registry returns the address (host:port) of the registry from which the node pulls all images.
func (c *Cluster) Registry() string { return c.registry.Address("127.0.0.1") }

// KillPod kills all processes of a pod at once, as the OOM killer does.
func (c *Cluster) KillPod(uid types.UID) error { return c.node.KillPod(uid) }

// KeepLogs copies all logs to folder.
func (c *Cluster) KeepLogs(folder string) error {
	return errors.Join(c.Control.KeepLogs(folder), c.node.KeepLogs(folder))
}

// Stop removes the cluster from the machine, except installed packages and caches.
func (c *Cluster) Stop() error {
	var errs []error
	if c.storage != nil {
		c.storage()
	}
	if c.node != nil {
		errs = append(errs, c.node.Stop())
	}
	if c.Control != nil {
		errs = append(errs, c.Control.Stop())
	}
	if c.registry != nil {
		errs = append(errs, c.registry.Stop())
	}
	return errors.Join(errs...)
}
