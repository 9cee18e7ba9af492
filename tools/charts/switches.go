// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// change is a component, or patches of docs/do/install.md, that a value of the chart selects.
type change struct {
	// Component is a path in deploy/OPERATOR/components, which an operator may lack. It is empty if
	// the value selects only Patches.
	Component string
	Patches   []string
	Only      string
	// Value is the path of the value. The change is on unless the value is false or empty.
	Value string
	// Access reports whether the component also changes rights in the watched namespaces.
	Access bool
	// Environment maps SUFFIX/KEY, the end of a ConfigMap's name and one of its keys, to a template
	// for the environment variable.
	Environment map[string]string
}

// A kustomization lists the components in this order. Components that remove something are last.
var changes = []change{
	{Component: "prometheus", Value: "prometheus.enabled"},
	{Component: "docs-url/links", Value: "docsURL"},
	{Component: "metrics-certificate", Value: "metricsCertificate.enabled"},
	{Component: "grafana", Value: "grafana.enabled"},
	{Component: "network-policy", Value: "networkPolicy.enabled"},
	{Component: "network-policy-any-dns", Value: "networkPolicy.anyDNS"},
	{Component: "network-policy-any-api-port", Value: "networkPolicy.anyAPIPort"},
	{Component: "discord-compatible", Value: "discordAPIURL",
		Environment: map[string]string{"-api/url": "{{ .Values.discordAPIURL | quote }}"}},
	{Component: "namespace-selectors", Value: "namespaceSelectors"},
	{Value: "platformUsers", Patches: []string{
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: any},
			spec: {template: {spec: {securityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}}}}}`}},
	{Value: "platformUsers", Only: "dojo-operator", Patches: []string{
		`- {op: add, path: /spec/template/spec/containers/0/args/-, value: --platform-users}`}},
	{Component: "aggregated-roles", Value: "aggregatedRoles"},
	{Component: "owner-references-permission-enforcement", Value: "ownerReferencesPermissionEnforcement", Access: true},
	{Component: "namespaced", Value: "watchNamespaces",
		Environment: map[string]string{"-namespaces/namespaces": `{{ join "," .Values.watchNamespaces | quote }}`}},
}

// switchesOf fails if a component has no change in the list.
func switchesOf(folder string) ([]change, error) {
	entries, err := os.ReadDir(filepath.Join(folder, "components"))
	if err != nil {
		return nil, err
	}
	components := map[string]bool{}
	for _, entry := range entries {
		components[entry.Name()] = true
	}
	top := func(c change) string {
		name, _, _ := strings.Cut(c.Component, "/")
		return name
	}
	of := slices.DeleteFunc(slices.Clone(changes), func(c change) bool {
		return c.Component != "" && !components[top(c)] || c.Only != "" && c.Only != filepath.Base(folder)
	})
	for _, c := range of {
		delete(components, top(c))
	}
	for component := range components {
		return nil, fmt.Errorf("no value switches components/%s on: add it to changes in tools/charts/switches.go, and to "+
			"tools/charts/values.schema.json", component)
	}
	return of, nil
}
