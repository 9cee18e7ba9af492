// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
)

// debianPackages maps each package to a file that exists if the package is installed.
var debianPackages = map[string]string{
	"containerd":                  "/usr/bin/containerd",
	"runc":                        "/usr/sbin/runc",
	"containernetworking-plugins": "/usr/lib/cni/bridge",
	"iptables":                    "/usr/sbin/iptables",
	"conntrack":                   "/usr/sbin/conntrack",
	"ipset":                       "/usr/sbin/ipset",
	"socat":                       "/usr/bin/socat",
	"iproute2":                    "/usr/sbin/ip",
	"debootstrap":                 "/usr/sbin/debootstrap",
}

// Unsupported returns the reason if no cluster can run on this machine, or else nil.
func Unsupported() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a node requires Linux, and this machine runs %s", runtime.GOOS)
	}
	if os.Getuid() != 0 {
		return errors.New("a node requires root")
	}
	if err := writable("/sys/fs/cgroup"); err != nil {
		return fmt.Errorf("a node requires cgroups that it can write: %w", err)
	}
	if lacking := missing(); len(lacking) > 0 {
		if _, err := exec.LookPath("apt-get"); err != nil {
			return fmt.Errorf("this machine lacks %s, and has no apt-get to install them with", strings.Join(lacking, ", "))
		}
	}
	return nil
}

// writable fails if this process cannot create cgroups, such as in an unprivileged container.
func writable(root string) error {
	probe := root + "/jutsu-e2e-probe"
	if _, err := os.Stat(root + "/cgroup.controllers"); err != nil { // cgroup version 1 has one folder per controller
		probe = root + "/memory/jutsu-e2e-probe"
	}
	if err := os.Mkdir(probe, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Remove(probe)
}

func missing() []string {
	var packages []string
	for name, file := range debianPackages {
		if _, err := os.Stat(file); err != nil {
			packages = append(packages, name)
		}
	}
	return packages
}

// installPackages does not start the packages' services.
func installPackages(ctx context.Context, progress io.Writer) error {
	lacking := missing()
	if len(lacking) == 0 {
		return nil
	}
	_, _ = fmt.Fprintf(progress, "installing Debian packages, about 20 s, only once: %s\n", strings.Join(lacking, " "))
	for _, arguments := range [][]string{{"update", "-q"},
		append([]string{"install", "-qy", "--no-install-recommends"}, lacking...)} {
		cmd := exec.CommandContext(ctx, "apt-get", arguments...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(arguments, " "), err, out)
		}
	}
	return nil
}

// Traces lists the mounts, devices, routes, iptables rules, cgroups and folders of a cluster.
func Traces(ctx context.Context) (found []string, err error) {
	for _, command := range [][]string{
		{"cat", "/proc/self/mounts"}, {"ip", "-oneline", "link"}, {"ip", "route"}, {"iptables-save"},
		{"find", "/sys/fs/cgroup", "-maxdepth", "2", "-name", "jutsu-*"},
		{"find", os.TempDir(), "-maxdepth", "1", "-name", "jutsu-e2e-*"},
	} {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
		for line := range strings.Lines(string(out)) {
			if traceNames.MatchString(line) {
				found = append(found, strings.TrimSpace(line))
			}
		}
	}
	return found, nil
}

// kube-proxy's iptables chains begin with KUBE-, and those of the network bridge with CNI-.
var traceNames = regexp.MustCompile(`jutsu-e2e|KUBE-|CNI-`)
