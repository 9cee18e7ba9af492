# Developer tools, each in a module of its own with the same library versions, so that no library is compiled twice: make
# align raises differing versions, make compiled reports them. tools/NAME/go.mod pins NAME with a `tool` line;
# `make bin/NAME` rebuilds it when that go.mod or go.sum has changed.
#
#	To update NAME:  cd tools/NAME && GOWORK=off go get -tool PACKAGE@VERSION && GOWORK=off go mod tidy
#
# test/testcluster/binaries downloads or builds the programs of test clusters (kubernetes, etcd, kwok, prometheus; for
# test/e2e also coredns, cloudnative-pg, plugin-barman-cloud, versitygw, prometheus-operator, alertmanager) into the
# user's cache. It also reads CustomResourceDefinitions and manifests from their modules.

# `go install` would set these versions; a build from tools/NAME must.
bin/controller-gen: stamp = -X sigs.k8s.io/controller-tools/pkg/version.version=$$version
bin/golangci-lint: stamp = -X main.version=$${version\#v}
bin/cosign: stamp = -X sigs.k8s.io/release-utils/version.gitVersion=$$version
bin/actionlint: stamp = -X github.com/rhysd/actionlint.version=$${version\#v}

bin/%: tools/%/go.mod tools/%/go.sum
	@cd tools/$* && $(export_flags) && export GOWORK=off && \
	version=$$(go list -f '{{.Module.Version}}' tool) && \
	echo "building $* $$version, once" && \
	../compile $* -ldflags="-s -w $(stamp)" -o=../../$@ tool && \
	touch ../../$@

# Without the clouds' service discoveries, which are most of it. test/testcluster/binaries builds the module's prometheus.
bin/promtool: tools/prometheus/go.mod tools/prometheus/go.sum
	@cd tools/prometheus && $(export_flags) && export GOWORK=off && \
	version=$$(go list -m -f '{{.Version}}' github.com/prometheus/prometheus) && \
	echo "building promtool $$version, once" && \
	../compile promtool -tags=remove_all_sd,enable_kubernetes_sd -ldflags="-s -w -X github.com/prometheus/common/version.Version=$$version" \
		-o=../../bin/promtool github.com/prometheus/prometheus/cmd/promtool && \
	touch ../../bin/promtool

# The project's own programs.
bin/release bin/charts bin/compiled bin/crds bin/project: bin/%: tools/%/go.mod tools/%/go.sum $(wildcard tools/release/* tools/charts/* tools/charts/assets/* tools/compiled/* tools/crds/* tools/project/* tools/project/*/*)
	@echo "building $*"
	@cd tools/$* && $(export_flags) && GOWORK=off ../compile $* -o=../../$@ . && touch ../../$@
