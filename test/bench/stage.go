// SPDX-License-Identifier: Apache-2.0

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

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
)

const (
	// Fake nodes have unlimited capacity.
	nodes     = 5
	namespace = "bench"
	// poll is the interval, and thus the precision, of figures that no watch measures.
	poll = 5 * time.Millisecond
	// A wait fails after waitLimit plus waitMore per object.
	waitLimit = 10 * time.Minute
	waitMore  = 200 * time.Millisecond
)

//go:embed audit-policy.yaml
var auditPolicy []byte

type stage struct {
	*environment.Environment
	operator  environment.Operator
	scenario  string
	discord   *simulated // nil if the scenario needs no Discord
	cache     cache.Cache
	audit     *auditLog
	logs      string   // folder
	args      []string // of every process
	processes []*process
	alone     float64 // seconds until the only Dojo of an empty cluster is Ready
	end       context.CancelFunc
}

// onStage runs measure on a new cluster, and returns the errors of check and must.
func (b *bench) onStage(ctx context.Context, what environment.Operator, c *crowd, measure func(*stage),
	change ...func(*environment.Options)) (err error) {
	ctx, end := context.WithCancel(ctx)
	s := &stage{operator: what, scenario: "set-up", args: slices.Clone(b.operator), end: end}
	defer func() {
		s.close()
		switch cause := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("%s: %w", s.scenario, cause.error)
		default:
			panic(cause)
		}
	}()
	s.start(ctx, c, b.progress, change)
	measure(s)
	return nil
}

type failure struct{ error }

// check panics if err is not nil. onStage recovers only in the goroutine that runs measure, so no
// other goroutine may call check.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func (s *stage) start(ctx context.Context, c *crowd, progress io.Writer, change []func(*environment.Options)) {
	s.logs = must(environment.RunFolder("bench/logs"))
	policy := filepath.Join(s.logs, "audit-policy.yaml")
	check(os.MkdirAll(s.logs, 0o750))
	check(os.WriteFile(policy, auditPolicy, 0o600))
	options := environment.Options{
		Operators: []environment.Operator{s.operator}, Folder: s.logs,
		Cluster: testcluster.Options{
			ControllerManager: true, Progress: progress, Audit: true, APIServerArgs: []string{"--audit-policy-file=" + policy},
		},
	}
	if s.operator != environment.Discord {
		options.Cluster.Nodes = nodes
	}
	if c != nil {
		options.Discord = func(context.Context) (_ environment.DiscordAPI, err error) {
			s.discord, err = simulate(*c)
			return s.discord, err
		}
	}
	for _, f := range change {
		f(&options)
	}
	s.Environment = must(environment.Start(ctx, options))
	s.audit = must(openAuditLog(s.Cluster.AuditLog(), s.operator.Name+"/"))
	s.cache = must(cache.New(s.Cluster.Config(), cache.Options{Scheme: s.Admin.Scheme(),
		DefaultNamespaces: map[string]cache.Config{namespace: {}}}))
	go func() { _ = s.cache.Start(ctx) }() // stops with the stage
	for _, o := range options.Operators {
		check(s.Install(ctx, o))
	}
	check(s.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
}

func (s *stage) startProcess(ctx context.Context) *process {
	profiles := must(testcluster.FreeAddress(ctx))
	log := fmt.Sprintf("%s-%d.log", s.operator.Name, len(s.processes)+1)
	args := append([]string{"--pprof-bind-address=" + profiles}, s.args...)
	p := &process{must(s.StartOperator(ctx, s.operator, log, args...)), profiles}
	s.processes = append(s.processes, p)
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	check(p.AwaitReady(ctx))
	return p
}

func (s *stage) startLeader(ctx context.Context) *process {
	before := must(s.operator.Leader(ctx, s.Admin))
	p := s.startProcess(ctx)
	s.awaitLeader(ctx, before)
	s.awaitQuiet(ctx, time.Second)
	return p
}

func (s *stage) current() *process { return s.processes[len(s.processes)-1] }

func (s *stage) awaitLeader(ctx context.Context, before string) {
	pollUntil(ctx, func() (bool, error) {
		holder, err := s.operator.Leader(ctx, s.Admin)
		return holder != "" && holder != before, err
	})
}

func (s *stage) awaitQuiet(ctx context.Context, quiet time.Duration) {
	began := time.Now()
	pollUntil(ctx, func() (bool, error) {
		requests, err := s.audit.since(began)
		return time.Since(lastOf(requests, began)) >= quiet, err
	})
}

func (s *stage) close() {
	s.end()
	if s.audit != nil {
		_ = s.audit.Close()
	}
	if s.Environment != nil {
		_ = s.Stop() // fails for processes that a scenario has killed
	}
}

func sleep(ctx context.Context, while time.Duration) {
	select {
	case <-ctx.Done():
		check(ctx.Err())
	case <-time.After(while):
	}
}

func pollUntil(ctx context.Context, done func() (bool, error)) {
	ctx, cancel := context.WithTimeoutCause(ctx, waitLimit, fmt.Errorf("not in the expected state after %s", waitLimit))
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, poll, true, func(context.Context) (bool, error) { return done() })
	if wait.Interrupted(err) {
		err = context.Cause(ctx)
	}
	check(err)
}
