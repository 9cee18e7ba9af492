// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"jutsu.com/operators/test/testcluster/project"
)

// CloudNativePGCRDs returns the folder with the CRDs of the module that tools/cloudnative-pg pins.
func CloudNativePGCRDs(ctx context.Context) (string, error) {
	return moduleFolder(ctx, "cloudnative-pg", "github.com/cloudnative-pg/cloudnative-pg", "config", "crd", "bases")
}

// PrometheusOperatorCRDs returns the folder with the CRDs of prometheus-operator's pinned module.
func PrometheusOperatorCRDs(ctx context.Context) (string, error) {
	return moduleFolder(ctx, "prometheus-operator", "github.com/prometheus-operator/prometheus-operator", "example",
		"prometheus-operator-crd")
}

// HTTPRouteCRD returns the file with HTTPRoute's CRD in the module that tools/gateway-api pins.
func HTTPRouteCRD(ctx context.Context) (string, error) {
	return moduleFolder(ctx, "gateway-api", "sigs.k8s.io/gateway-api", "config", "crd", "standard",
		"gateway.networking.k8s.io_httproutes.yaml")
}

// CloudNativePGManifest returns the file that installs CloudNativePG.
func CloudNativePGManifest(ctx context.Context) (string, error) {
	return moduleFolder(ctx, "cloudnative-pg", "github.com/cloudnative-pg/cloudnative-pg", "releases", "cnpg-1.30.0.yaml")
}

// BarmanPluginManifest returns the file that installs CloudNativePG's plugin for object stores.
func BarmanPluginManifest(ctx context.Context) (string, error) {
	return moduleFolder(ctx, "plugin-barman-cloud", "github.com/cloudnative-pg/plugin-barman-cloud", "manifest.yaml")
}

// PrometheusOperatorManifest returns the file that installs prometheus-operator.
func PrometheusOperatorManifest(ctx context.Context) (string, error) {
	return moduleFolder(ctx, "prometheus-operator", "github.com/prometheus-operator/prometheus-operator", "bundle.yaml")
}

// moduleFolder returns a path in the module that tools/NAME pins. It downloads a missing module.
func moduleFolder(ctx context.Context, name, module string, path ...string) (string, error) {
	tools, err := project.Path("tools", name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = tools
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets the go command clean up
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	var found struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &found); err == nil {
		err = decodeErr
	}
	if found.Error != "" {
		err = errors.New(found.Error)
	}
	if err != nil {
		return "", fmt.Errorf("testcluster: download %s, pinned in %s: %w", module, cmd.Dir, err)
	}
	folder := filepath.Join(append([]string{found.Dir}, path...)...)
	if _, err := os.Stat(folder); err != nil {
		return "", fmt.Errorf("testcluster: %s: %w", module, err)
	}
	return folder, nil
}
