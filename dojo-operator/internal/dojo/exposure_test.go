package dojo

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func exposed(d *corev1api.Dojo) { d.Spec.Ingress = &corev1api.Ingress{Host: "dojo.example.org"} }

func watched(d *corev1api.Dojo) {
	d.Spec.Monitoring = &corev1api.Monitoring{Enabled: true, Labels: map[string]string{"release": "prometheus", nameLabel: "x"}}
}

func TestIngress(t *testing.T) {
	t.Parallel()
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "tokyo", Port: networkingv1.ServiceBackendPort{Name: "http"}}}
	rules := []networkingv1.IngressRule{{Host: "dojo.example.org", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
		Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix), Backend: backend}},
	}}}}
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want networkingv1.IngressSpec
	}{
		"the least": {tokyo(exposed), networkingv1.IngressSpec{Rules: rules}},
		"all": {tokyo(exposed, func(d *corev1api.Dojo) { d.Spec.Ingress.ClassName, d.Spec.Ingress.TLSSecretName = "nginx", "tls" }), networkingv1.IngressSpec{
			Rules: rules, IngressClassName: ptr.To("nginx"), TLS: []networkingv1.IngressTLS{{Hosts: []string{"dojo.example.org"}, SecretName: "tls"}},
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := settledWorld(t, c.dojo)
			if diff := cmp.Diff(c.want, w.ingress.Spec); diff != "" {
				t.Error(diff)
			}
			if s := w.pass(c.dojo); s.apply != nil || s.remove != nil {
				t.Errorf("a second pass writes %v", kinds(s))
			}
			c.dojo.Spec.Ingress = nil
			if w.pass(c.dojo); w.ingress != nil {
				t.Error("an Ingress that is not wanted any more stays")
			}
		})
	}
}

func TestStrangersOfKindsThatAreNotWantedAreNotInTheWay(t *testing.T) {
	t.Parallel()
	d := tokyo()
	w := settledWorld(t, d)
	w.ingress = &networkingv1.Ingress{ObjectMeta: foreign}
	w.custom = map[string]*unstructured.Unstructured{"ServiceMonitor": serviceMonitorKind.Object()}
	if s := w.pass(d); s.apply != nil || s.remove != nil || s.verdict != nil {
		t.Errorf("writes %v, removes %v, ends as %v", kinds(s), s.remove, s.verdict)
	}
	exposed(d)
	if s := w.pass(d); outcomeOf(s.verdict) != "Terminal/NameTaken" {
		t.Errorf("a stranger's Ingress: %v", s.verdict)
	}
	w.ingress, d.Spec.Ingress = nil, nil
	watched(d)
	replicas(5)(d)
	if s := w.pass(d); outcomeOf(s.verdict) != "Terminal/NameTaken" || !slices.Equal(kinds(s), []string{kindDeployment, "PrometheusRule"}) {
		t.Errorf("beside a stranger's ServiceMonitor %v is written: %v", kinds(s), s.verdict)
	}
}

func TestMonitoring(t *testing.T) {
	t.Parallel()
	d := tokyo(watched)
	w := settledWorld(t, d)
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		o := w.custom[kind]
		if o == nil || !ownedByDojo(o) || o.GetLabels()["release"] != "prometheus" || o.GetLabels()[nameLabel] != "dojo" {
			t.Errorf("%s: %v", kind, o)
		}
	}
	if s := w.pass(d); s.apply != nil {
		t.Errorf("a second pass writes %v", kinds(s))
	}
	d.Spec.Monitoring.Enabled = false
	if w.pass(d); len(w.custom) != 0 {
		t.Errorf("left over: %v", w.custom)
	}
	w.without = "ServiceMonitor"
	d.Spec.Monitoring.Enabled = true
	if s := w.pass(d); s.verdict != nil || len(w.custom) != 1 {
		t.Errorf("without one of the kinds: %v, %v", s.verdict, w.custom)
	}
}

// The alerts are those that make sense for the Dojo, and each says for how long and how badly, and is explained.
func TestAlerts(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../../docs/operations.md")
	must(t, err)
	names := func(d *corev1api.Dojo) []string {
		var names []string
		for _, r := range rulesFor(d) {
			rule := r.(map[string]any)
			for _, key := range []string{"expr", "for", "labels", "annotations"} {
				if rule[key] == nil || rule[key] == "" {
					t.Errorf("%s lacks %s", rule["alert"], key)
				}
			}
			minutes, _ := strings.CutSuffix(rule["for"].(string), "m")
			if row := fmt.Sprintf("\n| %#q | %s min | ", rule["alert"], minutes); !strings.Contains(string(docs), row) {
				t.Errorf("docs/operations.md has no row %s", row)
			}
			names = append(names, rule["alert"].(string))
		}
		return names
	}
	common := []string{"DojoErrors", "DojoSlow", "DojoDegraded", "DojoReplicasMissing"}
	for name, c := range map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"serving":       {tokyo(), append([]string{"DojoDown"}, common...)},
		"off":           {tokyo(replicas(0)), common},
		"with database": {tokyo(inPG), append(append([]string{"DojoDown"}, common...), "DojoDatabaseNotReady")},
		"with backups":  {tokyo(ownPG, backedUp), append(append([]string{"DojoDown"}, common...), "DojoDatabaseNotReady", "DojoBackupFailed")},
	} {
		if diff := cmp.Diff(c.want, names(c.dojo)); diff != "" {
			t.Error(name, diff)
		}
	}
}

func TestPodsAreAsTheSpecSays(t *testing.T) {
	t.Parallel()
	d := tokyo(func(d *corev1api.Dojo) {
		d.Spec.Image = "registry.example/own:2"
		d.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		d.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
		d.Spec.Env = []corev1.EnvVar{{Name: "A", Value: "$(DB_NAME)"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"},
		}}}
		d.Spec.NodeSelector = map[string]string{"arch": "arm64"}
		d.Spec.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](5)}}
		d.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}}
		d.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}}
	})
	w := settledWorld(t, d)
	pod := w.deployment.Spec.Template.Spec
	c := pod.Containers[0]
	if c.Image != d.Spec.Image {
		t.Errorf("image %s", c.Image)
	}
	for what, diff := range map[string]string{
		"imagePullSecrets": cmp.Diff(d.Spec.ImagePullSecrets, pod.ImagePullSecrets),
		"resources":        cmp.Diff(*d.Spec.Resources, c.Resources),
		"env":              cmp.Diff(d.Spec.Env, c.Env[len(c.Env)-2:]),
		"nodeSelector":     cmp.Diff(d.Spec.NodeSelector, pod.NodeSelector),
		"tolerations":      cmp.Diff(d.Spec.Tolerations, pod.Tolerations),
		"affinity":         cmp.Diff(d.Spec.Affinity, pod.Affinity),
		"spread":           cmp.Diff(d.Spec.TopologySpreadConstraints, pod.TopologySpreadConstraints),
	} {
		if diff != "" {
			t.Error(what, diff)
		}
	}
	if s := w.pass(d); s.apply != nil {
		t.Errorf("a second pass writes %v", kinds(s))
	}
}
