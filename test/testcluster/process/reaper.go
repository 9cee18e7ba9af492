// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// reaperScript kills the added process groups and removes the folders when the pipe closes. It is
// POSIX sh, so that nothing has to be built. It repeats rm, as a dying process may still write.
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

// Reaper is a child process that cleans up when its pipe closes: after Clean, or when this process
// ends.
type Reaper struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// NewReaper starts a reaper that removes the folders when this process ends or calls Clean.
func NewReaper(folders ...string) (*Reaper, error) {
	cmd := exec.Command("/bin/sh", append([]string{"-c", reaperScript, "testcluster-reaper"}, folders...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not reach the reaper
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	return &Reaper{cmd: cmd, pipe: pipe}, nil
}

// PID returns the reaper's process id.
func (r *Reaper) PID() int { return r.cmd.Process.Pid }

func (r *Reaper) add(pid int) error {
	if r == nil {
		return nil
	}
	_, err := fmt.Fprintf(r.pipe, "add %d\n", pid)
	return err
}

// del removes pid, so that the reaper never kills another process that gets the same id.
func (r *Reaper) del(pid int) {
	if r != nil {
		_, _ = fmt.Fprintf(r.pipe, "del %d\n", pid)
	}
}

// Clean makes the reaper clean up, and waits until the reaper has ended.
func (r *Reaper) Clean() error {
	_ = r.pipe.Close()
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}
