// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"jutsu.com/operators/test/environment"
)

const restartPause = 500 * time.Millisecond

// With the default lease duration, a run would mostly wait for the Leases of killed leaders.
var leaseFlags = []string{"--lease-duration=5s", "--lease-renew-deadline=4s", "--lease-retry-period=500ms"}

// replica restarts the process of an operator when it ends, as a kubelet does.
type replica struct {
	*stage
	what environment.Operator
	name string
	args []string

	mu      sync.Mutex
	process *environment.Process // nil while it is down
	// signalled means that an action sent a signal that may end the process.
	signalled bool
}

func newReplica(s *stage, what environment.Operator, number int, args ...string) *replica {
	return &replica{stage: s, what: what, name: fmt.Sprintf("%s-%d", what.Name, number),
		args: slices.Concat(leaseFlags, args)}
}

func (k *replica) log() string { return filepath.Join(k.folder, k.name+".log") }

func (k *replica) run(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := k.StartOperator(ctx, k.what, k.name+".log", k.args...)
		if err == nil {
			k.set(p)
			select {
			case <-p.Exited():
			case <-ctx.Done():
				_ = p.Signal(syscall.SIGCONT)
				_ = p.Stop(environment.Grace)
			}
			if !k.set(nil) && ctx.Err() == nil {
				k.journal.say("  %s has ended by itself and is started again: it lost its Lease or the API server; see %[1]s.log",
					k.name)
			}
		}
		_ = wait(ctx, restartPause)
	}
}

func (k *replica) set(p *environment.Process) (signalled bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	signalled, k.signalled, k.process = k.signalled, false, p
	return signalled
}

func (k *replica) running() *environment.Process {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.process
}

func (k *replica) signal(s syscall.Signal, deadly bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process == nil {
		return errors.New("it is down")
	}
	k.signalled = k.signalled || deadly
	return k.process.Signal(s)
}

func (k *replica) ready(ctx context.Context) error {
	for ctx.Err() == nil {
		if p := k.running(); p != nil && p.AwaitReady(ctx) == nil {
			return nil
		}
		_ = wait(ctx, restartPause)
	}
	return fmt.Errorf("%s does not become ready: see %s", k.name, k.log())
}
