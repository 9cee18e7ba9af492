// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/binaries"
)

const (
	// Gateway is the address at which the node and its pods reach the machine.
	Gateway = "10.245.0.1"
	// DNS is the address of the cluster's DNS Service.
	DNS = "10.96.0.10"

	nodeAddress  = "10.245.0.2"
	podRange     = "10.244.0.0/24"
	serviceRange = "10.96.0.0/12"
	// device is the machine's end of the network link to the node. The names of device and cgroup
	// are fixed, so only one node can run at a time.
	device = "jutsu-e2e"
	cgroup = "jutsu-e2e"

	// Usually ten seconds are enough.
	readyTimeout = 2 * time.Minute
)

//go:embed files
var files embed.FS

// Node runs until Stop, or until the program that started it ends, even by SIGKILL.
type Node struct {
	folder string
	keeper *exec.Cmd
	pipe   io.WriteCloser // the keeper cleans up when this pipe closes; nil after that
	init   *exec.Cmd
}

// Start returns when the node is ready for pods. The node pulls every image over HTTP from mirror
// (host:port), even if the image's name contains another registry.
func Start(ctx context.Context, cluster *testcluster.Cluster, mirror string, progress io.Writer) (*Node, error) {
	if link, err := run(ctx, "ip", "link", "show", device); err == nil {
		return nil, fmt.Errorf("another node runs on this machine: %s; wait until it is gone", link)
	}
	paths, err := binaries.Locate(ctx, progress, binaries.Kubelet, binaries.Proxy)
	if err != nil {
		return nil, err
	}
	n := &Node{}
	if n.folder, err = os.MkdirTemp("", "jutsu-e2e-"); err != nil {
		return nil, err
	}
	if err := n.startKeeper(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(n.folder))
	}
	err = n.prepare(cluster, mirror, paths)
	if err == nil {
		err = n.start(ctx)
	}
	if err == nil {
		err = n.awaitReady(ctx, cluster)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a node: %w", err), n.Stop())
	}
	return n, nil
}

func (n *Node) startKeeper() (err error) {
	script, err := files.ReadFile("files/keeper.sh")
	if err != nil {
		return err
	}
	n.keeper = exec.Command("/bin/sh", "-c", string(script), "jutsu-e2e-keeper", n.folder, cgroup, device)
	n.keeper.Dir = "/"
	n.keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not reach the keeper
	if n.pipe, err = n.keeper.StdinPipe(); err != nil {
		return err
	}
	return n.keeper.Start()
}

func (n *Node) prepare(cluster *testcluster.Cluster, mirror string, paths map[string]string) error {
	for _, folder := range []string{"bin", "logs", "cni", "registries/_default"} {
		if err := os.MkdirAll(filepath.Join(n.folder, folder), 0o755); err != nil {
			return err
		}
	}
	values := struct{ Folder, Mirror, PodRange, DNS, Cgroup string }{n.folder, mirror, podRange, DNS, cgroup}
	for file, target := range map[string]string{
		"init.sh": "init.sh", "containerd.toml": "containerd.toml", "kubelet.yaml": "kubelet.yaml",
		"kube-proxy.yaml": "kube-proxy.yaml",
		"cni.json":        "cni/pods.conflist", "mirror.toml": "registries/_default/hosts.toml",
	} {
		if err := n.render(file, target, values); err != nil {
			return err
		}
	}
	for name, path := range paths {
		if err := os.Symlink(path, filepath.Join(n.folder, "bin", name)); err != nil {
			return err
		}
	}
	return n.writeKubeconfigs(cluster)
}

func (n *Node) render(file, target string, values any) error {
	text, err := template.ParseFS(files, "files/"+file)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := text.Execute(&out, values); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.folder, target), out.Bytes(), 0o600)
}

func (n *Node) writeKubeconfigs(cluster *testcluster.Cluster) error {
	if err := os.Symlink(filepath.Join(cluster.Dir(), testcluster.CertificateAuthority),
		filepath.Join(n.folder, "ca.crt")); err != nil {
		return err
	}
	for name, identity := range map[string][]string{"kubelet": {"system:node:node", "system:nodes"},
		"kube-proxy": {"system:kube-proxy"}} {
		path, err := cluster.UserKubeconfig(identity[0], identity[1:]...)
		if err != nil {
			return err
		}
		if err := os.Symlink(path, filepath.Join(n.folder, name+".kubeconfig")); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) start(ctx context.Context) error {
	log, err := os.Create(filepath.Join(n.folder, "logs", "init.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child process has a file descriptor of its own
	n.init = exec.Command("/bin/sh", filepath.Join(n.folder, "init.sh"), n.folder, nodeAddress, Gateway, cgroup)
	n.init.Dir = "/"
	n.init.Stdout, n.init.Stderr = log, log
	n.init.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:    true,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
	}
	linked, err := n.init.StdinPipe()
	if err != nil {
		return err
	}
	if err := n.init.Start(); err != nil {
		return err
	}
	pid := n.init.Process.Pid
	if _, err := fmt.Fprintln(n.pipe, pid); err != nil {
		return errors.Join(err, n.init.Process.Kill())
	}
	for _, command := range []string{
		fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d", device, pid),
		fmt.Sprintf("ip address add %s/30 dev %s", Gateway, device),
		fmt.Sprintf("ip link set %s up", device),
		fmt.Sprintf("ip route add %s via %s", podRange, nodeAddress),
		fmt.Sprintf("ip route add %s via %s", serviceRange, nodeAddress),
	} {
		if out, err := run(ctx, strings.Fields(command)...); err != nil {
			return fmt.Errorf("%s: %w: %s", command, err, out)
		}
	}
	_, err = fmt.Fprintln(linked)
	return err
}

func (n *Node) awaitReady(ctx context.Context, cluster *testcluster.Cluster) error {
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, "node", metav1.GetOptions{})
		return err == nil && testcluster.NodeReady(node), nil
	})
	if err != nil {
		return fmt.Errorf("not ready: %w; the last lines of its logs:\n%s", err, n.tails())
	}
	return nil
}

// Volumes returns the folder of the PersistentVolumes' data, as a path on the machine.
func (n *Node) Volumes() string { return filepath.Join(n.folder, "volumes") }

// VolumesOnNode is the path of Volumes on the node.
const VolumesOnNode = "/var/lib/volumes"

// KeepLogs copies the logs of the node's programs and pods to folder.
func (n *Node) KeepLogs(folder string) error {
	for from, to := range map[string]string{"logs": "node", "var/log/pods": "pods"} {
		source := os.DirFS(filepath.Join(n.folder, from))
		if _, err := fs.Stat(source, "."); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.CopyFS(filepath.Join(folder, to), source); err != nil {
			return fmt.Errorf("keep the node's logs: %w", err)
		}
	}
	return nil
}

func (n *Node) tails() string {
	const lines = 15
	var text strings.Builder
	logs, _ := filepath.Glob(filepath.Join(n.folder, "logs", "*.log")) // the pattern is well-formed
	for _, log := range logs {
		content, err := os.ReadFile(log)
		if err != nil {
			content = []byte(err.Error())
		}
		all := strings.Split(strings.TrimSpace(string(content)), "\n")
		_, _ = fmt.Fprintf(&text, "--- %s\n%s\n", filepath.Base(log), strings.Join(all[max(0, len(all)-lines):], "\n"))
	}
	return text.String()
}

// Stop ends the node with all its pods and removes its traces. Further calls do nothing.
func (n *Node) Stop() error {
	if n.pipe == nil {
		return nil
	}
	_ = n.pipe.Close()
	n.pipe = nil
	err := n.keeper.Wait()
	if n.init != nil && n.init.Process != nil {
		_ = n.init.Wait() // the keeper has killed init, so Wait returns an error
	}
	if err != nil {
		return fmt.Errorf("clean up behind the node: %w; look at /sys/fs/cgroup and %s", err, n.folder)
	}
	return nil
}

func run(ctx context.Context, command ...string) (string, error) {
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
