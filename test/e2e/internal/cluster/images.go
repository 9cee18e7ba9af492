// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"io"
	"runtime"

	"jutsu.com/operators/test/e2e/internal/images"
	"jutsu.com/operators/test/testcluster/binaries"
)

const (
	pause = "test/e2e/programs/pause"
	dojo  = "test/e2e/programs/dojo"
)

// pinned returns the images of the cluster's pods. Pods stay in ImagePullBackOff if the tags differ
// from dns.yaml, testdata/monitoring.yaml, or the manifests in the Go modules that tools/ pins.
func pinned(ctx context.Context, folder string, progress io.Writer) ([]images.Image, error) {
	paths, err := binaries.Locate(ctx, progress, binaries.CoreDNS, binaries.CloudNativePG,
		binaries.PrometheusOperator, binaries.ConfigReloader, binaries.Prometheus, binaries.Alertmanager)
	if err != nil {
		return nil, err
	}
	programs, err := images.Compile(ctx, folder, pause, dojo)
	if err != nil {
		return nil, err
	}
	postgres, err := images.PostgresArchive(ctx, progress)
	if err != nil {
		return nil, err
	}
	bouncer, err := images.PgBouncerArchive(ctx, progress)
	if err != nil {
		return nil, err
	}
	manager := "manager_" + runtime.GOARCH
	program := func(name, path, source string) images.Image {
		return images.Image{Name: name, Files: map[string]string{path: source}, Entrypoint: []string{path}}
	}
	return []images.Image{
		program("jutsu/pause:e2e", "/pause", programs[pause]),
		program("danijelradakovic/dojo:0.1.0-alpine", "/dojo", programs[dojo]), // the default of dojo-operator's --dojo-image
		program("registry.k8s.io/coredns/coredns:v1.15.0", "/coredns", paths[binaries.CoreDNS]),
		program("quay.io/prometheus-operator/prometheus-operator:v0.93.0", "/bin/operator",
			paths[binaries.PrometheusOperator]),
		program("quay.io/prometheus-operator/prometheus-config-reloader:v0.93.0", "/bin/prometheus-config-reloader",
			paths[binaries.ConfigReloader]),
		program("quay.io/prometheus/prometheus:v3.15.0", "/bin/prometheus", paths[binaries.Prometheus]),
		program("quay.io/prometheus/alertmanager:v0.31.1", "/bin/alertmanager", paths[binaries.Alertmanager]),
		{
			Name: "ghcr.io/cloudnative-pg/cloudnative-pg:1.30.0",
			// CloudNativePG copies the binary of the node's architecture into the pods of Clusters.
			Files: map[string]string{"/operator/" + manager: paths[binaries.CloudNativePG],
				"/manager": "-> operator/" + manager},
		},
		{Name: "ghcr.io/cloudnative-pg/postgresql:" + images.PostgresVersion, Archive: postgres, User: "26"},
		// CloudNativePG 1.30.0 uses this name by default (pkg/versions/versions.go). The image's
		// PgBouncer is from Debian 13.
		{Name: "ghcr.io/cloudnative-pg/pgbouncer:1.25.1", Archive: bouncer, User: "998"},
	}, nil
}
