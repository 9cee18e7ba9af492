// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

func TestServiceReachesThePods(t *testing.T) {
	t.Parallel()
	c := deployed(t, dojotest.Dojo())
	template, service := deploymentOf(t, c).Spec.Template, serviceOf(t, c)
	if !k8slabels.SelectorFromSet(service.Spec.Selector).Matches(k8slabels.Set(template.Labels)) {
		t.Errorf("selector %v misses the pods' labels %v", service.Spec.Selector, template.Labels)
	}
	if n := len(service.Spec.Ports); n != 1 {
		t.Fatalf("%d ports", n)
	}
	target := service.Spec.Ports[0].TargetPort.String()
	for _, p := range template.Spec.Containers[0].Ports {
		if p.Name == target && p.ContainerPort == 8080 && p.Protocol == corev1.ProtocolTCP {
			return
		}
	}
	t.Errorf("the container has no port %q on 8080", target)
}

func TestSelectorsMissOtherDojos(t *testing.T) {
	t.Parallel()
	c := deployed(t, dojotest.Dojo())
	budget, err := metav1.LabelSelectorAsSelector(budgetOf(t, c).Spec.Selector)
	must(t, err)
	kyoto := k8slabels.Set(ownership.Labels(dojotest.Dojo(dojotest.Named("kyoto")), ownership.Application))
	for what, s := range map[string]k8slabels.Selector{
		"Service": k8slabels.SelectorFromSet(serviceOf(t, c).Spec.Selector), "PodDisruptionBudget": budget,
	} {
		if s.Matches(kyoto) {
			t.Errorf("the %s of tokyo selects the pods of kyoto", what)
		}
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	if port := serviceOf(t, deployed(t, dojotest.Dojo())).Spec.Ports[0].Port; port != 80 {
		t.Errorf("the Service listens on %d", port)
	}
	if got, want := Endpoint(dojotest.Dojo()), "tokyo.school.svc:80"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPlanBudget(t *testing.T) {
	t.Parallel()
	c := deployed(t, dojotest.Dojo())
	ours := budgetOf(t, c)
	edited := applytest.Edit(t, c.Server, "kubectl", ours, func(b *policyv1.PodDisruptionBudget) {
		b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(2))
	})
	another := &policyv1.PodDisruptionBudget{ObjectMeta: foreign}
	cases := map[string]struct {
		live                     *policyv1.PodDisruptionBudget
		replicas                 int32
		creates, writes, deletes bool
		takenBy, issue           string
	}{
		"a Cluster's budget needs the name":              {live: nil, replicas: 2, takenBy: "kyoto", issue: "Degraded/NameConflict"},
		"a Cluster's budget needs the name, one replica": {live: nil, replicas: 1, takenBy: "kyoto"},
		"no replicas":              {live: nil, replicas: 0},
		"one replica":              {live: nil, replicas: 1},
		"no budget yet":            {live: nil, replicas: 2, creates: true},
		"in sync":                  {live: ours, replicas: 2},
		"edited":                   {live: edited, replicas: 3, writes: true},
		"no longer needed":         {live: ours, replicas: 1, deletes: true},
		"foreign":                  {live: another, replicas: 2, issue: "Degraded/NameConflict"},
		"foreign, not needed":      {live: another, replicas: 1},
		"scaled to zero":           {live: ours, replicas: 0, deletes: true},
		"edited, no longer needed": {live: edited, replicas: 1, deletes: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var p apply.Plan
			planBudget(dojotest.Dojo(dojotest.Replicas(c.replicas)), State{Budget: c.live, BudgetTakenBy: c.takenBy}, &p)
			creates := len(p.Apply) == 1 && p.Apply[0].Live == nil
			writes := len(p.Apply) == 1 && p.Apply[0].Live != nil
			if creates != c.creates || writes != c.writes || (p.Delete != nil) != c.deletes {
				t.Errorf("plans %+v", p)
			}
			if len(p.Delete) > 0 && p.Delete[0].Object != c.live {
				t.Error("deletes another object than the live one")
			}
			if writes && p.Apply[0].ReplaceSpec == nil {
				t.Error("the write does not replace the spec")
			}
			if got := dojotest.Worst(p.Issues); got != c.issue {
				t.Errorf("issues are %s", got)
			}
		})
	}
}

func TestBudgetLetsNodesDrain(t *testing.T) {
	t.Parallel()
	got := budgetOf(t, deployed(t, dojotest.Dojo()))
	want := policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable:             ptr.To(intstr.FromInt32(1)),
		Selector:                   &metav1.LabelSelector{MatchLabels: ownership.Selector(dojotest.Dojo())},
		UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Error(diff)
	}
}

func TestEveryChildIsOwnedAndLabelled(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	c := deployed(t, dojo)
	want := map[string]string{
		"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "tokyo",
		"app.kubernetes.io/managed-by": "dojo-operator",
	}
	for _, o := range []metav1.Object{deploymentOf(t, c), serviceOf(t, c), budgetOf(t, c)} {
		if !metav1.IsControlledBy(o, dojo) || !ownership.ByDojo(o) {
			t.Errorf("%T belongs to %v", o, o.GetOwnerReferences())
		}
		if diff := cmp.Diff(want, o.GetLabels()); diff != "" {
			t.Errorf("labels of the %T: %s", o, diff)
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	none := Credentials{SecretName: access.SecretName, Keys: access.Keys}
	if plan := Plan(dojo, State{}, none, Hold{}, testConfig); plan.Apply != nil || plan.Issues != nil {
		t.Errorf("without credentials, plans %+v", plan)
	}
	plan := Plan(dojo, State{}, access, Hold{}, testConfig)
	if diff := cmp.Diff([]string{"Deployment", "Service", "PodDisruptionBudget"}, dojotest.Kinds(plan)); diff != "" {
		t.Error(diff)
	}
	if after := plan.Apply[0].After; len(after) != 1 || after[0].Kind != "Secret" || after[0].Name != access.SecretName {
		t.Errorf("the Deployment waits for %v", after)
	}
	if got := dojotest.Worst(plan.Issues); got != "Progressing/RollingOut" {
		t.Errorf("the issue of a new Deployment is %s", got)
	}
}

// Without new credentials, the pods keep their revision and can still be scaled.
func TestPlanKeepsTheRevision(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	none := Credentials{SecretName: access.SecretName, Keys: access.Keys}
	c := deployed(t, dojo)
	if plan := Plan(dojo, observe(t, c, dojo), none, Hold{}, testConfig); plan.Apply != nil || plan.Issues != nil {
		t.Errorf("plans %+v", plan)
	}
	dojotest.Replicas(5)(dojo)
	plan := Plan(dojo, observe(t, c, dojo), none, Hold{}, testConfig)
	if diff := cmp.Diff([]string{"Deployment"}, dojotest.Kinds(plan)); diff != "" {
		t.Error(diff)
	}
	if replicas := plan.Apply[0].ReplaceSpec["replicas"]; replicas != int32(5) {
		t.Errorf("a replaced spec has %v replicas", replicas)
	}
	c.Do(dojo, plan)
	live := deploymentOf(t, c)
	if got := live.Spec.Template.Annotations[ownership.RevisionAnnotation]; got != "r" || *live.Spec.Replicas != 5 {
		t.Errorf("%d replicas of revision %q", *live.Spec.Replicas, got)
	}
}

func TestPlanKeepsTheImageWhileTheDatabaseMigrates(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	c := deployed(t, dojo)
	before := image(deploymentOf(t, c))
	dojo.Spec.Image = "dojo:next"
	if plan := Plan(dojo, observe(t, c, dojo), access, Hold{Image: true}, testConfig); plan.Apply != nil || plan.Issues != nil {
		t.Errorf("plans %+v", plan)
	}
	dojotest.Replicas(5)(dojo)
	c.Do(dojo, Plan(dojo, observe(t, c, dojo), access, Hold{Image: true}, testConfig))
	if live := deploymentOf(t, c); image(live) != before || *live.Spec.Replicas != 5 {
		t.Errorf("%d replicas of %s", *live.Spec.Replicas, image(live))
	}
	c.Do(dojo, Plan(dojo, observe(t, c, dojo), access, Hold{}, testConfig))
	if live := deploymentOf(t, c); image(live) != "dojo:next" {
		t.Errorf("still runs %s", image(live))
	}
}

func TestPlanKeepsThePodsUntilTheReleaseStepHasRun(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(func(dojo *corev1api.Dojo) { dojo.Spec.Env = []corev1.EnvVar{{Name: "MOOD", Value: "calm"}} })
	hold := Hold{Pods: true}
	if plan := Plan(dojo, State{}, access, hold, testConfig); slices.Contains(dojotest.Kinds(plan), "Deployment") ||
		!slices.Contains(dojotest.Kinds(plan), "Service") || plan.Issues != nil {
		t.Errorf("plans %v, %v", dojotest.Kinds(plan), plan.Issues)
	}
	c := deployed(t, dojo)
	before := deploymentOf(t, c)
	dojo.Spec.Image, dojo.Spec.Env[0].Value = "dojo:next", "angry"
	dojo.Spec.PodAnnotations, dojo.Spec.PriorityClassName = map[string]string{"a": "b"}, "high"
	settle := func(access Credentials, hold Hold) *appsv1.Deployment {
		t.Helper()
		for range 3 { // first, a patch moves the fields of the POST to the apply's field manager
			c.Do(dojo, Plan(dojo, observe(t, c, dojo), access, hold, testConfig))
		}
		if plan := Plan(dojo, observe(t, c, dojo), access, hold, testConfig); plan.Apply != nil {
			t.Errorf("after three reconciles, the next one writes %v", dojotest.Kinds(plan))
		}
		return deploymentOf(t, c)
	}
	dojotest.Replicas(5)(dojo)
	live := settle(access, hold)
	if diff := cmp.Diff(before.Spec.Template, live.Spec.Template); diff != "" || *live.Spec.Replicas != 5 {
		t.Errorf("%d replicas of %s", *live.Spec.Replicas, diff)
	}

	rotated := access
	rotated.Revision = "rotated"
	live = settle(rotated, hold)
	want := before.Spec.Template.DeepCopy()
	want.Annotations[ownership.RevisionAnnotation] = "rotated"
	if diff := cmp.Diff(*want, live.Spec.Template); diff != "" {
		t.Error(diff)
	}

	applytest.Edit(t, c.Server, "kubectl", live, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "dojo:next" })
	if live = settle(rotated, Hold{Pods: true, Serving: image(before)}); image(live) != image(before) {
		t.Errorf("another client rolls the pods to %s", image(live))
	}

	live = settle(rotated, Hold{})
	if image(live) != "dojo:next" || live.Spec.Template.Spec.PriorityClassName != "high" || live.Spec.Template.Annotations["a"] != "b" {
		t.Errorf("after the step: %+v", live.Spec.Template)
	}
}

func TestCommandPod(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(func(dojo *corev1api.Dojo) {
		dojo.Spec.Image, dojo.Spec.ServiceAccountName = "dojo:next", "admin"
		dojo.Spec.EnvFrom = []corev1api.EnvFromSource{{SecretRef: &corev1api.VolumeSource{Name: "tokens"}}}
	})
	pod := CommandPod(dojo, access, "release", []string{"migrate"}, testConfig)
	c := pod.Containers[0]
	if *c.Image != "dojo:next" || *c.Name != "release" || len(c.EnvFrom) != 1 || len(c.Ports) > 0 || c.ReadinessProbe != nil ||
		pod.ServiceAccountName != nil || dojo.Spec.ServiceAccountName != "admin" {
		t.Errorf("%+v", pod)
	}
}
