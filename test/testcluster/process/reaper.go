// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// reaperScript reads "add PID" and "del PID" lines. When the pipe closes, whatever the reason, it
// kills the process groups that are left and removes the folders it was given. Plain POSIX sh, so
// it needs nothing to be built.
//
// A killed process may still be writing while its folder goes away, hence the repeated rm.
const reaperScript = `
trap '' HUP INT TERM
pids=' '
while read -r verb pid; do
	case $verb in
	add) pids="$pids$pid " ;;
	del) pids="${pids%% $pid *} ${pids#* $pid }" ;;
	esac
done
for pid in $pids; do kill -s KILL -- "-$pid" 2>/dev/null; done
tries=0
until rm -rf -- "$@" 2>/dev/null; do
	tries=$((tries + 1))
	[ "$tries" -lt 100 ] || exit 1
	sleep 0.05
done
`

// Reaper is a small process that outlives this one by a moment. It holds the read end of a pipe
// whose write end only this process has: the kernel closes it on exit, panic and SIGKILL alike,
// and the reaper then cleans up.
type Reaper struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// NewReaper starts a reaper that kills the processes that are started with it, and removes the
// folders, when this process ends or Clean is called.
func NewReaper(folders ...string) (*Reaper, error) {
	cmd := exec.Command("/bin/sh", append([]string{"-c", reaperScript, "testcluster-reaper"}, folders...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that a Ctrl-C does not reach it
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	return &Reaper{cmd: cmd, pipe: pipe}, nil
}

// PID is the reaper's own process id.
func (r *Reaper) PID() int { return r.cmd.Process.Pid }

// add makes the reaper responsible for the process group of pid.
func (r *Reaper) add(pid int) error {
	if r == nil {
		return nil
	}
	_, err := fmt.Fprintf(r.pipe, "add %d\n", pid)
	return err
}

// del says that pid is gone, so that the reaper never kills another process that was given the
// same number. It fails only when the reaper is gone or cleaning, and then nothing is lost.
func (r *Reaper) del(pid int) {
	if r != nil {
		_, _ = fmt.Fprintf(r.pipe, "del %d\n", pid)
	}
}

// Clean lets the reaper do its work now and waits for it.
func (r *Reaper) Clean() error {
	_ = r.pipe.Close()
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}
