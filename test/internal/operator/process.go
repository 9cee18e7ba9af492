package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// probeInterval is the time between two looks at whether a process is ready.
	probeInterval = 50 * time.Millisecond
	// tailLines is how much of the log an error shows.
	tailLines = 20
)

// Process is one running operator. When the program that started it is killed without a word, and its cluster goes with it,
// the operator ends by itself as soon as it cannot renew its lease: within 10 seconds by default.
type Process struct {
	name, log       string
	metrics, probes string // host:port

	cmd    *exec.Cmd
	exited chan struct{}
}

// start runs the binary in a process group of its own, so that a Ctrl-C in a terminal does not reach it: who started it decides
// when it stops.
func (p *Process) start(binary, kubeconfig string, args []string) error {
	if err := os.MkdirAll(filepath.Dir(p.log), 0o755); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	p.cmd = exec.Command(binary, args...)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState says all there is to say
		close(p.exited)
	}()
	return nil
}

// PID is the process' number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log is the path of the file with everything that the operator has printed.
func (p *Process) Log() string { return p.log }

// MetricsURL is where it tells its metrics, to whom the API server allows to get /metrics.
func (p *Process) MetricsURL() string { return "https://" + p.metrics + "/metrics" }

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

// AwaitReady returns nil as soon as the operator reports itself ready, and an error when it ends or the context does.
func (p *Process) AwaitReady(ctx context.Context) error {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		err := p.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return p.Err()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w): %w; the last lines of its log %s:\n%s", p.name, context.Cause(ctx), err, p.log, p.Tail())
		case <-tick.C:
		}
	}
}

func (p *Process) probe(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.probes+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New("readyz: " + response.Status)
	}
	return nil
}

// Signal sends a signal to the process.
func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Stop asks the process to end, as a rolling update does, and kills it when it has not done so within the grace period. To
// stop what has ended does nothing.
func (p *Process) Stop(grace time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	select {
	case <-p.exited:
		return nil
	case <-time.After(grace):
	}
	p.Kill()
	return fmt.Errorf("%s did not end within %s of SIGTERM and was killed; its log is %s", p.name, grace, p.log)
}

// Kill ends the process at once, as a node that loses power does, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only when it has ended
	<-p.exited
}

// freeAddresses returns two addresses on 127.0.0.1 that nobody listens on. Between here and the operator's start another
// process may take one; the kernel deals the numbers out at random, so that is rare, and the operator then says so and ends.
func freeAddresses(ctx context.Context) (one, other string, err error) {
	var config net.ListenConfig
	first, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = first.Close() }() // at the end, so that its number is not given twice
	second, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", "", fmt.Errorf("find a free port: %w", err)
	}
	return first.Addr().String(), second.Addr().String(), second.Close()
}
