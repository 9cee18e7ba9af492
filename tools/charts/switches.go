// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// change is what a value of the chart switches on: a component, or patches as docs/install.md has them.
type change struct {
	// Component is the name of a folder in deploy/OPERATOR/components. Operators without it have no such value.
	Component string
	// Patches are patches of the Deployment, for what is no component.
	Patches []string
	// Only is the operator that the patches are for; empty for all.
	Only string
	// Value is the path of the value; anything but false and empty switches it on.
	Value string
	// Access is set when the component also changes what the operator may do in a watched namespace.
	Access bool
	// Environment maps a ConfigMap's key, as "suffix of the name/key", from which the component takes a variable, to
	// the template of the variable's value: in a chart it needs no ConfigMap.
	Environment map[string]string
}

// changes are in the order in which kustomizations list the components. Those that remove something come last.
var changes = []change{
	{Component: "prometheus", Value: "prometheus.enabled"},
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

// switchesOf are the changes that an operator has. Each of its components has to have one.
func switchesOf(folder string) ([]change, error) {
	entries, err := os.ReadDir(filepath.Join(folder, "components"))
	if err != nil {
		return nil, err
	}
	components := map[string]bool{}
	for _, entry := range entries {
		components[entry.Name()] = true
	}
	of := slices.DeleteFunc(slices.Clone(changes), func(c change) bool {
		return c.Component != "" && !components[c.Component] || c.Only != "" && c.Only != filepath.Base(folder)
	})
	for _, c := range of {
		delete(components, c.Component)
	}
	for component := range components {
		return nil, fmt.Errorf("no value switches components/%s on: add it to changes in tools/charts/switches.go, and to "+
			"values.yaml and values.schema.json in tools/charts/assets", component)
	}
	return of, nil
}
