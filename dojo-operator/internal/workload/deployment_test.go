// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

func created(t *testing.T, dojo *corev1api.Dojo, cfg Config, access Credentials) *appsv1.Deployment {
	t.Helper()
	c := newCluster(t)
	desired := apply.Typed(deploymentFor(dojo, access, Image(dojo, cfg), cfg, dojo.Spec.Replicas))
	c.Do(dojo, apply.Plan{Apply: []*apply.Object{apply.Write(ownership.FieldOwner, (*appsv1.Deployment)(nil), desired)}})
	return deploymentOf(t, c)
}

func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	must(t, err)
	template := created(t, dojotest.Dojo(), testConfig, access).Spec.Template
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	checks := evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec)
	if got := policy.AggregateCheckResults(checks); !got.Allowed {
		t.Error(got.ForbiddenDetail())
	}
}

// Pods have restrictions beyond the requirements of "restricted" pod security.
func TestPodsAreConfined(t *testing.T) {
	t.Parallel()
	pod := created(t, dojotest.Dojo(), testConfig, access).Spec.Template.Spec
	c := pod.Containers[0]
	if ptr.Deref(pod.AutomountServiceAccountToken, true) {
		t.Error("the pods get a token for the API server")
	}
	if !ptr.Deref(c.SecurityContext.ReadOnlyRootFilesystem, false) {
		t.Error("the root file system is writable")
	}
	if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != c.WorkingDir ||
		pod.Volumes[0].EmptyDir.SizeLimit.IsZero() {
		t.Errorf("the working folder must be the only writable one, of limited size: %+v", c.VolumeMounts)
	}
	for _, what := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		request, limit := c.Resources.Requests[what], c.Resources.Limits[what]
		if request.IsZero() || limit.Cmp(request) < 0 {
			t.Errorf("%s: request %s, limit %s", what, &request, &limit)
		}
	}
	if cpu := c.Resources.Requests[corev1.ResourceCPU]; cpu.IsZero() {
		t.Error("no request for CPU, so an autoscaler has nothing to compare with")
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	c := created(t, dojotest.Dojo(), testConfig, access).Spec.Template.Spec.Containers[0]
	for path, probe := range map[string]*corev1.Probe{
		"/probe/liveness": c.LivenessProbe, "/probe/readiness": c.ReadinessProbe,
	} {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Port.String() != c.Ports[0].Name {
			t.Errorf("want a probe of %s on port %s: %+v", path, c.Ports[0].Name, probe.HTTPGet)
		}
	}
	start := time.Duration(c.StartupProbe.FailureThreshold*c.StartupProbe.PeriodSeconds) * time.Second
	if c.StartupProbe.HTTPGet.Path != "/probe/liveness" ||
		start < 30*time.Second || start >= testConfig.ProgressDeadline {
		t.Errorf("an application gets %s to start", start)
	}
}

// A terminating pod serves until every proxy has removed the pod from its endpoints.
func TestNoRequestIsLost(t *testing.T) {
	t.Parallel()
	spec := created(t, dojotest.Dojo(), testConfig, access).Spec
	rolling := spec.Strategy.RollingUpdate
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType ||
		rolling.MaxUnavailable.IntValue() != 0 || rolling.MaxSurge.IntValue() < 1 {
		t.Errorf("a rollout takes a pod away before there is a new one: %+v", spec.Strategy)
	}
	drain := spec.Template.Spec.Containers[0].Lifecycle.PreStop.Sleep.Seconds
	if grace := *spec.Template.Spec.TerminationGracePeriodSeconds; drain < 1 || grace < drain+10 {
		t.Errorf("drains for %ds, killed after %ds", drain, grace)
	}
}

func TestSpreadOverNodes(t *testing.T) {
	t.Parallel()
	template := created(t, dojotest.Dojo(), testConfig, access).Spec.Template
	want := []corev1.TopologySpreadConstraint{{
		TopologyKey: "kubernetes.io/hostname", MaxSkew: 1,
		WhenUnsatisfiable: corev1.ScheduleAnyway, // one node is enough
		LabelSelector:     &metav1.LabelSelector{MatchLabels: ownership.Selector(dojotest.Dojo())},
		MatchLabelKeys:    []string{"pod-template-hash"},
	}}
	if diff := cmp.Diff(want, template.Spec.TopologySpreadConstraints); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(func(dojo *corev1api.Dojo) { dojo.Spec.Title = "100 $$ $(DB_PASS)" })
	access := access
	access.Optional = []string{"DB_READONLY_ENDPOINT"}
	c := created(t, dojo, testConfig, access).Spec.Template.Spec.Containers[0]
	got := map[string]string{}
	for _, e := range c.Env {
		got[e.Name] = strings.ReplaceAll(e.Value, "$$", "$") // as the kubelet does in a value without $(NAME)
		if ref := e.ValueFrom; ref != nil {
			got[e.Name] = ref.SecretKeyRef.Name + "/" + ref.SecretKeyRef.Key
			if ref.SecretKeyRef.Optional != nil {
				got[e.Name] += fmt.Sprintf(", optional: %t", *ref.SecretKeyRef.Optional)
			}
		}
	}
	want := map[string]string{
		"DOJO_ACCOUNT_ID": "Masamichi Yaga", "DOJO_TITLE": "100 $$ $(DB_PASS)",
		"DB_ENDPOINT": "tokyo-credentials/DB_ENDPOINT", "DB_PASS": "tokyo-credentials/DB_PASS",
		"DB_READONLY_ENDPOINT": "tokyo-credentials/DB_READONLY_ENDPOINT, optional: true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.Image != testConfig.Image {
		t.Errorf("runs %s", c.Image)
	}
}

func TestPodTemplateChanges(t *testing.T) {
	t.Parallel()
	other := Config{Image: "dojo:10", ProgressDeadline: testConfig.ProgressDeadline}
	slow := Config{Image: testConfig.Image, ProgressDeadline: time.Hour}
	renewed := access
	renewed.Revision = "s"
	otherSource := func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef.Name = "pg-other" }
	dojo := dojotest.Dojo
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		cfg    Config
		access Credentials
		rolls  bool
	}{
		"nothing": {dojo(), testConfig, access, false},
		"scaling": {dojo(dojotest.Replicas(9)), testConfig, access, false},
		// Another source may have the same credentials, so this change alone replaces no pods.
		"another source":       {dojo(otherSource), testConfig, access, false},
		"a longer deadline":    {dojo(), slow, access, false},
		"new credentials":      {dojo(), testConfig, renewed, true},
		"another image":        {dojo(), other, access, true},
		"another title":        {dojo(func(dojo *corev1api.Dojo) { dojo.Spec.Title = "Kyoto" }), testConfig, access, true},
		"another account":      {dojo(func(dojo *corev1api.Dojo) { dojo.Spec.AccountID = "Gakuganji" }), testConfig, access, true},
		"a status of the Dojo": {dojo(func(dojo *corev1api.Dojo) { dojo.Status.ReadyReplicas = 3 }), testConfig, access, false},
		"a new generation":     {dojo(func(dojo *corev1api.Dojo) { dojo.Generation = 9 }), testConfig, access, false},
	}
	before := created(t, dojo(), testConfig, access)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			after := created(t, c.dojo, c.cfg, c.access)
			if diff := cmp.Diff(before.Spec.Template, after.Spec.Template); (diff != "") != c.rolls {
				t.Errorf("difference of the pod templates: %s", diff)
			}
			if diff := cmp.Diff(before.Spec.Selector, after.Spec.Selector); diff != "" {
				t.Error("the selector, which is immutable, changes", diff)
			}
			s, err := metav1.LabelSelectorAsSelector(after.Spec.Selector)
			must(t, err)
			if !s.Matches(k8slabels.Set(after.Spec.Template.Labels)) {
				t.Error("the selector misses its pods")
			}
		})
	}
}

func TestProgressDeadline(t *testing.T) {
	t.Parallel()
	if got := *created(t, dojotest.Dojo(), testConfig, access).Spec.ProgressDeadlineSeconds; got != 90 {
		t.Errorf("%d seconds", got)
	}
}

func scaler() *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "scaler"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "tokyo"},
		},
	}
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	scaled := func(n int32) func(*testing.T, *dojotest.Cluster) {
		return func(t *testing.T, c *dojotest.Cluster) {
			t.Helper()
			applytest.Scale(t, c.Server, "kube-controller-manager", deploymentOf(t, c), scaleTo(n))
		}
	}
	edited := func(t *testing.T, c *dojotest.Cluster) {
		t.Helper()
		applytest.Edit(t, c.Server, "kubectl", deploymentOf(t, c), scaleTo(7))
	}
	deleted := func(t *testing.T, c *dojotest.Cluster) {
		t.Helper()
		must(t, c.Delete(t.Context(), deploymentOf(t, c)))
	}
	unmanaged := func(t *testing.T, c *dojotest.Cluster) {
		t.Helper()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
		must(t, c.Patch(t.Context(), deploymentOf(t, c), patch))
	}
	nothing := func(*testing.T, *dojotest.Cluster) {}
	cases := map[string]struct {
		dojo       *corev1api.Dojo
		scaler     bool
		change     func(*testing.T, *dojotest.Cluster)
		autoscaled bool
		want       int32
	}{
		"no autoscaler":                             {dojotest.Dojo(), false, nothing, false, 3},
		"no Deployment yet":                         {dojotest.Dojo(), true, deleted, false, 3},
		"an autoscaler that has not scaled yet":     {dojotest.Dojo(), true, nothing, false, 3},
		"an autoscaler has scaled up":               {dojotest.Dojo(), true, scaled(7), true, 7},
		"an autoscaler has scaled down":             {dojotest.Dojo(), true, scaled(1), true, 1},
		"a user has edited the Deployment":          {dojotest.Dojo(), false, edited, false, 3},
		"an autoscaler that is gone":                {dojotest.Dojo(), false, scaled(7), false, 3},
		"an autoscaler, but 0 replicas are desired": {dojotest.Dojo(dojotest.Replicas(0)), true, scaled(7), false, 0},
		"an autoscaler, but suspended":              {dojotest.Dojo(suspended), true, scaled(7), false, 0},
		"suspended":                                 {dojotest.Dojo(suspended), false, nothing, false, 0},
		"the Deployment of a former Dojo":           {dojotest.Dojo(dojotest.Named("tokyo")), true, scaled(7), false, 3},
		"an autoscaler, but managedFields are lost": {dojotest.Dojo(), true, unmanaged, false, 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := deployed(t, dojotest.Dojo())
			if c.scaler {
				cluster.Put(scaler())
			}
			c.change(t, cluster)
			s := observe(t, cluster, c.dojo)
			if s.Autoscaled != c.autoscaled {
				t.Errorf("autoscaled is %v", s.Autoscaled)
			}
			if got := s.Replicas(c.dojo); got != c.want {
				t.Errorf("%d replicas desired", got)
			}
			cluster.Do(c.dojo, Plan(c.dojo, s, access, Hold{}, testConfig))
			if applied := *deploymentOf(t, cluster).Spec.Replicas; c.dojo.UID == dojotest.Dojo().UID && applied != c.want {
				t.Errorf("the Deployment has %d replicas", applied)
			}
		})
	}
}

func TestPodsMatchTheSpec(t *testing.T) {
	t.Parallel()
	selector := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"app": "web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "In", Values: []string{"a", "b"}}},
	}
	affinity := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: "zone", LabelSelector: selector, NamespaceSelector: selector, Namespaces: []string{"b"},
		}},
	}}
	wantSpread := []corev1.TopologySpreadConstraint{{
		MaxSkew: 2, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector,
		MinDomains: new(int32(2)), NodeTaintsPolicy: new(corev1.NodeInclusionPolicyHonor),
	}}
	dojo := dojotest.Dojo(func(dojo *corev1api.Dojo) {
		dojo.Spec.Image = "registry.example/own:2"
		dojo.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		dojo.Spec.Resources = &corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
		}
		dojo.Spec.Env = []corev1.EnvVar{{Name: "A", Value: "$(DB_NAME)"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"},
		}}}
		dojo.Spec.NodeSelector = map[string]string{"arch": "arm64"}
		dojo.Spec.Tolerations = []corev1.Toleration{{
			Key: "spot", Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](5),
		}}
		dojo.Spec.Affinity = apply.As[*corev1api.Affinity](affinity)
		dojo.Spec.TopologySpreadConstraints = apply.As[[]corev1api.TopologySpreadConstraint](wantSpread)
	})
	cluster := deployed(t, dojo)
	pod := deploymentOf(t, cluster).Spec.Template.Spec
	c := pod.Containers[0]
	if c.Image != dojo.Spec.Image {
		t.Errorf("image %s", c.Image)
	}
	for what, diff := range map[string]string{
		"imagePullSecrets": cmp.Diff(dojo.Spec.ImagePullSecrets, pod.ImagePullSecrets),
		"resources":        cmp.Diff(*dojo.Spec.Resources, c.Resources),
		"env":              cmp.Diff(dojo.Spec.Env, c.Env[len(c.Env)-2:]),
		"nodeSelector":     cmp.Diff(dojo.Spec.NodeSelector, pod.NodeSelector),
		"tolerations":      cmp.Diff(dojo.Spec.Tolerations, pod.Tolerations),
		"affinity":         cmp.Diff(affinity, pod.Affinity),
		"spread":           cmp.Diff(wantSpread, pod.TopologySpreadConstraints),
	} {
		if diff != "" {
			t.Error(what, diff)
		}
	}
	if plan := planFor(t, cluster, dojo); plan.Apply != nil {
		t.Errorf("the next reconcile writes %v", dojotest.Kinds(plan))
	}
}
