// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/libs/kubectl/term"
)

func operatorOf(name, image string, ready int32) []appsv1.Deployment {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: name + "-system", Name: name}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Image: image}}
	d.Status.Replicas, d.Status.ReadyReplicas = 2, ready
	return []appsv1.Deployment{d}
}

func server(kind kinds.Kind, spec map[string]any) unstructured.Unstructured {
	o := kind.Object()
	o.SetNamespace("monitoring")
	o.SetName("main")
	o.Object["spec"] = spec
	return *o
}

func selector(key, value string) map[string]any {
	return map[string]any{"matchLabels": map[string]any{key: value}}
}

func whole() Facts {
	every := map[string]any{}
	return Facts{
		Namespace: "team-a", Labels: map[string]string{"kubernetes.io/metadata.name": "team-a", "monitored": "yes"},
		Dojos: []corev1api.Dojo{*apitest.Sendai()}, Absent: map[string]bool{},
		Deployments: map[string][]appsv1.Deployment{
			DojoOperator: operatorOf(DojoOperator, "ghcr.io/x/dojo-operator:v1.2.3@sha256:ab", 2), DiscordOperator: operatorOf(DiscordOperator, "r:5000/discord-operator@sha256:0123456789abcdef", 1),
			CloudNativePG: operatorOf(CloudNativePG, "ghcr.io/cloudnative-pg/cloudnative-pg:1.30.0", 1),
		},
		Prometheuses: []unstructured.Unstructured{server(kinds.Prometheus, map[string]any{
			"ruleSelector": every, "ruleNamespaceSelector": selector("monitored", "yes"), "serviceMonitorSelector": every,
			"serviceMonitorNamespaceSelector": every,
		})},
		Alertmanagers: []unstructured.Unstructured{server(kinds.Alertmanager, map[string]any{
			"alertmanagerConfigSelector": selector("app.kubernetes.io/instance", "sendai"), "alertmanagerConfigNamespaceSelector": every,
		})},
		Scraped: new(true),
		Classes: []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{
			Name: "fast", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		}}},
		Rights: []Right{{Commands: "list, status, tree", Needed: true}, {Commands: "psql", Lacks: []string{"create pods/exec"}}},
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	all := Lines(whole())
	if text := Text(all, term.Style{}); Failed(all) || strings.Contains(text, "fix") {
		t.Errorf("check reports a fault, but nothing is missing:\n%s", text)
	}
	few := []corev1api.Dojo{*apitest.Sendai(func(d *corev1api.Dojo) {
		d.Spec.Postgres, d.Spec.Alerts = nil, nil
		d.Spec.CredentialsRef = &corev1api.SecretReference{Name: "x"}
	})}
	absent := func(all ...kinds.Kind) func(*Facts) {
		return func(f *Facts) {
			for _, k := range all {
				f.Absent[k.Resource()] = true
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*Facts)
		want   string
		failed bool
	}{
		"versions":                                    {nil, "ok  dojo-operator        v1.2.3 in dojo-operator-system, 2/2 pods", false},
		"an image without a tag":                      {nil, "sha256:0123456789ab in discord-operator-system, 1/2 pods", false},
		"the kind Dojo is missing":                    {absent(kinds.Dojo), "fix  Dojo                 not installed; Dojos here need it\n                          -> install dojo-operator", true},
		"one of CloudNativePG's six kinds is missing": {absent(kinds.Pooler), "lacks poolers.postgresql.cnpg.io\n", true},
		"no Deployment of CloudNativePG":              {func(f *Facts) { delete(f.Deployments, CloudNativePG) }, "no Deployment has the label app.kubernetes.io/name=cloudnative-pg", true},
		"an operator without ready pods":              {func(f *Facts) { f.Deployments[DojoOperator] = operatorOf(DojoOperator, "x", 0) }, "-> kubectl describe deployments.apps dojo-operator -n dojo-operator-system", true},
		"the user may not list Deployments":           {func(f *Facts) { f.Blind = true }, "?   dojo-operator        you may not list deployments.apps", false},
		"kinds that no Dojo needs are missing": {func(f *Facts) {
			f.Dojos = few
			absent(kinds.Cluster, kinds.Role, kinds.Database, kinds.Schedule, kinds.Backup, kinds.Pooler)(f)
			absent(kinds.ObjectStore, kinds.Channel)(f)
		},
			"--  CloudNativePG        not installed; it is for spec.postgres", false},
		"the Gateway API is missing":             {absent(kinds.HTTPRoute), "--  Gateway API          not installed; it is for spec.exposure.gateway", false},
		"the kind AlertmanagerConfig is missing": {absent(kinds.Route), "lacks alertmanagerconfigs.monitoring.coreos.com", true},
		"the Prometheus does not select the namespace": {func(f *Facts) { f.Labels = map[string]string{} },
			"monitoring/main does not select PrometheusRules of the namespace team-a\n                          -> make ruleNamespaceSelector of monitoring/main match the labels of the namespace team-a", true},
		"the Alertmanager does not select a Dojo's objects": {func(f *Facts) {
			f.Alertmanagers[0].Object["spec"].(map[string]any)["alertmanagerConfigSelector"] = selector("release", "kps")
		}, "does not select AlertmanagerConfigs of sendai\n                          -> make alertmanagerConfigSelector of monitoring/main and spec.monitoring.labels of sendai match", true},
		"the Alertmanager selects a Dojo by its monitoring labels": {func(f *Facts) {
			f.Alertmanagers[0].Object["spec"].(map[string]any)["alertmanagerConfigSelector"] = selector("release", "kps")
			f.Dojos = []corev1api.Dojo{*apitest.Sendai(func(d *corev1api.Dojo) {
				d.Spec.Monitoring = &corev1api.Monitoring{Enabled: true, Labels: map[string]string{"release": "kps"}}
			})}
		}, "ok  Alertmanager         monitoring/main selects the objects of Dojos in team-a", false},
		"an Alertmanager without selectors":                {func(f *Facts) { f.Alertmanagers[0].Object["spec"] = map[string]any{} }, "does not select AlertmanagerConfigs of the namespace", true},
		"only one of two Prometheuses selects the objects": {func(f *Facts) { f.Prometheuses = append(f.Prometheuses, server(kinds.Prometheus, nil)) }, "--  Prometheus           monitoring/main does not select", false},
		"no Prometheus":                          {func(f *Facts) { f.Prometheuses = []unstructured.Unstructured{} }, "the cluster has no Prometheus of prometheus-operator", true},
		"the user may not list Prometheuses":     {func(f *Facts) { f.Prometheuses = nil }, "?   Prometheus           you may not list objects of this kind in all namespaces", false},
		"no ServiceMonitor scrapes the operator": {func(f *Facts) { f.Scraped = new(false) }, "-> add the kustomize component deploy/dojo-operator/components/prometheus", true},
		"no default StorageClass":                {func(f *Facts) { f.Classes = []storagev1.StorageClass{} }, "--  StorageClass         the cluster has no default StorageClass", false},
		"no default StorageClass, and a Dojo names no StorageClass": {func(f *Facts) {
			f.Classes, f.Dojos[0].Spec.Postgres.Cluster.Storage.StorageClassName = []storagev1.StorageClass{}, ""
		}, "and at least one Dojo does not name a StorageClass\n                          -> kubectl annotate storageclasses.storage.k8s.io NAME --overwrite storageclass.", true},
		"the user lacks an optional right": {nil, "--  rights               psql: you lack create pods/exec", false},
		"the user lacks a needed right":    {func(f *Facts) { f.Rights[0].Lacks = []string{"list dojos"} }, "fix  rights               list, status, tree: you lack list dojos", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := whole()
			if c.change != nil {
				c.change(&f)
			}
			lines := Lines(f)
			if text := Text(lines, term.Style{}); !strings.Contains(text, c.want) || Failed(lines) != c.failed {
				t.Errorf("the output should have %q, and check should fail: %v:\n%s", c.want, c.failed, text)
			}
		})
	}
}
