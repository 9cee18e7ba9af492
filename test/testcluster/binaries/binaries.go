// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"jutsu.com/operators/test/testcluster/internal/progress"
)

// Environment variables that select the source of binaries.
const (
	// AssetsEnv names a folder of ready-made binaries, named as the constants from Etcd to Kubectl.
	AssetsEnv = "JUTSU_TESTCLUSTER_ASSETS"
	// EnvtestAssetsEnv is setup-envtest's variable for a folder with etcd and kube-apiserver.
	EnvtestAssetsEnv = "KUBEBUILDER_ASSETS"
	// SourceEnv is "auto" (download, else build; default), "build" or "download" (never build).
	SourceEnv = "JUTSU_TESTCLUSTER_SOURCE"
	// MirrorEnv is the URL of a mirror, which has https://HOST/PATH at MIRROR/HOST/PATH.
	MirrorEnv = "JUTSU_TESTCLUSTER_MIRROR"
)

// Programs of the control plane and its fake nodes.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// Programs of real nodes and real workloads.
const (
	Kubelet            = "kubelet"
	Proxy              = "kube-proxy"
	CoreDNS            = "coredns"
	CloudNativePG      = "cloudnative-pg"
	BarmanPlugin       = "plugin-barman-cloud"
	ObjectStore        = "versitygw"
	PrometheusOperator = "prometheus-operator"
	ConfigReloader     = "prometheus-config-reloader"
	Prometheus         = "prometheus"
	Alertmanager       = "alertmanager"
)

// Kubectl runs the commands in messages and docs. It has the API server's version.
const Kubectl = "kubectl"

type binary struct {
	module  string   // folder below tools/ with the go.mod that pins the version
	pkg     string   // the program's package main
	stamp   []string // link-time variables (-X) that hold the version, as in the project's release
	tags    string   // build tags, separated by commas
	release release  // if empty, the program can only be built
}

const (
	cloudNativePG      = "github.com/cloudnative-pg/cloudnative-pg/cmd/manager"
	barmanPlugin       = "github.com/cloudnative-pg/plugin-barman-cloud/cmd/manager"
	alertmanager       = "github.com/prometheus/alertmanager/cmd/alertmanager"
	prometheusOperator = "github.com/prometheus-operator/prometheus-operator/cmd/"
)

var table = map[string]binary{
	Etcd:              {module: "etcd", pkg: "go.etcd.io/etcd/server/v3", release: etcdRelease},
	APIServer:         kubernetes(APIServer),
	ControllerManager: kubernetes(ControllerManager),
	Scheduler:         kubernetes(Scheduler),
	Kwok:              {module: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", release: kwokRelease},

	Kubelet:       kubernetes(Kubelet),
	Proxy:         kubernetes(Proxy),
	Kubectl:       kubernetes(Kubectl),
	CoreDNS:       {module: "coredns", pkg: "github.com/coredns/coredns"},
	CloudNativePG: {module: "cloudnative-pg", pkg: cloudNativePG},
	BarmanPlugin:  {module: "plugin-barman-cloud", pkg: barmanPlugin},
	ObjectStore:   {module: "versitygw", pkg: "github.com/versity/versitygw/cmd/versitygw"},

	PrometheusOperator: {module: "prometheus-operator", pkg: prometheusOperator + "operator"},
	ConfigReloader:     {module: "prometheus-operator", pkg: prometheusOperator + ConfigReloader},
	Alertmanager:       {module: "alertmanager", pkg: alertmanager},
	Prometheus: {
		module: "prometheus", pkg: "github.com/prometheus/prometheus/cmd/prometheus",
		tags: "remove_all_sd,enable_kubernetes_sd", // omits the service discovery of twenty clouds
	},
}

func kubernetes(name string) binary {
	return binary{
		module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/" + name, release: kubernetesRelease(name),
		stamp: []string{"k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"},
	}
}

// ControlPlane returns the names of all binaries of a cluster with fake nodes.
func ControlPlane() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler, Kwok}
}

// Locate returns the paths of the binaries, and downloads or builds missing ones. If w is nil,
// progress goes to os.Stderr.
func Locate(ctx context.Context, w io.Writer, names ...string) (map[string]string, error) {
	p, err := newProvider(w)
	if err != nil {
		return nil, fmt.Errorf("testcluster: %w", err)
	}
	paths, err := p.locate(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("testcluster: %w", err)
	}
	return paths, nil
}

func (p *provider) locate(ctx context.Context, names []string) (map[string]string, error) {
	paths := map[string]string{}
	var missing []build
	for _, name := range names {
		path, err := fromAssets(name)
		if err != nil {
			return nil, err
		}
		if path == "" {
			b, err := newBuild(name)
			if err != nil {
				return nil, err
			}
			if path = p.cached(b); path == "" && !slices.ContainsFunc(missing, b.same) {
				missing = append(missing, b)
			}
		}
		paths[name] = path
	}
	if len(missing) == 0 {
		return paths, nil
	}
	provided, err := p.provide(ctx, missing)
	maps.Copy(paths, provided)
	return paths, err
}

func fromAssets(name string) (string, error) {
	for _, variable := range []string{AssetsEnv, EnvtestAssetsEnv} {
		folder := os.Getenv(variable)
		if folder == "" {
			continue
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return "", fmt.Errorf("%s=%s is not a folder; unset it to have the binaries downloaded or built",
				variable, folder)
		}
		path, err := filepath.Abs(filepath.Join(folder, name))
		if err != nil {
			return "", err
		}
		if exists(path) {
			return path, nil
		}
	}
	return "", nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

func (p *provider) say(format string, args ...any) { progress.Say(p.progress, format, args...) }
