package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/libs/testcluster/cnpgtest"
	"jutsu.com/operators/libs/testcluster/manifests"
	"jutsu.com/operators/test/internal/discord"
	"jutsu.com/operators/test/internal/operator"
	"jutsu.com/operators/test/internal/project"
)

// grace is a little more than an operator allows itself (--shutdown-timeout).
const grace = 12 * time.Second

var (
	// operators are those that run.
	operators = operator.All
	// samples are the folders that are applied.
	samples = []string{"deploy/samples", "deploy/samples/discord"}
	// shown are the kinds of objects in the table, in this order. Any kind with the four conditions fits.
	shown = append([]schema.GroupVersionKind{{Group: "core.jutsu.com", Version: "v1", Kind: "Dojo"}}, discordKinds...)
)

// environment is everything that runs.
type environment struct {
	options   *options
	logs      string // folder
	objects   []*unstructured.Unstructured
	cluster   *testcluster.Cluster
	admin     client.Client
	simulator *discord.Server // nil for a real Discord
	postgres  *cnpgtest.StandIn
	operators []*operator.Process
	died      chan error // tells of every process that has ended
}

// start brings up the cluster, Discord, the operators and the samples, and tells on out how far it is. Whatever it has started before an
// error is gone when it returns.
func start(ctx context.Context, o *options, out *os.File) (*environment, error) {
	e := &environment{options: o, operators: make([]*operator.Process, len(operators)), died: make(chan error, len(operators)+1)}
	if err := e.start(ctx, out); err != nil {
		return nil, errors.Join(unlessInterrupted(ctx, err), e.stop(out))
	}
	return e, nil
}

func (e *environment) start(ctx context.Context, out *os.File) (err error) {
	for _, o := range operators {
		if _, err := o.Binary(); err != nil {
			return err
		}
	}
	run := fmt.Sprintf("%s-%d", time.Now().Format("20060102-150405"), os.Getpid()) // two may run at once
	if e.logs, err = project.Path("out", "playground", run); err != nil {
		return err
	}
	for _, folder := range samples {
		path, err := project.Path(folder)
		if err != nil {
			return err
		}
		rendered, err := manifests.Render(path)
		if err != nil {
			return err
		}
		e.objects = append(e.objects, rendered...)
	}
	say(out, "Starting Kubernetes with %d fake nodes, and %s ...", e.options.nodes, e.options.whichDiscord())
	begin, starting := errgroup.WithContext(ctx)
	begin.Go(func() error { return e.startCluster(starting, out) })
	begin.Go(func() error { return e.startDiscord(starting) })
	if err := begin.Wait(); err != nil {
		return err
	}
	say(out, standInNote)
	if e.postgres, err = playCloudNativePG(context.WithoutCancel(ctx), e.cluster.Config()); err != nil {
		return err
	}
	say(out, "Installing and starting the operators of %s and %s ...", operator.Dojo.Base(), operator.Discord.Base())
	if err := e.startOperators(ctx); err != nil {
		return err
	}
	say(out, "Applying %s and %s ...", samples[0], samples[1])
	if err := e.applySamples(ctx); err != nil {
		return err
	}
	say(out, "\nDiscord: %s", e.whereDiscordIs())
	say(out, "")
	return nil
}

func (e *environment) startCluster(ctx context.Context, out *os.File) error {
	postgres, err := testcluster.CloudNativePGCRDs(ctx)
	if err != nil {
		return err
	}
	prometheus, err := testcluster.PrometheusOperatorCRDs(ctx)
	if err != nil {
		return err
	}
	crds := []string{postgres, prometheus}
	for _, o := range operators {
		folder, err := o.CRDs()
		if err != nil {
			return err
		}
		crds = append(crds, folder)
	}
	cluster, err := testcluster.Start(ctx, testcluster.Options{ControllerManager: true, Nodes: e.options.nodes, CRDs: crds, Progress: out})
	if err != nil {
		return err
	}
	e.cluster = cluster
	e.admin, err = client.New(cluster.Config(), client.Options{})
	return err
}

// startOperators starts all of them at the same time.
func (e *environment) startOperators(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, o := range operators {
		group.Go(func() error {
			if err := o.Install(ctx, e.cluster.Config()); err != nil {
				return err
			}
			args := []string{"--zap-encoder=console", "--zap-time-encoding=iso8601"}
			if o == operator.Discord {
				args = append(args, e.discordFlags()...)
			}
			p, err := o.Start(ctx, e.cluster, filepath.Join(e.logs, o.Name+".log"), args...)
			if err != nil {
				return err
			}
			e.operators[i] = p
			e.watch(p.Exited(), p.Err)
			return p.AwaitReady(ctx)
		})
	}
	return group.Wait()
}

// watch tells died when a process ends.
func (e *environment) watch(exited <-chan struct{}, how func() error) {
	go func() {
		<-exited
		e.died <- how()
	}()
}

// applySamples applies both kinds of samples at the same time.
func (e *environment) applySamples(ctx context.Context) error {
	objects, err := withBot(e.objects, e.bot())
	if err != nil {
		return err
	}
	return manifests.Apply(ctx, e.admin, objects)
}

// look reads how all shown objects are.
func (e *environment) look(ctx context.Context) ([]row, error) {
	var rows []row
	for _, kind := range shown {
		objects, err := e.list(ctx, kind)
		if err != nil {
			return nil, err
		}
		for i := range objects {
			rows = append(rows, rowOf(&objects[i]))
		}
	}
	return rows, nil
}

func (e *environment) list(ctx context.Context, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(kind)
	if err := e.admin.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list %s objects: %w", kind.Kind, err)
	}
	return list.Items, nil
}

// tails are the last lines of the operators' logs.
func (e *environment) tails() string {
	var text strings.Builder
	for _, p := range e.operators {
		_, _ = fmt.Fprintf(&text, "\nthe last lines of %s:\n%s", p.Log(), p.Tail())
	}
	return text.String()
}

// facts are what a person needs to try things.
func (e *environment) facts() facts {
	sample, _ := project.Path(postgresSample) // it was applied
	f := facts{kubeconfig: e.cluster.Kubeconfig(), sample: sample, server: e.discordFacts()}
	for i, of := range []*operatorFacts{&f.dojo, &f.discord} {
		binary, _ := operators[i].Binary() // it runs
		*of = operatorFacts{binary: binary, metricsURL: e.operators[i].MetricsURL(), log: e.operators[i].Log()}
	}
	return f
}

// process is nil for an operator that was not started.
func (e *environment) process(o operator.Operator) *operator.Process {
	return e.operators[slices.Index(operators, o)]
}

// exitedOperator is closed when an operator has ended; it is nil, which waits for ever, for one that was not started.
func (e *environment) exitedOperator(o operator.Operator) <-chan struct{} {
	if p := e.process(o); p != nil {
		return p.Exited()
	}
	return nil
}

// stop ends what was started: what is on a real Discord first, then the operators, so that they can still give up their leases.
func (e *environment) stop(out *os.File) error {
	errs := []error{e.leaveDiscord(out)}
	var ending errgroup.Group
	for _, p := range e.operators {
		if p != nil {
			ending.Go(func() error { return p.Stop(grace) })
		}
	}
	errs = append(errs, ending.Wait())
	if e.simulator != nil {
		errs = append(errs, e.simulator.Stop(grace))
	}
	if e.postgres != nil {
		e.postgres.Stop()
	}
	if e.cluster != nil {
		errs = append(errs, e.cluster.KeepLogs(filepath.Join(e.logs, "kubernetes")), e.cluster.Stop())
	}
	return errors.Join(errs...)
}
