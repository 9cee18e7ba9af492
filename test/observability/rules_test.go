// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/environment"
)

type ruleSpec struct {
	Name  string
	Rules []struct {
		Alert, Record, Expr string
		Labels, Annotations map[string]string
	}
}

func groupsOf(t *testing.T, o environment.Operator) (raw []any, as []ruleSpec) {
	t.Helper()
	for _, object := range renderWith(t, o, "prometheus") {
		if object.GetKind() != prometheusRule.Kind {
			continue
		}
		var err error
		raw, _, err = unstructured.NestedSlice(object.Object, "spec", "groups")
		must(t, err)
		decode(t, map[string]any{"groups": raw}, &struct{ Groups *[]ruleSpec }{&as})
	}
	if len(as) == 0 {
		t.Fatalf("%s has no PrometheusRule", o.Name)
	}
	return raw, as
}

// checkRules checks rules with promtool, and returns the folder of the written rules.yaml.
func checkRules(t *testing.T, groups []any) string {
	t.Helper()
	folder := t.TempDir()
	rules := filepath.Join(folder, "rules.yaml")
	write(t, rules, map[string]any{"groups": groups})
	if out, err := exec.CommandContext(t.Context(), promtool(t), "check", "rules", "--lint=all", "--lint-fatal", rules).
		CombinedOutput(); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
	return folder
}

func TestRules(t *testing.T) {
	for _, o := range environment.All {
		t.Run(o.Name, func(t *testing.T) {
			groups, as := groupsOf(t, o)
			folder := checkRules(t, groups)
			tryRules(t, folder, o.Name+".rules.yaml", as)
		})
	}
}

func tryRules(t *testing.T, folder, file string, groups []ruleSpec) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	must(t, err)
	tests := filepath.Join(folder, "tests.yaml")
	must(t, os.WriteFile(tests, text, 0o600))
	if out, err := exec.CommandContext(t.Context(), promtool(t), "test", "rules", tests).CombinedOutput(); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
	everyAlertIsTried(t, text, groups)
}

// See https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/.
type ruleTests struct {
	Tests []struct {
		Alerts []struct {
			Name string `json:"alertname"`
			Want []struct {
				Labels map[string]string `json:"exp_labels"`
			} `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	}
}

// In the unit tests, each alert fires in one case, and does not fire in another case.
func everyAlertIsTried(t *testing.T, tests []byte, groups []ruleSpec) {
	t.Helper()
	var cases ruleTests
	must(t, yaml.Unmarshal(tests, &cases))
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, c := range cases.Tests {
		for _, alert := range c.Alerts {
			severities := map[string]bool{}
			for _, want := range alert.Want {
				severities[want.Labels["severity"]] = true
			}
			for _, severity := range []string{"critical", "warning"} {
				name := alert.Name + "/" + severity
				fires[name], rests[name] = fires[name] || severities[severity], rests[name] || !severities[severity]
			}
		}
	}
	for _, group := range groups {
		for _, rule := range group.Rules {
			name := rule.Alert + "/" + rule.Labels["severity"]
			if rule.Record == "" && (!fires[name] || !rests[name]) {
				t.Errorf("%s: tried firing: %v, tried resting: %v", name, fires[name], rests[name])
			}
		}
	}
}

// Each alert has a summary, a description and a section in docs/alerts.md.
func TestRunbooks(t *testing.T) {
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^### (D\w+)$`).FindAllStringSubmatch(read(t, "docs/alerts.md"), -1) {
		sections[heading[1]] = true
	}
	g := NewWithT(t)
	for _, o := range environment.All {
		_, groups := groupsOf(t, o)
		for _, group := range groups {
			for _, rule := range group.Rules {
				if rule.Record != "" {
					continue
				}
				g.Expect(rule.Annotations).To(And(HaveKey("summary"), HaveKey("description")), rule.Alert)
				g.Expect(rule.Labels).To(HaveKeyWithValue("severity", MatchRegexp("^(critical|warning)$")), rule.Alert)
				g.Expect(sections).To(HaveKey(rule.Alert), "a section ### %s in docs/alerts.md", rule.Alert)
				sections[rule.Alert] = false
			}
		}
	}
	g.Expect(sections).NotTo(ContainElement(true), "sections of alerts that do not exist")
}
