package dojo

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// made is the Deployment as the API server shows it once it was applied.
func made(t *testing.T, d *corev1api.Dojo, cfg Config, revision string) *appsv1.Deployment {
	t.Helper()
	return apply[appsv1.Deployment](&world{t: t}, nil, &child{config: deploymentFor(d, cfg, revision, false)})
}

func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	must(t, err)
	template := made(t, tokyo(), testConfig, "r").Spec.Template
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if got := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec)); !got.Allowed {
		t.Error(got.ForbiddenDetail())
	}
}

// Beyond what "restricted" asks for.
func TestPodsHaveNoMoreThanTheyNeed(t *testing.T) {
	t.Parallel()
	pod := made(t, tokyo(), testConfig, "r").Spec.Template.Spec
	c := pod.Containers[0]
	if ptr.Deref(pod.AutomountServiceAccountToken, true) {
		t.Error("the pods get a token for the API server")
	}
	if !ptr.Deref(c.SecurityContext.ReadOnlyRootFilesystem, false) {
		t.Error("the root file system is writable")
	}
	if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != c.WorkingDir || pod.Volumes[0].EmptyDir.SizeLimit.IsZero() {
		t.Errorf("the working folder must be the one writable place, of limited size: %+v in %s", c.VolumeMounts, c.WorkingDir)
	}
	for _, what := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		request, limit := c.Resources.Requests[what], c.Resources.Limits[what]
		if request.IsZero() || limit.Cmp(request) < 0 {
			t.Errorf("%s: request %s, limit %s", what, &request, &limit)
		}
	}
	if cpu := c.Resources.Requests[corev1.ResourceCPU]; cpu.IsZero() {
		t.Error("no request for CPU, so an autoscaler has nothing to measure by")
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	c := made(t, tokyo(), testConfig, "r").Spec.Template.Spec.Containers[0]
	for path, probe := range map[string]*corev1.Probe{
		"/probe/liveness": c.LivenessProbe, "/probe/readiness": c.ReadinessProbe,
	} {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Port.String() != c.Ports[0].Name {
			t.Errorf("want a probe of %s on port %s: %+v", path, c.Ports[0].Name, probe.HTTPGet)
		}
	}
	start := time.Duration(c.StartupProbe.FailureThreshold*c.StartupProbe.PeriodSeconds) * time.Second
	if c.StartupProbe.HTTPGet.Path != "/probe/liveness" || start < 30*time.Second || start >= testConfig.ProgressDeadline {
		t.Errorf("an application gets %s to start", start)
	}
}

// A pod that is going away serves on until every proxy knows, and is not killed before it has ended by itself.
func TestNoRequestIsLost(t *testing.T) {
	t.Parallel()
	spec := made(t, tokyo(), testConfig, "r").Spec
	rolling := spec.Strategy.RollingUpdate
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling.MaxUnavailable.IntValue() != 0 || rolling.MaxSurge.IntValue() < 1 {
		t.Errorf("a rollout takes a pod away before there is a new one: %+v", spec.Strategy)
	}
	drain := spec.Template.Spec.Containers[0].Lifecycle.PreStop.Sleep.Seconds
	if grace := *spec.Template.Spec.TerminationGracePeriodSeconds; drain < 1 || grace < drain+10 {
		t.Errorf("drains for %ds, killed after %ds", drain, grace)
	}
}

func TestSpreadOverNodes(t *testing.T) {
	t.Parallel()
	template := made(t, tokyo(), testConfig, "r").Spec.Template
	want := []corev1.TopologySpreadConstraint{{
		TopologyKey: "kubernetes.io/hostname", MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway, // one node is enough
		LabelSelector:  &metav1.LabelSelector{MatchLabels: selector(tokyo())},
		MatchLabelKeys: []string{"pod-template-hash"},
	}}
	if diff := cmp.Diff(want, template.Spec.TopologySpreadConstraints); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	w := settledWorld(t, tokyo(func(d *corev1api.Dojo) { d.Spec.Title = "100 $$ $(DB_PASS)" }))
	c := w.deployment.Spec.Template.Spec.Containers[0]
	got := map[string]string{}
	for _, e := range c.Env {
		got[e.Name] = strings.ReplaceAll(e.Value, "$$", "$") // as the kubelet does where no $(NAME) is left
		if ref := e.ValueFrom; ref != nil && ref.SecretKeyRef.Name == w.own.Name && ref.SecretKeyRef.Optional == nil {
			got[e.Name] = string(w.own.Data[ref.SecretKeyRef.Key])
		}
	}
	want := map[string]string{
		"DOJO_ACCOUNT_ID": "Masamichi Yaga", "DOJO_TITLE": "100 $$ $(DB_PASS)",
		"DB_ENDPOINT": "pg-rw", "DB_PORT": "5432", "DB_NAME": "app", "DB_USER": "yaga", "DB_PASS": "hollow purple",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.Image != testConfig.Image {
		t.Errorf("runs %s", c.Image)
	}
}

func TestWhatRollsThePods(t *testing.T) {
	t.Parallel()
	other := Config{Image: "dojo:10", ProgressDeadline: testConfig.ProgressDeadline}
	slow := Config{Image: testConfig.Image, ProgressDeadline: time.Hour}
	cases := map[string]struct {
		dojo     *corev1api.Dojo
		cfg      Config
		revision string
		rolls    bool
	}{
		"nothing":              {tokyo(), testConfig, "r", false},
		"scaling":              {tokyo(replicas(9)), testConfig, "r", false},
		"another source":       {tokyo(referring("databases")), testConfig, "r", false}, // its credentials may be the same
		"a longer deadline":    {tokyo(), slow, "r", false},
		"new credentials":      {tokyo(), testConfig, "s", true},
		"another image":        {tokyo(), other, "r", true},
		"another title":        {tokyo(func(d *corev1api.Dojo) { d.Spec.Title = "Kyoto" }), testConfig, "r", true},
		"another account":      {tokyo(func(d *corev1api.Dojo) { d.Spec.AccountID = "Gakuganji" }), testConfig, "r", true},
		"a status of the Dojo": {tokyo(func(d *corev1api.Dojo) { d.Generation, d.Status.ReadyReplicas = 9, 3 }), testConfig, "r", false},
	}
	before := made(t, tokyo(), testConfig, "r")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			after := made(t, c.dojo, c.cfg, c.revision)
			if diff := cmp.Diff(before.Spec.Template, after.Spec.Template); (diff != "") != c.rolls {
				t.Errorf("difference of the pod templates: %s", diff)
			}
			if diff := cmp.Diff(before.Spec.Selector, after.Spec.Selector); diff != "" {
				t.Error("the selector is immutable", diff)
			}
			if s, err := metav1.LabelSelectorAsSelector(after.Spec.Selector); err != nil || !s.Matches(k8slabels.Set(after.Spec.Template.Labels)) {
				t.Errorf("the selector misses its pods: %v", err)
			}
		})
	}
}

func TestProgressDeadline(t *testing.T) {
	t.Parallel()
	if got := *made(t, tokyo(), testConfig, "r").Spec.ProgressDeadlineSeconds; got != 90 {
		t.Errorf("%d seconds", got)
	}
}

func TestWhoDecidesAboutReplicas(t *testing.T) {
	t.Parallel()
	scaled := func(n int32) func(w *world) {
		return func(w *world) { w.deployment = edit(w, w.deployment, "kube-controller-manager", scaleTo(n)) }
	}
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		scaler bool
		change func(w *world)
		others bool
		wanted int32
	}{
		"nobody but us":                   {tokyo(), false, func(*world) {}, false, 3},
		"no Deployment yet":               {tokyo(), true, func(w *world) { w.deployment = nil }, false, 3},
		"an autoscaler, not yet at work":  {tokyo(), true, func(*world) {}, false, 3},
		"an autoscaler has scaled up":     {tokyo(), true, scaled(7), true, 7},
		"an autoscaler has scaled down":   {tokyo(), true, scaled(1), true, 1},
		"somebody has, by hand":           {tokyo(), false, scaled(7), false, 3},
		"an autoscaler, but 0 are wanted": {tokyo(replicas(0)), true, scaled(7), false, 0},
		"a stranger's Deployment":         {tokyo(func(d *corev1api.Dojo) { d.UID = "another" }), true, scaled(7), false, 3},
		"managedFields lost":              {tokyo(), true, func(w *world) { w.deployment.ManagedFields = nil }, false, 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := settledWorld(t, tokyo())
			c.change(w)
			others := scaledByOthers(c.dojo, w.deployment, c.scaler)
			if others != c.others {
				t.Errorf("scaled by others: %v", others)
			}
			if got := wantedReplicas(c.dojo, w.deployment, others); got != c.wanted {
				t.Errorf("%d replicas wanted", got)
			}
			applied := deploymentFor(c.dojo, testConfig, "r", others).Spec.Replicas
			if want := map[bool]*int32{false: &c.wanted}[others]; cmp.Diff(want, applied) != "" {
				t.Errorf("the Deployment names %v replicas", applied)
			}
		})
	}
}
