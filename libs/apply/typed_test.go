// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

type wanted struct {
	replicas *int32
	image    string
	env      []string
	budget   bool // whether the container has resources
}

func deployment(want wanted) *unstructured.Unstructured {
	labels := map[string]string{"app": tokyo}
	container := corev1ac.Container().WithName("dojo").WithImage(want.image).
		WithPorts(corev1ac.ContainerPort().WithName("http").WithContainerPort(8080).WithProtocol(corev1.ProtocolTCP)).
		WithLivenessProbe(corev1ac.Probe().
			WithHTTPGet(corev1ac.HTTPGetAction().WithPath("/").WithPort(intstr.FromString("http"))))
	for _, name := range want.env {
		container.WithEnv(corev1ac.EnvVar().WithName(name).WithValue("1"))
	}
	if want.budget {
		container.WithResources(corev1ac.ResourceRequirements().WithLimits(corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse("64Mi"), corev1.ResourceCPU: resource.MustParse("1000m"),
		}))
	}
	spec := appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).WithAnnotations(map[string]string{"revision": "r"}).
			WithSpec(corev1ac.PodSpec().WithContainers(container).
				WithVolumes(corev1ac.Volume().WithName("tmp").WithEmptyDir(corev1ac.EmptyDirVolumeSource()))))
	spec.Replicas = want.replicas
	return apply.Typed(appsv1ac.Deployment(tokyo, school).WithLabels(labels).WithSpec(spec))
}

func TestDeploymentInSync(t *testing.T) {
	t.Parallel()
	replicas := new(int32(3))
	usual := wanted{replicas, "dojo:1", []string{"A", "B"}, true}
	const applied, patched = "APPLY Deployment school/tokyo", "PATCH Deployment school/tokyo"
	container := func(change func(*corev1.Container)) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { change(&d.Spec.Template.Spec.Containers[0]) }
	}
	cases := map[string]struct {
		others func(*appsv1.Deployment)
		scale  string // the manager that uses the scale subresource
		ours   wanted
		drift  bool
		writes []string
	}{
		"nothing":                     {ours: usual},
		"another client's annotation": {others: annotate[*appsv1.Deployment], ours: usual},
		"kubectl rollout restart": {
			others: func(d *appsv1.Deployment) { d.Spec.Template.Annotations["restartedAt"] = "now" }, ours: usual,
		},
		"sidecar": {others: addSidecar, ours: usual},
		"default changed": {
			others: func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(3)) }, ours: usual,
		},
		"label changed": {others: relabel[*appsv1.Deployment], ours: usual, drift: true, writes: []string{applied}},
		"image changed": {
			others: container(func(c *corev1.Container) { c.Image = "evil" }),
			ours:   usual,
			drift:  true,
			writes: []string{applied},
		},
		"variable changed": {
			others: container(func(c *corev1.Container) { c.Env[0].Value = "2" }),
			ours:   usual,
			drift:  true,
			writes: []string{applied},
		},
		"variable deleted": {
			others: container(func(c *corev1.Container) { c.Env = c.Env[1:] }),
			ours:   usual,
			drift:  true,
			writes: []string{applied},
		},
		"the only annotation of the pod template changed": {
			others: func(d *appsv1.Deployment) { d.Spec.Template.Annotations["revision"] = "x" },
			ours:   usual, drift: true, writes: []string{applied},
		},
		"limit deleted": {
			others: container(func(c *corev1.Container) { delete(c.Resources.Limits, corev1.ResourceMemory) }),
			ours:   usual, drift: true, writes: []string{applied},
		},
		"scaled by hand": {
			others: scaleTo(9), scale: "kubectl", ours: usual, drift: true, writes: []string{applied},
		},
		"edited by hand": {others: scaleTo(9), ours: usual, drift: true, writes: []string{applied}},
		"scaled by a deleted autoscaler": {
			others: scaleTo(9), scale: "kube-controller-manager", ours: usual, writes: []string{applied},
		},
		"scaled by an autoscaler": {
			others: scaleTo(9),
			scale:  "kube-controller-manager",
			ours:   wanted{nil, "dojo:1", usual.env, true},
			writes: []string{patched, applied},
		},
		"desired replicas differ": {
			ours: wanted{new(int32(5)), "dojo:1", usual.env, true}, writes: []string{applied},
		},
		"desired image differs": {
			ours: wanted{replicas, "dojo:2", usual.env, true}, writes: []string{patched, applied},
		},
		"desired variable dropped": {
			ours: wanted{replicas, "dojo:1", []string{"A"}, true}, writes: []string{patched, applied},
		},
		"desired variable replaced by another": {
			ours:   wanted{replicas, "dojo:1", []string{"A", "C"}, true},
			drift:  true,
			writes: []string{patched, applied},
		},
		"all desired variables dropped": {ours: wanted{replicas, "dojo:1", nil, true}, writes: []string{patched, applied}},
		"desired resources dropped": {
			ours: wanted{replicas, "dojo:1", usual.env, false}, writes: []string{patched, applied},
		},
		"scaled by hand, desired image differs": {
			others: scaleTo(9),
			scale:  "kubectl",
			ours:   wanted{replicas, "dojo:2", usual.env, true},
			drift:  true,
			writes: []string{patched, applied},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(plan(w, &appsv1.Deployment{}, deployment(usual)))
			if o := plan(w, &appsv1.Deployment{}, deployment(usual)); o != nil {
				t.Fatal("is not in sync at once")
			}
			live := w.deployment()
			switch {
			case c.scale != "":
				applytest.Scale(t, w.server, c.scale, live, c.others)
			case c.others != nil:
				applytest.Edit(t, w.server, "kubectl", live, c.others)
			}
			w.written()

			o := plan(w, &appsv1.Deployment{}, deployment(c.ours))
			if o != nil && o.Drift != c.drift {
				t.Errorf("drift is %v", o.Drift)
			}
			if results := w.run(o); results.Stale || results.Issues != nil {
				t.Errorf("results %+v", results)
			}
			if diff := cmp.Diff(c.writes, w.written()); diff != "" {
				t.Error(diff)
			}
			if plan(w, &appsv1.Deployment{}, deployment(c.ours)) != nil {
				t.Error("is not in sync after it was written")
			}
			if c.writes == nil {
				return
			}
			fresh := newWorld(t)
			fresh.run(plan(fresh, &appsv1.Deployment{}, deployment(c.ours)))
			want := fresh.deployment()
			if c.ours.replicas == nil {
				want.Spec.Replicas = new(int32(9))
			}
			if diff := cmp.Diff(want.Spec, w.deployment().Spec); diff != "" {
				t.Errorf("is not as if it were new: %s", diff)
			}
		})
	}
}

func TestUpgradeHappensOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, env := range [][]string{{"A", "B"}, {"A"}, nil, {"B"}} {
		w.written()
		w.run(plan(w, &appsv1.Deployment{}, deployment(wanted{image: "dojo:1", env: env})))
		if want := min(1+i%2, 2); i < 2 && len(w.server.Writes) != want || i >= 2 && len(w.server.Writes) != 1 {
			t.Errorf("with the variables %v: %v", env, w.server.Writes)
		}
	}
	live := w.deployment()
	if len(live.ManagedFields) != 1 || live.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("managed fields %v", live.ManagedFields)
	}
	if live.Annotations[apply.ShapeAnnotation] != "" {
		t.Error("the annotation remains without its entry")
	}
}

func TestOwnedFields(t *testing.T) {
	t.Parallel()
	type operation = metav1.ManagedFieldsOperationType
	entry := func(manager, subresource, fields string, by operation) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Subresource: subresource, Operation: by, FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	const byApply, byUpdate = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	live := &corev1.Secret{}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry(us, "", `{"f:spec":{"f:a":{}}}`, byApply),
		entry(us, "", `{"f:spec":{"f:b":{}}}`, byUpdate),
		entry(us, "status", `{"f:status":{"f:c":{}}}`, byUpdate),
		entry("kubectl", "", `{"f:spec":{"f:d":{}}}`, byApply),
		entry(us, "", `{"f:spec":`, byUpdate), // unreadable
		{Manager: us, Operation: byApply},
	})
	want := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "a"), fieldpath.MakePathOrDie("spec", "b"))
	if got := apply.OwnedFields(us, live); !got.Equals(want) {
		t.Errorf("owned are %s", got)
	}
}

func (w *world) deployment() *appsv1.Deployment {
	w.t.Helper()
	return applytest.Get(w.t, w.server, school, tokyo, &appsv1.Deployment{})
}

func scaleTo(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

func addSidecar(d *appsv1.Deployment) {
	pod := &d.Spec.Template.Spec
	pod.Containers = append(pod.Containers, corev1.Container{Name: "proxy", Image: "proxy"})
	empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "proxy", VolumeSource: empty})
}
