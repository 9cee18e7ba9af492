// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/types"
)

// KillPod kills all processes of a pod at once, without cleanup, as the OOM killer does.
func (n *Node) KillPod(uid types.UID) error {
	root := "/sys/fs/cgroup/" + cgroup
	if _, err := os.Stat(root); err != nil { // cgroup version 1 has one folder per controller
		root = "/sys/fs/cgroup/pids/" + cgroup
	}
	killed := 0
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the process has already ended
			return nil
		}
		if err != nil || filepath.Base(path) != "cgroup.procs" || !strings.Contains(path, "/pod"+string(uid)+"/") {
			return err
		}
		n, err := killAll(path)
		killed += n
		return err
	})
	if err == nil && killed == 0 {
		err = errors.New("it has no process")
	}
	if err != nil {
		return fmt.Errorf("kill pod %s: %w", uid, err)
	}
	return nil
}

func killAll(list string) (killed int, err error) {
	pids, err := os.ReadFile(list)
	if err != nil {
		return 0, err
	}
	for pid := range strings.FieldsSeq(string(pids)) {
		number, err := strconv.Atoi(pid)
		if err != nil {
			return killed, err
		}
		if err := syscall.Kill(number, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return killed, err
		}
		killed++
	}
	return killed, nil
}
