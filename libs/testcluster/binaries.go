// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"jutsu.com/operators/libs/testcluster/project"
)

// Environment variables that name a folder with ready-made binaries. What a folder lacks is built.
const (
	// AssetsEnv may hold any of the binaries, by the names of the component constants.
	AssetsEnv = "JUTSU_TESTCLUSTER_ASSETS"
	// EnvtestAssetsEnv is what setup-envtest sets; such a folder holds etcd and kube-apiserver.
	EnvtestAssetsEnv = "KUBEBUILDER_ASSETS"
)

// binary is how a component is built.
type binary struct {
	module string        // folder below tools/ whose go.mod pins it
	pkg    string        // its package main
	cold   time.Duration // a first build on two cores
	stamp  []string      // variables that hold the version, as the project's own release build sets them
	tags   string        // build tags, separated by commas
}

// kubernetesStamp is for all that is built from k8s.io/kubernetes.
var kubernetesStamp = []string{"k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"}

const (
	kubernetesCmd      = "k8s.io/kubernetes/cmd/"
	cloudNativePG      = "github.com/cloudnative-pg/cloudnative-pg/cmd/manager"
	barmanPlugin       = "github.com/cloudnative-pg/plugin-barman-cloud/cmd/manager"
	alertmanager       = "github.com/prometheus/alertmanager/cmd/alertmanager"
	prometheusOperator = "github.com/prometheus-operator/prometheus-operator/cmd/"
)

var binaries = map[string]binary{
	Etcd:              {module: "etcd", pkg: "go.etcd.io/etcd/server/v3", cold: 30 * time.Second},
	APIServer:         {module: "kubernetes", pkg: kubernetesCmd + APIServer, cold: 170 * time.Second},
	ControllerManager: {module: "kubernetes", pkg: kubernetesCmd + ControllerManager, cold: 50 * time.Second},
	Scheduler:         {module: "kubernetes", pkg: kubernetesCmd + Scheduler, cold: 10 * time.Second},
	Kwok:              {module: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", cold: 90 * time.Second},

	Kubelet:       {module: "kubernetes", pkg: kubernetesCmd + Kubelet, cold: 60 * time.Second},
	Proxy:         {module: "kubernetes", pkg: kubernetesCmd + Proxy, cold: 10 * time.Second},
	Kubectl:       {module: "kubectl", pkg: kubernetesCmd + Kubectl, cold: 60 * time.Second},
	CoreDNS:       {module: "coredns", pkg: "github.com/coredns/coredns", cold: 70 * time.Second},
	CloudNativePG: {module: "cloudnative-pg", pkg: cloudNativePG, cold: 80 * time.Second},
	BarmanPlugin:  {module: "plugin-barman-cloud", pkg: barmanPlugin, cold: 90 * time.Second},
	ObjectStore:   {module: "versitygw", pkg: "github.com/versity/versitygw/cmd/versitygw", cold: 150 * time.Second},

	PrometheusOperator: {module: "prometheus-operator", pkg: prometheusOperator + "operator", cold: 80 * time.Second},
	ConfigReloader:     {module: "prometheus-operator", pkg: prometheusOperator + ConfigReloader, cold: 10 * time.Second},
	Alertmanager:       {module: "alertmanager", pkg: alertmanager, cold: 40 * time.Second},
	Prometheus: {
		module: "prometheus", pkg: "github.com/prometheus/prometheus/cmd/prometheus", cold: 120 * time.Second,
		tags: "remove_all_sd,enable_kubernetes_sd", // the service discovery of twenty clouds is most of the build
	},
}

// Binaries says where the named binaries are, and builds those that the cache lacks, as Build does.
// It is for those that no Cluster runs by itself: the node's and what is put into images.
func Binaries(ctx context.Context, progress io.Writer, names ...string) (map[string]string, error) {
	return locate(ctx, names, progress)
}

// Build builds every binary that the cache lacks, so that a later Start does not have to. It is
// safe to call from many processes at once: one builds, the others wait. Progress, when not nil,
// gets a line of text now and then.
func Build(ctx context.Context, progress io.Writer) error {
	_, err := locate(ctx, Options{ControllerManager: true, Nodes: 1}.components(), progress)
	return err
}

// locate says where the binaries are, by name, and builds what is missing.
func locate(ctx context.Context, names []string, progress io.Writer) (map[string]string, error) {
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
			path = b.target
			if !exists(path) {
				missing = append(missing, b)
			}
		}
		paths[name] = path
	}
	if len(missing) == 0 {
		return paths, nil
	}
	if progress == nil {
		progress = os.Stderr
	}
	return paths, buildAll(ctx, missing, progress)
}

// fromAssets searches the folders that the environment names; "" means that it is in none of them.
func fromAssets(name string) (string, error) {
	for _, variable := range []string{AssetsEnv, EnvtestAssetsEnv} {
		folder := os.Getenv(variable)
		if folder == "" {
			continue
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return "", fmt.Errorf("testcluster: %s=%s is not a folder; unset it to have the binaries built", variable, folder)
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

// newBuild reads from tools/ which version to build, and so where in the cache its binary belongs.
func newBuild(name string) (build, error) {
	spec, ok := binaries[name]
	if !ok {
		return build{}, fmt.Errorf("testcluster: %q is none of the binaries %v", name, slices.Sorted(maps.Keys(binaries)))
	}
	if strings.HasPrefix(spec.pkg, kubernetesCmd) {
		spec.stamp = kubernetesStamp
	}
	root, err := project.Root()
	if err != nil {
		return build{}, fmt.Errorf("testcluster: %w, whose tools/ say what to build, "+
			"or name a folder with ready-made binaries in %s", err, AssetsEnv)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return build{}, fmt.Errorf("testcluster: no cache folder for the binaries: %w", err)
	}
	b := build{name: name, binary: spec, source: filepath.Join(root, "tools", spec.module)}
	if err := b.pin(); err != nil {
		return build{}, fmt.Errorf("testcluster: version of %s: %w", name, err)
	}
	folder := fmt.Sprintf("%s-%s-%s-%s-%s", spec.module, b.version, runtime.GOOS, runtime.GOARCH, b.hash)
	b.cache = filepath.Join(cache, "jutsu", "testcluster")
	b.target = filepath.Join(b.cache, folder, name)
	return b, nil
}

// pin reads the module that pins the binary: the version, and a hash that changes with any
// dependency and any flag.
func (b *build) pin() error {
	path := filepath.Join(b.source, "go.mod")
	mod, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(b.source, "go.sum"))
	if err != nil {
		return err
	}
	file, err := modfile.ParseLax(path, mod, nil)
	if err != nil {
		return err
	}
	for _, require := range file.Require {
		if module := require.Mod.Path; b.pkg == module || strings.HasPrefix(b.pkg, module+"/") {
			b.version = require.Mod.Version
		}
	}
	if b.version == "" {
		return fmt.Errorf("%s requires no module that holds %s", path, b.pkg)
	}
	digest := sha256.Sum256(slices.Concat(mod, sum, []byte(b.ldflags()+b.tags)))
	b.hash = hex.EncodeToString(digest[:6])
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
