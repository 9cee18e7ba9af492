# `make help` lists what there is. Everything that is built lands in bin/, everything that is left to look at in out/.
SHELL := /bin/bash
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty --match 'dojo-operator/*' 2>/dev/null | sed 's|.*/||' || echo dev)
MODULES := apis libs/conditions libs/testcluster dojo-operator test

include tools/tools.mk

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: build ## Start the playground: a Kubernetes API, the operator and samples (ARGS=--once leaves when all is settled)
	@cd test && go run ./playground $(ARGS)

.PHONY: test
test: build ## Run all tests, with -race, against a real Kubernetes API
	@cd test && go run jutsu.com/operators/libs/testcluster/cmd/testcluster build
	@for module in $(MODULES); do echo "testing $$module"; (cd $$module && go test -race $(TESTFLAGS) ./...) || exit 1; done
	@echo "All tests passed. Next: make run"

.PHONY: lint
lint: bin/golangci-lint ## Look for mistakes and for what does not read like the rest
	@for module in $(MODULES); do echo "linting $$module"; (cd $$module && ../$$(dirname $$module | sed 's|[^.][^/]*|..|;s|^\.$$|.|')/bin/golangci-lint run ./...) || exit 1; done

.PHONY: generate
generate: bin/controller-gen bin/crd-ref-docs ## Generate deep copies, CRDs, RBAC and the API reference from the Go types
	@cd apis && ../bin/controller-gen object paths=./... && ../bin/controller-gen crd paths=./core/... output:crd:dir=../deploy/dojo-operator/crds
	@cd dojo-operator && ../bin/controller-gen rbac:roleName=dojo-operator,fileName=role.yaml paths=./... output:rbac:dir=../deploy/dojo-operator/base

.PHONY: build
build: ## Build the operator into bin/
	@echo "building dojo-operator $(VERSION)"
	@cd dojo-operator && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o ../bin/dojo-operator .

.PHONY: clean
clean: ## Remove what was built and what runs have left behind
	rm -rf bin out
