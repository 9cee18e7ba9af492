package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/test/environment"
)

const (
	// nodes is the number of fake nodes where there are pods; they have room for any number of
	// them.
	nodes = 5
	// namespace is where all objects are.
	namespace = "bench"
	// poll is the time between two reads of what has no watch. It bounds how exact the figures are.
	poll = 5 * time.Millisecond
	// waitLimit is when waiting ends: something is broken then.
	waitLimit = 10 * time.Minute
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// stage is a cluster for one operator, with as many of its processes as a scenario starts.
type stage struct {
	*environment.Environment
	operator  environment.Operator
	discord   *simulated // nil without a crowd
	cache     cache.Cache
	audit     *auditLog
	logs      string   // folder
	args      []string // of every process of the operator
	processes []*process
	end       context.CancelFunc
}

func newStage(ctx context.Context, what environment.Operator, c *crowd, o *options, progress io.Writer) (*stage,
	error) {
	ctx, end := context.WithCancel(ctx)
	s := &stage{operator: what, args: slices.Clone(o.operator), end: end}
	if err := s.start(ctx, c, progress); err != nil {
		s.close()
		return nil, fmt.Errorf("set up: %w", err)
	}
	return s, nil
}

func (s *stage) start(ctx context.Context, c *crowd, progress io.Writer) (err error) {
	if s.logs, err = environment.RunFolder("bench/logs"); err != nil {
		return err
	}
	policy := filepath.Join(s.logs, "audit-policy.yaml")
	if err := os.MkdirAll(s.logs, 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(policy, auditPolicy, 0o600); err != nil {
		return err
	}
	options := environment.Options{
		Operators: []environment.Operator{s.operator}, Folder: s.logs,
		Cluster: testcluster.Options{
			ControllerManager: true, Progress: progress, Audit: true, APIServerArgs: []string{"--audit-policy-file=" + policy},
		},
	}
	if s.operator == environment.Dojo {
		options.Cluster.Nodes = nodes
	}
	if c != nil {
		options.Discord = func(context.Context) (environment.DiscordAPI, error) {
			s.discord, err = simulate(*c)
			return s.discord, err
		}
	}
	if s.Environment, err = environment.Start(ctx, options); err != nil {
		return err
	}
	if s.audit, err = openAuditLog(s.Cluster.AuditLog(), s.operator.Name+"/"); err != nil {
		return err
	}
	if s.cache, err = cache.New(s.Cluster.Config(), cache.Options{Scheme: s.Admin.Scheme()}); err != nil {
		return err
	}
	go func() { _ = s.cache.Start(ctx) }() // ends with the stage
	if err := s.Install(ctx, s.operator); err != nil {
		return err
	}
	return s.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
}

// startProcess starts one more process of the operator and returns when it is ready.
func (s *stage) startProcess(ctx context.Context) (*process, error) {
	profiles, err := testcluster.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	log := fmt.Sprintf("%s-%d.log", s.operator.Name, len(s.processes)+1)
	running, err := s.StartOperator(ctx, s.operator, log,
		append([]string{"--pprof-bind-address=" + profiles}, s.args...)...)
	if err != nil {
		return nil, err
	}
	p := &process{running, profiles}
	s.processes = append(s.processes, p)
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	return p, p.AwaitReady(ctx)
}

// startLeader starts a process of the operator and returns when it leads and has filled its cache.
func (s *stage) startLeader(ctx context.Context) (*process, error) {
	before, err := s.operator.Leader(ctx, s.Admin)
	if err != nil {
		return nil, err
	}
	p, err := s.startProcess(ctx)
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

// awaitLeader returns as soon as another process than before leads.
func (s *stage) awaitLeader(ctx context.Context, before string) error {
	return until(ctx, func() (bool, error) {
		holder, err := s.operator.Leader(ctx, s.Admin)
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

// close ends everything.
func (s *stage) close() {
	s.end()
	if s.audit != nil {
		_ = s.audit.Close()
	}
	if s.Environment != nil {
		_ = s.Stop() // some processes have been killed, as part of a scenario
	}
}

// until calls done again and again until it returns true, or waitLimit has passed.
func until(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, waitLimit, fmt.Errorf("not so after %s", waitLimit))
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, poll, true, func(context.Context) (bool, error) { return done() })
	if wait.Interrupted(err) {
		return context.Cause(ctx)
	}
	return err
}
