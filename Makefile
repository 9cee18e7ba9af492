# `make` lists the targets. Programs are built into bin/; reports and logs go to out/.
SHELL := /bin/bash
.DEFAULT_GOAL := help

OPERATORS := dojo-operator discord-operator
MODULES := apis libs/conditions libs/manager libs/apply libs/discordclient libs/kubectl test/discordtest test/testcluster $(OPERATORS) test/environment test

# All builds share their flags (all builds with -race do, too), so that no checkout compiles a package twice. Tests run
# without vet: make vet and make lint include it.
flags := GOFLAGS="$$(go env GOFLAGS) -trimpath"
export_flags := export CGO_ENABLED=0 $(flags)
export_race_flags := export CGO_ENABLED=1 $(flags)
packages := $(MODULES:%=./%/...)

# Each test process has its own Kubernetes API, and waits part of its time.
PROCS := 4
# Programs under test collect garbage less often: a tenth less time for some memory.
export_fast := export GOGC=$${GOGC:-200}

include tools/tools.mk

.NOTPARALLEL: # tests share the machine

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^##@/ {print "\n" substr($$0, 5)} \
		/^[a-z0-9%-]+:.*## / {sub("%", "NAME", $$1); printf "  %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

##@ Try

.PHONY: run
run: build testcluster bin/playground ## Start the playground: a Kubernetes API, a simulated Discord, both operators, samples (ARGS=--once)
	@cd test && exec ../bin/playground $(ARGS)

##@ Try on a cluster, that of the current kubectl context or of CONTEXT=NAME; docs/learn/quickstart.md

DEV = cd test && exec ../bin/dev
.PHONY: install
install: bin/dev ## Install the kinds and the operators' permissions, without pods; can be repeated
	@$(DEV) install $(if $(CONTEXT),--context=$(CONTEXT)) $(ARGS)

.PHONY: dependencies
dependencies: bin/dev ## Install CloudNativePG and prometheus-operator, of pinned versions, where they are missing
	@$(DEV) dependencies $(if $(CONTEXT),--context=$(CONTEXT)) $(ARGS)

.PHONY: dev
dev: build bin/dev ## Run both operators on this machine, with their own permissions (ARGS=--simulate-discord)
	@$(DEV) run $(if $(CONTEXT),--context=$(CONTEXT)) $(ARGS)

.PHONY: cluster
cluster: bin/cluster ## Start a real node without Docker, as root on Linux, until Ctrl-C; it prints its KUBECONFIG
	@cd test && exec ../bin/cluster $(ARGS)

.PHONY: uninstall
uninstall: bin/dev ## Remove what install has installed, unless objects would be deleted with their kinds
	@$(DEV) uninstall $(if $(CONTEXT),--context=$(CONTEXT)) $(ARGS)

##@ Test

.PHONY: check
check: format subjects generated $(VET) unit ## All checks without Kubernetes: gofmt, generated files, vet, pure tests
	@echo "All checks passed. Next: make test"

.PHONY: test
test: check specs ## check, and the specs of both operators, with -race, on a real Kubernetes API
	@echo "All tests passed. Next: make run, or make test-all"

.PHONY: test-all
test-all: test integration artifacts ## test, integration and artifacts: all tests but e2e and chaos
	@echo "All tests passed. Next: make e2e"

VET := vet
.PHONY: vet
vet: ## Run go vet on all modules; make lint includes it
	@echo "vetting all modules"; $(export_race_flags) && go vet -race $(packages)

.PHONY: format
format: ## Fail if gofmt would change a file
	@unformatted=$$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l) && \
		if [ -n "$$unformatted" ]; then echo "run gofmt -w on:" $$unformatted; exit 1; fi

.PHONY: subjects
subjects: ## Fail where the subject of a commit since main has more than 72 columns
	@tools/subjects

.PHONY: generated
generated: ## Fail if make generate changes a file
	@state() { git ls-files --modified --others --exclude-standard -z | xargs -0 --no-run-if-empty sha256sum 2>/dev/null; git ls-files --deleted; }; \
		before=$$(state) && $(MAKE) --no-print-directory generate && after=$$(state) && \
		if [ "$$before" != "$$after" ]; then \
			diff <(echo "$$before") <(echo "$$after"); echo "generated files were out of date: commit what make generate has changed"; exit 1; fi

# Packages whose tests do or do not start a Kubernetes API. TESTFLAGS="-run X" selects tests.
cluster_tests = tools/tested cluster $(packages)
pure_tests = tools/tested pure $(packages)
go_test = go test -race -vet=off -timeout=$(TEST_TIMEOUT) $(TESTFLAGS)
# For a test that hangs, not for a slow machine.
TEST_TIMEOUT := 60m

# For tests that read files of other modules, which go's cache of results does not know (test/testcluster/project).
export_tree = export JUTSU_TREE=$$(git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null | sha256sum)

.PHONY: unit
unit: ## Tests of pure code, with -race
	@echo "testing pure code"; $(export_race_flags) && $(export_tree) && $(go_test) $$($(pure_tests))
	@$(export_race_flags) && export GOWORK=off && for tool in compiled crds; do (cd tools/$$tool && $(go_test) ./...) || exit 1; done

.PHONY: integration
integration: TESTCLUSTER_ALSO := prometheus kubectl cloudnative-pg
integration: build testcluster bin/promtool bin/release ## Other tests with a Kubernetes API: test cluster, playground, manifests, alerts
	@echo "testing with a Kubernetes API"; $(export_race_flags) && $(export_fast) && $(export_tree) && $(go_test) -p=$(PROCS) $$($(cluster_tests))

.PHONY: artifacts
artifacts: build testcluster bin/cosign bin/validate-krew-manifest ## Tests of images, releases and Helm charts
	@echo "testing tools/release, tools/charts and tools/project (without -race, under which compressing and compiling take minutes)"
	@$(export_flags) && export GOWORK=off && running=() && for tool in release charts project; do \
		(cd tools/$$tool && exec go test -count=1 -vet=off -timeout=$(TEST_TIMEOUT) $(TESTFLAGS) ./...) & running+=($$!); done && \
		failed=0 && for test in "$${running[@]}"; do wait "$$test" || failed=1; done && exit $$failed

.PHONY: specs
specs: $(OPERATORS:%=specs-%) ## The specs of both operators

# They need no controllers of Kubernetes, and wait most of their time: ten processes use two thirds of two cores.
specs-discord-operator: PROCS := 10
specs-%: TESTCLUSTER_ALSO := kubectl cloudnative-pg
specs-%: testcluster ## The specs of one operator, such as specs-dojo-operator; they drive the operator's binary on a real Kubernetes API
	@echo "testing $*/specs, $(PROCS) processes at a time"
	@cd $* && $(export_race_flags) && $(export_fast) && go tool ginkgo --race --vet=off --procs=$(PROCS) --timeout=0 --poll-progress-after=2m --succinct --no-color \
		--junit-report=junit.xml --output-dir=../out/$* ./specs

.PHONY: e2e
e2e: bin/release ## End-to-end specs on a real node, as root on Linux, or on the cluster of E2E_KUBECONFIG (ARGS="--focus=X")
	@cd test && $(export_flags) && E2E=1 go tool ginkgo --procs=$(PROCS) --timeout=90m -v --no-color \
		--junit-report=junit.xml --output-dir=../out/e2e --label-filter='$(LABELS)' $(ARGS) ./e2e

.PHONY: e2e-database
LABELS = !database
e2e-database: LABELS = database
e2e-database: e2e ## The long end-to-end specs of databases: failover, backup, upgrade; with figures

.PHONY: chaos
chaos: build testcluster bin/chaos ## Inject random faults and check invariants of the operators (ARGS="--seed 7 --duration 1h")
	@cd test && exec ../bin/chaos $(ARGS)

.PHONY: bench
bench: build testcluster bin/bench ## Measure the operators: time, requests, memory (ARGS="--dojos 100 --only load"; figures also in out/bench)
	@cd test && exec ../bin/bench $(ARGS)

.PHONY: discord-live
discord-live: build testcluster bin/live ## Compare the real Discord with the simulated one, in a new category of your server (TOKEN_FILE= SERVER_ID= [API_URL=])
	@cd test && exec ../bin/live --token-file='$(if $(TOKEN_FILE),$(abspath $(TOKEN_FILE)))' --server-id='$(SERVER_ID)' --api-url='$(API_URL)' $(ARGS)

.PHONY: ci-all
ci-all: ## All steps of CI, also the suites that .ci/run would skip because their inputs are unchanged
	@.ci/run --all

.PHONY: testcluster
testcluster: ## Download or build etcd, Kubernetes and kwok for tests and the playground (once, into the user's cache)
	@cd test/testcluster && $(export_flags) && export GOWORK=off && \
		../../tools/compile bin/testcluster -o=../../bin/testcluster ./cmd/testcluster && exec ../../bin/testcluster build $(TESTCLUSTER_ALSO)

##@ Change

.PHONY: generate
generate: bin/controller-gen bin/crds bin/crd-ref-docs bin/charts ## Generate deep copies, CRDs, RBAC, Helm charts and the tables of docs/reference
	@cd apis && ../bin/controller-gen object paths=./... && \
		../bin/controller-gen crd paths=./core/... output:crd:dir=../deploy/dojo-operator/crds && \
		../bin/controller-gen crd paths=./discord/... output:crd:dir=../deploy/discord-operator/crds
	@bin/crds deploy/*-operator/crds/*.jutsu.com_*.yaml
	@cp deploy/discord-operator/crds/discord.jutsu.com_*.yaml discord-operator/internal/cli/schema/crds/
	@mkdir -p out && cd apis && ../bin/crd-ref-docs --config=../tools/crd-ref-docs/config.yaml --source-path=. --renderer=markdown --max-depth=20 --output-path=../out/api-reference.md --log-level=ERROR
	@tools/reference out/api-reference.md
	@for operator in $(OPERATORS); do \
		(cd $$operator && ../bin/controller-gen rbac:roleName=$$operator,fileName=role.yaml paths=./internal/... output:rbac:dir=../deploy/$$operator/base && \
			../bin/controller-gen rbac:roleName=$$operator-process,fileName=process_role.yaml paths=./cmd/$$operator output:rbac:dir=../deploy/$$operator/base && \
			cd ../deploy/$$operator && sed 's/^kind: ClusterRole$$/kind: Role/' base/role.yaml > components/namespaced/access/role.yaml) || exit 1; \
	done
	@bin/charts

.PHONY: manifests
manifests: generate ## The same as generate

.PHONY: lint
lint: bin/golangci-lint bin/actionlint ## Run golangci-lint on all modules and actionlint on the workflows
	@echo "linting all modules"; $(export_flags) && bin/golangci-lint run $(packages)
	@echo "linting .github/workflows"; bin/actionlint -shellcheck= -pyflakes=
	@bin/actionlint -shellcheck= -pyflakes= deploy/samples/workflows/*.yaml
	@$(export_flags) && for tool in release charts compiled crds project; do \
		echo "linting tools/$$tool"; (cd tools/$$tool && GOWORK=off $(CURDIR)/bin/golangci-lint run ./...) || exit 1; \
	done

.PHONY: compat
compat: bin/release ## Compare the API with the last release of each operator, or the baseline; fails on a breaking change
	@for operator in $(OPERATORS); do bin/release compat $$operator || exit 1; done

.PHONY: vulnerabilities
vulnerabilities: bin/govulncheck ## Report known vulnerabilities that the operators, apis and libs reach (needs https://vuln.go.dev)
	@for module in $(filter-out test%,$(MODULES)); do \
		echo "checking $$module"; (cd $$module && GOWORK=off $(CURDIR)/bin/govulncheck ./...) || exit 1; \
	done

.PHONY: compiled
compiled: bin/compiled ## Report the source that run, test and CI compile, and repeated libraries; fails above a budget
	@bin/compiled

.PHONY: align
align: bin/compiled ## Raise each library to the newest version that a module of the workspace or of tools/ requires
	@bin/compiled -align

.PHONY: docs
docs: tools/docs/node_modules/.package-lock.json ## Render the pages into out/site; needs npm (DOCS_REPOSITORY=https://... links files)
	@cd tools/docs && npm run --silent build
	@echo "Next: make docs-live, to see it and each saved change"

.PHONY: docs-live
docs-live: tools/docs/node_modules/.package-lock.json ## Serve the pages on this machine and render them again when they change
	@cd tools/docs && exec npm run --silent dev

# npm ci refuses a lock file with the builds of rollup and esbuild for a single platform.
tools/docs/node_modules/.package-lock.json: tools/docs/package-lock.json
	@command -v npm >/dev/null || { echo "make docs needs npm, of Node.js 20 or newer: https://nodejs.org"; exit 1; }
	@echo "fetching the generator of the site, about 30 s, once"
	@cd tools/docs && npm install --no-save --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json

.PHONY: picture
picture: ## Renew the README's picture from the outputs that tests hold
	@cd test && $(export_flags) && go test ./pages -run '^TestTerminalPicture$$' -count=1 -update

.PHONY: screenshots
screenshots: ## Renew docs/images; needs Chromium and the fonts Noto Sans and Noto Color Emoji
	@cd test/discordtest && $(export_flags) && REQUIRE_BROWSER=1 go test ./page -run '^TestPicture$$' -count=1
	@cp out/discordtest/playground.png docs/images/

##@ Build and release

.PHONY: build
build: ## Build the operators and their plugins of kubectl into bin/ (VERSION=v1.2.3; by default from the operator's own tags)
	@$(export_flags) && for operator in $(OPERATORS); do \
		version="$(VERSION)"; : "$${version:=$$(tools/version "$$operator" 2>/dev/null)}"; \
		echo "building $$operator $${version:=dev}"; \
		(cd $$operator && GOWORK=off ../tools/compile $$operator -ldflags="-s -w -X main.version=$$version" -o=../bin/ ./cmd/...) || exit 1; \
	done

.PHONY: images
images: $(OPERATORS:%=image-%) ## Build the images of both operators into out/image, for amd64 and arm64, without Docker (tools/load kind loads them)

image-%: bin/release ## Such as image-dojo-operator: an image (IMAGE_REPO=ghcr.io/you pushes it, VERSION, PLATFORMS=linux/amd64)
	@bin/release image $* --version="$(VERSION)" --repo="$(IMAGE_REPO)" $(if $(PLATFORMS),--platform=$(PLATFORMS))

.PHONY: plugins
plugins: $(OPERATORS:%=plugin-%) ## Build the plugins of kubectl for Linux, macOS and Windows into out/plugin, as archives with SBOMs

plugin-%: bin/release ## Such as plugin-dojo-operator: kubectl-dojo (VERSION, PLATFORMS=linux/amd64,windows/amd64)
	@bin/release plugin $* --version="$(VERSION)" $(if $(PLATFORMS),--plugin-platform=$(PLATFORMS))

release-%: bin/release bin/cosign ## Such as release-dojo-operator (VERSION=v1.2.3 IMAGE_REPO=ghcr.io/you SIGN_KEY=cosign.key; DRY_RUN=1 publishes nothing)
	@bin/release publish $* --version="$(VERSION)" --repo="$(IMAGE_REPO)" $(if $(DRY_RUN),--dry-run) $(if $(PLATFORMS),--platform=$(PLATFORMS)) \
		$(if $(SIGN_KEY),--key="$(SIGN_KEY)") $(if $(SIGN_IDENTITY),--identity='$(SIGN_IDENTITY)')

.PHONY: tags
tags: bin/project ## Tag the Go modules and operators on a commit that requires the shared modules by version (VERSION=v1.2.3 OPERATOR=dojo-operator; by default both)
	@bin/project tags --version="$(VERSION)" --operator="$(OPERATOR)"

.PHONY: relocate
relocate: bin/project ## Move the project: module paths, links, images, charts (REPO=github.com/owner/name REGISTRY=ghcr.io/owner/name)
	@bin/project relocate --repo="$(REPO)" --registry="$(REGISTRY)"
	@$(MAKE) --no-print-directory bin/charts && bin/charts
	@echo "Next: git diff --stat, make check, and commit it. The way back: make relocate REPO=$$(git show HEAD:project.yaml | sed -n 's/^repo: //p')"

# Run directly, not by `go run`, so that a signal to make reaches them and they clean up.
PROGRAMS := bin/playground bin/bench bin/chaos bin/dev bin/live bin/cluster
.PHONY: $(PROGRAMS)
bin/cluster: folder := e2e/cmd/
$(PROGRAMS): bin/%:
	@echo "building $*"; cd test && $(export_flags) && ../tools/compile $* -o=../bin/$* ./$(folder)$*

.PHONY: clean
clean: ## Remove bin and out
	rm -rf bin out
