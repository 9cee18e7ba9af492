// SPDX-License-Identifier: Apache-2.0

package main

type target struct {
	name   string
	budget int64 // bytes of Go source
	builds []build
}

type build struct {
	folder   string   // below the project's root
	packages []string // as the go command names packages
	tags     string
	race     bool
	tests    bool // whether to compile the imports of the packages' tests too
	alone    bool // whether to build without the workspace
}

const mega = 1_000_000

// tool builds programs of tools/NAME, by default the tools in its go.mod.
func tool(name string, packages ...string) build {
	if len(packages) == 0 {
		packages = []string{"tool"}
	}
	return build{folder: "tools/" + name, packages: packages, alone: true}
}

func own(name string, tests bool) build {
	return build{folder: "tools/" + name, packages: []string{"./..."}, alone: true, tests: tests}
}

func kubernetes(commands ...string) build {
	var packages []string
	for _, command := range commands {
		packages = append(packages, "k8s.io/kubernetes/cmd/"+command)
	}
	return tool("kubernetes", packages...)
}

func prometheus(command string) build {
	b := tool("prometheus", "github.com/prometheus/prometheus/cmd/"+command)
	b.tags = "remove_all_sd,enable_kubernetes_sd"
	return b
}

var (
	operators = []build{
		{folder: "dojo-operator", packages: []string{"./cmd/..."}, alone: true},
		{folder: "discord-operator", packages: []string{"./cmd/..."}, alone: true},
	}
	cluster = []build{
		{folder: "test/testcluster", packages: []string{"./cmd/testcluster"}},
		tool("etcd"), kubernetes("kube-apiserver", "kube-controller-manager", "kube-scheduler"), tool("kwok"),
	}
	playground = build{folder: "test", packages: []string{"./playground"}}
	// modules have tests that need no operator.
	modules = []string{"apis", "libs/conditions", "libs/manager", "libs/apply", "test/testcluster", "test/discordtest",
		"libs/discordclient"}
	specs = []build{
		{folder: "dojo-operator", packages: []string{"./..."}, race: true, tests: true},
		{folder: "discord-operator", packages: []string{"./..."}, race: true, tests: true},
	}
	lint = []build{tool("golangci-lint"), tool("actionlint"), tool("controller-gen"), tool("crd-ref-docs")}
	node = []build{
		kubernetes("kubelet", "kube-proxy"), tool("coredns"), tool("prometheus-operator"), tool("alertmanager"),
		{folder: "test", packages: []string{"./e2e/..."}, tests: true},
	}
)

// A budget is the measured amount of source plus a tenth.
var targets = []target{
	{name: "make run", budget: 115 * mega, builds: join(operators, cluster, []build{playground})},
	{name: "make test", budget: 255 * mega, builds: join(cluster, unit(modules), specs, []build{
		{folder: "test", packages: []string{"./..."}, race: true, tests: true}, // compiled by go vet
		tool("cloudnative-pg"), kubernetes("kubectl"), own("charts", false), tool("controller-gen"), tool("crd-ref-docs"),
	})},
	{name: ".ci/run", budget: 380 * mega, builds: join(operators, cluster, unit(modules), specs, lint, node, []build{
		playground, {folder: "test", packages: []string{"./..."}, race: true, tests: true},
		tool("cloudnative-pg"), kubernetes("kubectl"), prometheus("prometheus"), prometheus("promtool"), tool("cosign"),
		own("charts", true), own("release", true),
	})},
}

func unit(modules []string) (builds []build) {
	for _, module := range modules {
		builds = append(builds, build{folder: module, packages: []string{"./..."}, race: true, tests: true})
	}
	return builds
}

func join(parts ...[]build) (all []build) {
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}
