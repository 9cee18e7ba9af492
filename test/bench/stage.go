package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/test/internal/operator"
	"jutsu.com/operators/test/internal/project"
)

const (
	// nodes is the number of fake nodes where there are pods; they have room for any number of them.
	nodes = 5
	// namespace is where all objects are.
	namespace = "bench"
	// poll is the time between two looks at what has no watch. It bounds how exact the figures are.
	poll = 5 * time.Millisecond
	// patience is when a wait is given up: something is broken then.
	patience = 10 * time.Minute
	// grace is a little more than the operator allows itself to stop.
	grace = 12 * time.Second
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// stage is a cluster with the operator installed, and with as many of its processes as a scenario starts.
type stage struct {
	operator  operator.Operator
	cluster   *testcluster.Cluster
	admin     client.Client
	cache     cache.Cache
	audit     *auditLog
	logs      string   // folder
	args      []string // of every process of the operator
	processes []*process
	end       context.CancelFunc
}

func newStage(ctx context.Context, what operator.Operator, o *options, progress io.Writer) (*stage, error) {
	if _, err := what.Binary(); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	s := &stage{operator: what, args: slices.Clone(o.operator), end: end}
	if err := s.start(ctx, progress); err != nil {
		s.close()
		return nil, fmt.Errorf("set the stage: %w", err)
	}
	return s, nil
}

func (s *stage) start(ctx context.Context, progress io.Writer) (err error) {
	run := fmt.Sprintf("%s-%d", time.Now().Format("20060102-150405"), os.Getpid()) // two may run at once
	if s.logs, err = project.Path("out", "bench", "logs", run); err != nil {
		return err
	}
	if err := s.startCluster(ctx, progress); err != nil {
		return err
	}
	if s.audit, err = openAuditLog(s.cluster.AuditLog(), s.operator.Name+"/"); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), corev1api.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	if s.admin, err = client.New(s.cluster.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if s.cache, err = cache.New(s.cluster.Config(), cache.Options{Scheme: scheme}); err != nil {
		return err
	}
	go func() { _ = s.cache.Start(ctx) }() // ends with the stage
	if err := s.operator.Install(ctx, s.cluster.Config()); err != nil {
		return err
	}
	return s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
}

func (s *stage) startCluster(ctx context.Context, progress io.Writer) error {
	crds, err := s.operator.CRDs()
	if err != nil {
		return err
	}
	policy := filepath.Join(s.logs, "audit-policy.yaml")
	if err := os.MkdirAll(s.logs, 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(policy, auditPolicy, 0o600); err != nil {
		return err
	}
	o := testcluster.Options{
		ControllerManager: true, CRDs: []string{crds}, Progress: progress,
		Audit: true, APIServerArgs: []string{"--audit-policy-file=" + policy},
	}
	if s.operator == operator.Dojo {
		o.Nodes = nodes
	}
	s.cluster, err = testcluster.Start(ctx, o)
	return err
}

// startOperator starts one more process of the operator and returns when it is ready.
func (s *stage) startOperator(ctx context.Context) (*process, error) {
	profiles, err := testcluster.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	log := filepath.Join(s.logs, fmt.Sprintf("%s-%d.log", s.operator.Name, len(s.processes)+1))
	running, err := s.operator.Start(ctx, s.cluster, log, append([]string{"--pprof-bind-address=" + profiles}, s.args...)...)
	if err != nil {
		return nil, err
	}
	p := &process{running, profiles}
	s.processes = append(s.processes, p)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := p.AwaitReady(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// startLeader starts a process of the operator and returns when it leads and has filled its cache.
func (s *stage) startLeader(ctx context.Context) (*process, error) {
	before, err := s.holder(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.startOperator(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.awaitLeader(ctx, before); err != nil {
		return nil, err
	}
	return p, s.awaitQuiet(ctx, time.Second)
}

// current is the process that was started last.
func (s *stage) current() *process { return s.processes[len(s.processes)-1] }

// holder is who leads; empty when nobody does.
func (s *stage) holder(ctx context.Context) (string, error) {
	var leases coordinationv1.LeaseList
	if err := s.admin.List(ctx, &leases, client.InNamespace(s.operator.Namespace)); err != nil {
		return "", fmt.Errorf("who leads: %w", err)
	}
	if len(leases.Items) == 0 || leases.Items[0].Spec.HolderIdentity == nil {
		return "", nil
	}
	return *leases.Items[0].Spec.HolderIdentity, nil
}

// awaitLeader returns as soon as somebody else than before leads.
func (s *stage) awaitLeader(ctx context.Context, before string) error {
	return until(ctx, func() (bool, error) {
		holder, err := s.holder(ctx)
		return holder != "" && holder != before, err
	})
}

// awaitQuiet returns when the operator has asked for nothing, the Lease apart, for the given time.
func (s *stage) awaitQuiet(ctx context.Context, quiet time.Duration) error {
	began := time.Now()
	return until(ctx, func() (bool, error) {
		requests, err := s.audit.since(began)
		if err != nil {
			return false, err
		}
		return time.Since(lastOf(requests, began)) >= quiet, nil
	})
}

// close ends everything, in an order in which nothing has to wait for what is gone.
func (s *stage) close() {
	for _, p := range s.processes {
		_ = p.Stop(grace) // most have ended, as part of a scenario
	}
	s.end()
	if s.audit != nil {
		_ = s.audit.Close()
	}
	if s.cluster != nil {
		_ = s.cluster.Stop()
	}
}

// until looks again and again until it is so, or patience ends.
func until(ctx context.Context, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not so after %s", patience))
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		if done, err := so(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
