// Package process runs a program of this project beside the one that started it, with its output in a log file.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// tailLines is how much of the log an error shows.
const tailLines = 20

// Process is one running program.
type Process struct {
	name, log string
	cmd       *exec.Cmd
	exited    chan struct{}
}

// Start starts a command in a process group of its own, so that a Ctrl-C in a terminal does not reach it: who started it decides
// when it stops. Everything that it prints goes to the end of the file log, whose folder is made where it is missing.
func Start(name, log string, cmd *exec.Cmd) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = file.Close() }() // the child has its own copy
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{name: name, log: log, cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // ProcessState says all there is to say
		close(p.exited)
	}()
	return p, nil
}

// PID is the process' number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log is the path of the file with everything that the program has printed.
func (p *Process) Log() string { return p.log }

// Exited is closed when the process has ended, for whatever reason.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says, once the process has ended, how it did, with the last lines of its log.
func (p *Process) Err() error {
	return fmt.Errorf("%s has ended: %s; the last lines of its log %s:\n%s", p.name, p.cmd.ProcessState, p.log, p.Tail())
}

// Tail is the end of the log.
func (p *Process) Tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// Signal sends a signal to the process.
func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Stop asks the process to end, as a rolling update does, and kills it when it has not done so within the grace period. To
// stop what has ended does nothing.
func (p *Process) Stop(grace time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	return p.AwaitEnd(grace)
}

// AwaitEnd returns when the process, which was asked to end, has ended; it kills it when it has not done so within the grace period.
func (p *Process) AwaitEnd(grace time.Duration) error {
	select {
	case <-p.exited:
		return nil
	case <-time.After(grace):
	}
	p.Kill()
	return fmt.Errorf("%s did not end within %s of being asked to and was killed; its log is %s", p.name, grace, p.log)
}

// Kill ends the process at once, as a node that loses power does, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only when it has ended
	<-p.exited
}
