package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/test/internal/operator"
)

const (
	// grace is a little more than an operator allows itself (--shutdown-timeout).
	grace = 12 * time.Second
	// restartPause is how long an operator that has ended stays down; a kubelet waits longer.
	restartPause = 500 * time.Millisecond
)

// The Lease is as short as the clocks of one machine allow: with the defaults most of the time would go by waiting for a killed leader.
var leaseFlags = []string{"--lease-duration=5s", "--lease-renew-deadline=4s", "--lease-retry-period=500ms"}

// replica keeps one process of an operator running, as a kubelet does.
type replica struct {
	what    operator.Operator
	cluster *testcluster.Cluster
	log     string
	args    []string
	journal *journal

	mu      sync.Mutex
	process *operator.Process // nil while it is down
	// unruly says that the process was told to end, so that its end needs no explanation.
	unruly bool
}

func newReplica(s *stage, what operator.Operator, number int, args ...string) *replica {
	return &replica{
		what: what, cluster: s.cluster, journal: s.journal, args: append(append([]string{}, leaseFlags...), args...),
		log: filepath.Join(s.folder, fmt.Sprintf("%s-%d.log", what.Name, number)),
	}
}

// run starts the process again whenever it has ended, until the context does.
func (k *replica) run(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := k.what.Start(ctx, k.cluster, k.log, k.args...)
		if err == nil {
			k.set(p)
			select {
			case <-p.Exited():
			case <-ctx.Done():
				_ = p.Signal(syscall.SIGCONT)
				_ = p.Stop(grace)
			}
			if !k.set(nil) && ctx.Err() == nil {
				k.journal.say("  %s has ended by itself and is started again: it lost its Lease, or found no API server; see %s", k.name(), filepath.Base(k.log))
			}
		}
		select {
		case <-time.After(restartPause):
		case <-ctx.Done():
		}
	}
}

// set notes the process that runs, and returns whether the one before was told to end.
func (k *replica) set(p *operator.Process) (unruly bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	unruly, k.unruly, k.process = k.unruly, false, p
	return unruly
}

func (k *replica) name() string { return filepath.Base(k.log[:len(k.log)-len(".log")]) }

// signal sends the running process a signal; deadly ones end it.
func (k *replica) signal(s syscall.Signal, deadly bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process == nil {
		return errors.New("it is down")
	}
	k.unruly = k.unruly || deadly
	return k.process.Signal(s)
}

// ready returns when the process reports itself ready.
func (k *replica) ready(ctx context.Context) error {
	for {
		k.mu.Lock()
		p := k.process
		k.mu.Unlock()
		if p != nil && p.AwaitReady(ctx) == nil {
			return nil
		}
		select {
		case <-time.After(restartPause):
		case <-ctx.Done():
			return fmt.Errorf("%s does not become ready: see %s", k.name(), k.log)
		}
	}
}

// metricsURL is where the running process tells its metrics; empty while there is none.
func (k *replica) metricsURL() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process == nil {
		return ""
	}
	return k.process.MetricsURL()
}
