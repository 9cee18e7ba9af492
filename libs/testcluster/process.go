package testcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// probeInterval is the time between two looks at whether a component is ready.
	probeInterval = 50 * time.Millisecond
	// readyTimeout is generous: on a loaded machine a control plane takes ten times as long as on an idle one.
	readyTimeout = 2 * time.Minute
	// tailBytes is how much of a failing component's log goes into the error.
	tailBytes = 4 << 10
)

// process is one component: how to start it, how to see that it is ready, and its running instance.
type process struct {
	name  string
	bin   string
	args  []string
	dir   string
	log   string                          // file that stdout and stderr are appended to
	ready func(ctx context.Context) error // nil once it serves

	died func(error) // called when it ended although nobody asked it to

	reaper   *reaper
	cmd      *exec.Cmd
	exited   chan struct{} // closed when the running instance has ended
	state    string        // how it ended; valid once exited is closed
	expected atomic.Bool   // whether its end is of no interest: it is killed, or its failure to start is reported
}

// start runs the binary in a process group of its own, so that a Ctrl-C in a terminal reaches the Go program alone.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	cmd := exec.Command(p.bin, p.args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "KWOK_WORKDIR="+p.dir) // or kwok also reads the user's own configuration
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	if err := p.reaper.add(cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("start %s: tell the reaper: %w", p.name, err)
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	p.expected.Store(true) // until it is ready
	go func() {
		_ = cmd.Wait() // the state says all there is to say
		state := cmd.ProcessState.String()
		p.reaper.del(cmd.Process.Pid)
		p.state = state
		close(exited)
		if !p.expected.Load() {
			p.died(p.failed(state))
		}
	}()
	return nil
}

// await returns when the component is ready, has ended, or did not become ready in time; the error holds the end of its log.
func (p *process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		err := p.ready(ctx)
		if err == nil {
			p.expected.Store(false)
			return nil
		}
		select {
		case <-p.exited:
			return p.failed(p.state)
		case <-ctx.Done():
			return p.failed(fmt.Sprintf("not ready (%v): %v", context.Cause(ctx), err))
		case <-tick.C:
		}
	}
}

// kill ends the running instance at once and waits until it is gone.
func (p *process) kill() error {
	if p.cmd == nil || p.gone() {
		return nil
	}
	p.expected.Store(true)
	err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.wait()
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	return nil
}

// gone is whether the last instance has ended: its number may be somebody else's by now.
func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// wait returns when the last instance, if there was one, has ended.
func (p *process) wait() {
	if p.exited != nil {
		<-p.exited
	}
}

func (p *process) failed(why string) error {
	return fmt.Errorf("%s: %s; the last lines of its log:\n%s", p.name, why, tail(p.log))
}

// tail is the end of a file, cut at a line, for a person to read.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := file.Seek(-tailBytes, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	if len(text) == tailBytes {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return string(bytes.TrimSpace(text))
}
