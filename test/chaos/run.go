// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/auditlog"
	"jutsu.com/operators/test/testcluster/project"
)

const deletionRound = "the end"

const probeInterval = 500 * time.Millisecond

type run struct {
	*stage
	options  *options
	observer *observer
	secrets  *secrets
	audit    *auditlog.Log
	// pending counts faults that still have to end.
	pending sync.WaitGroup
	slowest time.Duration // the slowest round
	// apiServerKilled means that an action of this round killed the API server.
	apiServerKilled bool
}

func chaos(ctx context.Context, o *options, out io.Writer) (err error) {
	folder, err := project.Path("out", "chaos", strconv.FormatUint(o.seed, 10))
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o750)); err != nil {
		return err
	}
	j, err := newJournal(out, filepath.Join(folder, "journal.log"))
	if err != nil {
		return err
	}
	j.say("seed %d, for %s; the folder of the logs, and of the evidence of a violation: %s", o.seed, o.duration, folder)
	s, err := newStage(ctx, folder, o.seed, j, out)
	if err != nil {
		return environment.UnlessInterrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r := &run{stage: s, options: o, secrets: &secrets{}}
	r.secrets.add(s.token)
	r.secrets.add(wrongToken)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if r.observer, err = watch(watching, s.Cluster.Config(), s.Admin.Scheme(), r.secrets, s.minors); err != nil {
		return environment.UnlessInterrupted(ctx, err)
	}
	if r.audit, err = auditlog.Open(s.Cluster.AuditLog()); err != nil {
		return err
	}
	defer func() { _ = r.audit.Close() }()
	rounds, err := r.rounds(ctx)
	r.pending.Wait()
	if wrong, ok := errors.AsType[violations](err); ok {
		r.keep(ctx)
		return r.explain(wrong)
	}
	if err != nil {
		return environment.UnlessInterrupted(ctx, err)
	}
	j.say("No violation in %d rounds; the slowest took %s to be reconciled. %s.", rounds,
		r.slowest.Round(100*time.Millisecond), j.summary())
	j.say("Seen: %d versions of objects, %d calls to Discord, %d of them with a fault. "+
		"Next: run again with another seed, or for longer: make chaos ARGS=\"--duration 1h\"",
		r.observer.versions(), r.calls(), r.discord.Faults().Injected())
	return nil
}

func (r *run) rounds(ctx context.Context) (n int, err error) {
	actions := newSequence(r.options.seed, r.options.kinds())
	end := time.Now().Add(r.options.duration)
	if err := r.awaitReconciled(ctx, "the first objects"); err != nil {
		return 0, err
	}
	for n = 1; n == 1 || time.Now().Before(end); n++ {
		r.journal.say("round %d", n)
		r.discord.Weaken(weaklyConsistent(spuriousErrors))
		for range r.options.actions {
			if err := r.act(ctx, actions.next()); err != nil {
				return n, err
			}
		}
		if err := r.endFaults(ctx); err != nil {
			return n, err
		}
		if err := r.awaitReconciled(ctx, fmt.Sprintf("round %d", n)); err != nil {
			return n, err
		}
	}
	r.journal.say("everything is deleted")
	if err := r.deleteAll(ctx); err != nil {
		return n - 1, err
	}
	return n - 1, r.awaitReconciled(ctx, deletionRound)
}

func (r *run) act(ctx context.Context, a action) error {
	if err := wait(ctx, a.pause); err != nil {
		return err
	}
	if wrong := r.observer.wrong(); len(wrong) > 0 {
		return wrong
	}
	what, err := a.kind.do(r, ctx, a)
	r.journal.did(a, what, err)
	return ctx.Err()
}

func (r *run) later(ctx context.Context, while time.Duration, do func(context.Context)) {
	r.pending.Go(func() {
		_ = wait(ctx, while)
		do(ctx)
	})
}

func (r *run) endFaults(ctx context.Context) error {
	r.pending.Wait()
	r.discord.Faults().Clear()
	r.discord.Weaken(weaklyConsistent(discordtest.Weakness{}))
	r.discord.Gateway().SetFaults(discordtest.GatewayFaults{})
	r.calmPostgres()
	if _, err := r.offer(func() int { return lastMinor }); err != nil {
		return err
	}
	for _, k := range r.replicas {
		_ = k.signal(syscall.SIGCONT, false) // fails if the process is down
	}
	ctx, cancel := context.WithTimeout(ctx, r.options.roundTimeout)
	defer cancel()
	for {
		err := errors.Join(r.writeToken(ctx), r.restoreCollector(ctx), r.fixReleases(ctx))
		if err == nil {
			return r.ready(ctx)
		}
		if waited := wait(ctx, probeInterval); waited != nil {
			return errors.Join(waited, err)
		}
	}
}

// restoreCollector restarts the garbage collector, which otherwise keeps dependents of an owner
// that was recreated while the API server was down: UpdateFunc in
// k8s.io/kubernetes/pkg/controller/garbagecollector does not compare UIDs.
func (r *run) restoreCollector(ctx context.Context) error {
	if !r.apiServerKilled {
		return nil
	}
	if err := r.Cluster.Restart(ctx, testcluster.ControllerManager); err != nil {
		return err
	}
	r.apiServerKilled = false
	return nil
}

// awaitReconciled waits until there are no violations. After roundTimeout, it returns the remaining
// violations.
func (r *run) awaitReconciled(ctx context.Context, what string) error {
	began := time.Now()
	for {
		wrong, err := r.violationsAtRest(ctx)
		if err != nil {
			return err
		}
		if len(wrong) == 0 {
			break
		}
		if what == deletionRound {
			if err := r.giveUpFinalBackups(ctx); err != nil {
				return err
			}
		}
		if time.Since(began) > r.options.roundTimeout {
			return wrong
		}
		if err := wait(ctx, probeInterval); err != nil {
			return err
		}
	}
	took := time.Since(began) - r.options.quiet
	r.slowest = max(r.slowest, took)
	r.journal.say("%s: reconciled after %s", what, took.Round(100*time.Millisecond))
	if wrong := append(r.observer.wrong(), r.revealed(ctx)...); len(wrong) > 0 {
		return wrong
	}
	return nil
}

func (r *run) violationsAtRest(ctx context.Context) (violations, error) {
	w, err := r.gather(ctx)
	if err != nil {
		return nil, err
	}
	if wrong := check(w); len(wrong) > 0 {
		return wrong, nil
	}
	if _, err := writesIn(r.audit); err != nil {
		return nil, err
	}
	calls := r.calls()
	if err := wait(ctx, r.options.quiet); err != nil {
		return nil, err
	}
	writes, err := writesIn(r.audit)
	return checkIdle(writes, r.calls()-calls), err
}

func (r *run) calls() int {
	all := 0
	for _, n := range r.discord.RequestCounts() {
		all += n
	}
	return all
}

func wait(ctx context.Context, while time.Duration) error {
	select {
	case <-time.After(while):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
