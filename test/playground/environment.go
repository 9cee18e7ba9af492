package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/libs/testcluster/cnpgtest"
	"jutsu.com/operators/test/internal/manifests"
	"jutsu.com/operators/test/internal/operator"
	"jutsu.com/operators/test/internal/project"
)

const (
	samples = "deploy/samples"
	// grace is a little more than the operator allows itself (--shutdown-timeout).
	grace = 12 * time.Second
)

// shown are the kinds of objects in the table, in this order. Any kind with the four conditions fits.
var shown = []schema.GroupVersionKind{
	{Group: "core.jutsu.com", Version: "v1", Kind: "Dojo"},
}

// environment is everything that runs.
type environment struct {
	cluster       *testcluster.Cluster
	admin         client.Client
	cloudNativePG *cnpgtest.StandIn
	operator      *operator.Process
}

// start brings up the cluster, the operator and the samples, and tells on out how far it is. Whatever it has started before an
// error is gone when it returns.
func start(ctx context.Context, o *options, out *os.File) (*environment, error) {
	e := &environment{}
	if err := e.start(ctx, o, out); err != nil {
		return nil, errors.Join(err, e.stop())
	}
	return e, nil
}

func (e *environment) start(ctx context.Context, o *options, out *os.File) error {
	if _, err := operator.Dojo.Binary(); err != nil {
		return err
	}
	say(out, "Starting Kubernetes with %d fake nodes ...", o.nodes)
	if err := e.startCluster(ctx, o, out); err != nil {
		return err
	}
	say(out, standInNote)
	var err error
	if e.cloudNativePG, err = playCloudNativePG(context.WithoutCancel(ctx), e.cluster.Config()); err != nil {
		return err
	}
	say(out, "Installing %s and starting the operator ...", operator.Dojo.Base())
	if err := e.startOperator(ctx); err != nil {
		return err
	}
	say(out, "Applying %s ...", samples)
	if err := e.applySamples(ctx); err != nil {
		return err
	}
	say(out, "")
	return nil
}

func (e *environment) startCluster(ctx context.Context, o *options, out *os.File) (err error) {
	crds, err := operator.Dojo.CRDs()
	if err != nil {
		return err
	}
	postgres, err := testcluster.CloudNativePGCRDs(ctx)
	if err != nil {
		return err
	}
	e.cluster, err = testcluster.Start(ctx, testcluster.Options{
		ControllerManager: true, Nodes: o.nodes, CRDs: []string{crds, postgres}, Progress: out,
	})
	if err != nil {
		return err
	}
	e.admin, err = client.New(e.cluster.Config(), client.Options{})
	return err
}

func (e *environment) startOperator(ctx context.Context) error {
	if err := operator.Dojo.Install(ctx, e.cluster.Config()); err != nil {
		return err
	}
	run := fmt.Sprintf("%s-%d", time.Now().Format("20060102-150405"), os.Getpid()) // two may run at once
	log, err := project.Path("out", "playground", run, operator.Dojo.Name+".log")
	if err != nil {
		return err
	}
	if e.operator, err = operator.Dojo.Start(ctx, e.cluster, log, "--zap-encoder=console", "--zap-time-encoding=iso8601"); err != nil {
		return err
	}
	return e.operator.AwaitReady(ctx)
}

func (e *environment) applySamples(ctx context.Context) error {
	objects, err := manifests.Render(samples)
	if err != nil {
		return err
	}
	return manifests.Apply(ctx, e.admin, objects)
}

// look reads how all shown objects are.
func (e *environment) look(ctx context.Context) ([]row, error) {
	var rows []row
	for _, kind := range shown {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		if err := e.admin.List(ctx, &list); err != nil {
			return nil, fmt.Errorf("list %s objects: %w", kind.Kind, err)
		}
		for i := range list.Items {
			rows = append(rows, rowOf(&list.Items[i]))
		}
	}
	return rows, nil
}

// facts are what a person needs to try things.
func (e *environment) facts() (facts, error) {
	sample, err := project.Path(postgresSample)
	return facts{kubeconfig: e.cluster.Kubeconfig(), metricsURL: e.operator.MetricsURL(), log: e.operator.Log(), sample: sample}, err
}

// ended reports whether the operator has ended by itself.
func (e *environment) ended() bool {
	select {
	case <-e.operator.Exited():
		return true
	default:
		return false
	}
}

// stop ends what was started: the operator first, so that it can still give up its lease.
func (e *environment) stop() error {
	var errs []error
	if e.operator != nil {
		errs = append(errs, e.operator.Stop(grace))
	}
	if e.cloudNativePG != nil {
		e.cloudNativePG.Stop()
	}
	if e.cluster != nil {
		errs = append(errs, e.cluster.Stop())
	}
	return errors.Join(errs...)
}
