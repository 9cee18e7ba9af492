// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jutsu.com/operators/test/testcluster/project"
)

func TestInputsOfSuites(t *testing.T) {
	t.Parallel()
	for suite, test := range map[string]struct{ with, without []string }{
		"specs-dojo-operator": {
			with: []string{
				"apis/core/v1/dojo_types.go", "dojo-operator/internal/workload/plan.go", "dojo-operator/specs/suite_test.go",
				"test/testcluster/cnpgtest/play.go", "deploy/dojo-operator/base/role.yaml", "tools/kubernetes/go.mod", ".ci/run",
			},
			without: []string{"discord-operator/internal/controller/channel/plan.go", "test/e2e/suite_test.go", "README.md", "docs/do/restore.md"},
		},
		"specs-discord-operator": {
			with: []string{
				"apis/discord/v1alpha1/channel_types.go", "discord-operator/internal/controller/channel/plan.go",
				"discord-operator/specs/suite_test.go", "test/discordtest/server.go",
			},
			without: []string{"dojo-operator/internal/workload/plan.go", "docs/do/restore.md"},
		},
		"integration": {with: []string{
			"test/deploy/inputs_test.go", "README.md", "docs/do/restore.md", ".github/workflows/ci.yaml", ".ci/baseline",
			"tools/release/former.go",
		}},
		"artifacts": {with: []string{"tools/release/main.go", "tools/charts/main.go", "dojo-operator/CHANGELOG.md"}},
		"playground": {
			with:    []string{"test/playground/run.go", "discord-operator/internal/controller/channel/plan.go", "dojo-operator/cmd/dojo-operator/main.go"},
			without: []string{"test/e2e/suite_test.go", "docs/do/restore.md"},
		},
		"e2e": {
			with: []string{
				"test/e2e/suite_test.go", "test/e2e/programs/dojo/main.go", "docs/do/restore.md", "docs/learn/quickstart.md",
				"tools/release/former.go", "dojo-operator/CHANGELOG.md",
			},
			without: []string{"test/bench/main.go", "README.md", "docs/understand/architecture.md"},
		},
		"site": {
			with:    []string{"README.md", "docs/do/restore.md", "docs/images/terminal.svg", "tools/docs/package.json"},
			without: []string{"dojo-operator/cmd/dojo-operator/main.go", "deploy/dojo-operator/base/role.yaml"},
		},
	} {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			inputs := inputsOf(t, suite)
			for _, file := range test.with {
				if !slices.Contains(inputs, file) {
					t.Errorf("%s is not an input", file)
				}
			}
			for _, file := range test.without {
				if slices.Contains(inputs, file) {
					t.Errorf("%s is an input", file)
				}
			}
		})
	}
}

func TestSuitesHaveInputs(t *testing.T) {
	t.Parallel()
	calls := regexp.MustCompile(`(?m)^\s+affected (\S+) `).FindAllStringSubmatch(text(t, ".ci/run"), -1)
	if len(calls) < 2 {
		t.Fatalf("only %v found", calls)
	}
	for _, call := range calls {
		if suite := call[1]; !strings.HasPrefix(suite, `"`) && len(inputsOf(t, suite)) < 100 {
			t.Errorf("%s has hardly an input", suite)
		}
	}
}

func inputsOf(t *testing.T, suite string) []string {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "inputs"), suite)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
