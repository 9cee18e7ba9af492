// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	probeInterval = 50 * time.Millisecond
	// tailLines is the number of log lines in an error.
	tailLines = 20
)

// Process is one running program.
type Process struct {
	name, log string
	from      int64 // offset in the log at which the process' output starts
	cmd       *exec.Cmd
	exited    chan struct{}
}

// Start starts a command and appends its output to the file log. The reaper may be nil.
func Start(name, log string, cmd *exec.Cmd, reaper *Reaper) (p *Process, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start %s: %w", name, err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the child process has its own descriptor
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p = &Process{name: name, log: log, from: info.Size(), cmd: cmd, exited: make(chan struct{})}
	reaped := reaper.add(p.PID())
	go func() {
		_ = cmd.Wait() // ProcessState has the result
		reaper.del(p.PID())
		close(p.exited)
	}()
	if reaped != nil {
		p.Kill()
		return nil, fmt.Errorf("inform the reaper: %w", reaped)
	}
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Args returns the program's arguments.
func (p *Process) Args() []string { return p.cmd.Args[1:] }

// Log returns the path of the file with the program's output.
func (p *Process) Log() string { return p.log }

// Exited returns a channel that is closed when the process has ended, for whatever reason.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitCode returns the exit code. It is -1 while the process runs, and if a signal ended it.
func (p *Process) ExitCode() int {
	if p.Running() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// Running reports whether the process still runs.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Err describes the end of the process, with the tail of its log.
func (p *Process) Err() error {
	return fmt.Errorf("%s has ended: %s; the last lines of its log %s:\n%s", p.name, p.cmd.ProcessState, p.log, p.Tail())
}

// Tail returns the last lines of the output, or the first lines of a panic or a data race.
func (p *Process) Tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text[min(p.from, int64(len(text))):])), "\n")
	from := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "WARNING: DATA RACE")
	})
	if from < 0 {
		from = max(0, len(lines)-tailLines)
	}
	return strings.Join(lines[from:min(len(lines), from+tailLines)], "\n")
}

// Await polls until ready returns nil. It returns an error if the process or ctx ends first.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return p.Err()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w): %w; the last lines of its log %s:\n%s",
				p.name, context.Cause(ctx), err, p.log, p.Tail())
		case <-tick.C:
		}
	}
}

// Serves returns nil if a URL answers with 200.
func Serves(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

// Signal sends a signal to the process and its children.
func (p *Process) Signal(signal syscall.Signal) error {
	if !p.Running() { // the id of an ended process may be reused
		return os.ErrProcessDone
	}
	return syscall.Kill(-p.PID(), signal)
}

// Stop sends SIGTERM, as a rolling update does. It kills a process that still runs after the grace
// period, and then returns an error.
func (p *Process) Stop(grace time.Duration) error {
	if !p.Running() {
		return nil
	}
	_ = p.Signal(syscall.SIGTERM) // fails only if the process has ended
	select {
	case <-p.exited:
		return nil
	case <-time.After(grace):
	}
	p.Kill()
	return fmt.Errorf("%s did not end within %s of SIGTERM and was killed; its log is %s", p.name, grace, p.log)
}

// Kill ends the process at once, like a power failure, and returns when it has ended.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL) // fails only if the process has ended
	<-p.exited
}
