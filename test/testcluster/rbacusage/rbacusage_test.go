// SPDX-License-Identifier: Apache-2.0

package rbacusage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const manifests = `
kind: ClusterRole
metadata: {name: everywhere}
rules:
  - {apiGroups: [""], resources: [secrets, pods], verbs: [list, watch]}
  - {apiGroups: [apps], resources: [deployments/status], verbs: [patch]}
---
kind: ClusterRoleBinding
metadata: {name: a}
roleRef: {kind: ClusterRole, name: everywhere}
subjects: [{kind: ServiceAccount, namespace: ns, name: me}]
---
kind: Role
metadata: {name: here, namespace: ns}
rules:
  - {apiGroups: [""], resources: [events], verbs: [create]}
---
kind: Role
metadata: {name: here, namespace: other}
rules:
  - {apiGroups: [""], resources: [nodes], verbs: [create]}
---
kind: RoleBinding
metadata: {name: b, namespace: ns}
roleRef: {kind: Role, name: here}
subjects: [{kind: ServiceAccount, namespace: ns, name: me}]
---
kind: ClusterRole
metadata: {name: of-another}
rules:
  - {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}
---
kind: ClusterRoleBinding
metadata: {name: c}
roleRef: {kind: ClusterRole, name: of-another}
subjects: [{kind: ServiceAccount, namespace: ns, name: you}]
---
kind: ClusterRoleBinding
metadata: {name: d}
roleRef: {kind: ClusterRole, name: nowhere}
subjects: [{kind: ServiceAccount, namespace: ns, name: lost}]
`

func objects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for text := range strings.SplitSeq(manifests, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

func TestGranted(t *testing.T) {
	granted, err := Granted(objects(t), "ns", "me")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"create events", "list pods", "list secrets", "patch deployments.apps/status", "watch pods",
		"watch secrets"}
	if diff := cmp.Diff(want, granted.Sorted()); diff != "" {
		t.Error(diff)
	}
	if none, err := Granted(objects(t), "elsewhere", "me"); err != nil || len(none) != 0 {
		t.Errorf("another ServiceAccount has %v, %v", none, err)
	}
	for name, want := range map[string]string{"you": "grants more than", "lost": "there is no ClusterRole nowhere"} {
		if _, err := Granted(objects(t), "ns", name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func event(user, decision, verb, resource, sub string, code int) string {
	text, err := json.Marshal(map[string]any{
		"user": map[string]any{"username": user}, "verb": verb,
		"annotations":    map[string]any{"authorization.k8s.io/decision": decision},
		"objectRef":      map[string]any{"resource": resource, "subresource": sub},
		"responseStatus": map[string]any{"code": code},
	})
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

func TestUsed(t *testing.T) {
	const me = "system:serviceaccount:ns:me"
	log := filepath.Join(t.TempDir(), "audit.log")
	text := event(me, "allow", "list", "pods", "", 200) + event(me, "forbid", "list", "secrets", "", 403) +
		event(me+"2", "allow", "watch", "pods", "", 200) + event(me, "allow", "patch", "services", "", 201) +
		event(me, "allow", "patch", "deployments", "status", 200) + event(me, "allow", "delete", "pods", "", 200)[:40]
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	used, err := Used(log, "ns", "me")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"create services", "list pods", "patch deployments/status", "patch services"}
	if diff := cmp.Diff(want, used.Sorted()); diff != "" {
		t.Error(diff)
	}
	file := filepath.Join(t.TempDir(), "used.json")
	if err := used.Save(file); err != nil {
		t.Fatal(err)
	}
	again, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(used, again); diff != "" {
		t.Error(diff)
	}
	granted, err := Granted(objects(t), "ns", "me")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"create events", "list secrets", "patch deployments.apps/status", "watch pods",
		"watch secrets"},
		granted.Without(used, Set{}).Sorted()); diff != "" {
		t.Error(diff)
	}
}
