// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// In Equal, a missing label equals an empty label, as in a map of labels
// (https://prometheus.io/docs/alerting/latest/configuration/#inhibit_rule).
type inhibitRule struct {
	Source []string `json:"source_matchers"`
	Target []string `json:"target_matchers"`
	Equal  []string `json:"equal"`
}

var matcher = regexp.MustCompile(`^(\w+) (=|!=|=~|!~) "?([^"]*)"?$`)

// An alert about one namespace does not mute a warning about another namespace.
func TestInhibitRules(t *testing.T) {
	var config struct {
		Rules []inhibitRule `json:"inhibit_rules"`
	}
	for _, block := range yamlBlock.FindAllStringSubmatch(read(t, "docs/alerts.md"), -1) {
		if strings.Contains(block[1], "inhibit_rules:") {
			must(t, yaml.Unmarshal([]byte(block[1]), &config))
		}
	}
	type labels = map[string]string
	dojos, objects := labels{"alertname": "DojosNotReady"}, labels{"alertname": "DiscordObjectsNotReady"}
	of := func(alert labels, severity, namespace, kind string) labels {
		return labels{"alertname": alert["alertname"], "severity": severity, "namespace": namespace, "kind": kind}
	}
	for name, c := range map[string]struct {
		source, target labels
		want           bool
	}{
		"a platform alert, and a tenant's warning": {
			of(dojos, "critical", "dojo-system", ""), of(dojos, "warning", "team-a", ""), false},
		"a platform alert, and a warning of the same namespace": {
			of(dojos, "critical", "dojo-system", ""), of(dojos, "warning", "dojo-system", ""), true},
		"a platform alert, and a warning about objects of another kind": {
			of(objects, "critical", "discord-system", "DiscordRole"),
			of(objects, "warning", "discord-system", "DiscordChannel"), false},
		"an alert about many namespaces, and a tenant's warning": {of(dojos, "critical", "", ""), of(dojos, "warning", "team-a", ""), true},
		"an alert about many namespaces, and a warning about the same kind": {
			of(objects, "critical", "", "DiscordRole"), of(objects, "warning", "team-a", "DiscordRole"), true},
		"an alert about many namespaces, and a warning about another kind": {
			of(objects, "critical", "", "DiscordRole"), of(objects, "warning", "team-a", "DiscordChannel"), false},
		"an alert about many namespaces, and a warning with another alert name": {
			of(dojos, "critical", "", ""), of(objects, "warning", "team-a", ""), false},
		"a warning as the source": {of(dojos, "warning", "team-a", ""), of(dojos, "warning", "team-a", ""), false},
	} {
		muted := slices.ContainsFunc(config.Rules, func(r inhibitRule) bool {
			return matchAll(t, r.Source, c.source) && matchAll(t, r.Target, c.target) &&
				!slices.ContainsFunc(r.Equal, func(label string) bool { return c.source[label] != c.target[label] })
		})
		if muted != c.want {
			t.Errorf("%s: muted: %v", name, muted)
		}
	}
}

// See https://prometheus.io/docs/alerting/latest/configuration/#matcher.
func matchAll(t *testing.T, matchers []string, labels map[string]string) bool {
	t.Helper()
	for _, text := range matchers {
		parts := matcher.FindStringSubmatch(text)
		if parts == nil {
			t.Fatalf("the matcher %s", text)
		}
		matched := labels[parts[1]] == parts[3]
		if strings.HasSuffix(parts[2], "~") {
			matched = regexp.MustCompile("^(?:" + parts[3] + ")$").MatchString(labels[parts[1]])
		}
		if matched == strings.HasPrefix(parts[2], "!") {
			return false
		}
	}
	return true
}
