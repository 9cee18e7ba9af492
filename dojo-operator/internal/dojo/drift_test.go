// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply/applytest"
)

func edited[T any, L interface {
	*T
	client.Object
}](manager, name string, change func(L)) func(*world) {
	return func(w *world) {
		if live := objectOf[T, L](w, name); live != nil {
			applytest.Edit(w.t, w.Server, manager, live, change)
		}
	}
}

func deleted[T any, L interface {
	*T
	client.Object
}](name string) func(*world) {
	return func(w *world) {
		if live := objectOf[T, L](w, name); live != nil {
			w.remove(live)
		}
	}
}

func annotated[L client.Object](o L) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["example.org/note"] = "x"
	o.SetAnnotations(annotations)
}

func relabelled[L client.Object](o L) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["app.kubernetes.io/managed-by"] = "helm"
	o.SetLabels(labels)
}

func additions() map[string]func(*world) {
	const secret = "tokyo-credentials"
	port := corev1.ServicePort{Name: "extra", Port: 9000, TargetPort: intstr.FromString("http"), Protocol: "TCP"}
	return map[string]func(*world){
		"nothing":                      func(*world) {},
		"annotation of the Secret":     edited("kubectl", secret, annotated[*corev1.Secret]),
		"annotation of the Deployment": edited("kubectl", "tokyo", annotated[*appsv1.Deployment]),
		"annotation of the Service":    edited("kubectl", "tokyo", annotated[*corev1.Service]),
		"annotation of the budget":     edited("kubectl", "tokyo", annotated[*policyv1.PodDisruptionBudget]),
		"another key":                  edited("kubectl", secret, key("EXTRA", "x")),
		"another port": edited("kubectl", "tokyo", func(s *corev1.Service) {
			s.Spec.Ports = append(s.Spec.Ports, port)
		}),
		"another owner": edited("kubectl", "tokyo", func(s *corev1.Service) {
			owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}
			s.OwnerReferences = append(s.OwnerReferences, owner)
		}),
		"sidecar": edited("injector", "tokyo", func(d *appsv1.Deployment) {
			pod := &d.Spec.Template.Spec
			pod.Containers = append(pod.Containers, corev1.Container{Name: "proxy", Image: "proxy:1"})
			volume := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
			pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "proxy", VolumeSource: volume})
		}),
		"kubectl rollout restart": edited("kubectl-rollout", "tokyo", func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "2026-01-02T12:00:00Z"
		}),
		"replicas, by an autoscaler": func(w *world) {
			w.Put(scaler())
			applytest.Scale(w.t, w.Server, "kube-controller-manager", w.deployment(), scaledTo(7))
		},
	}
}

type drift struct {
	change func(*world)
	writes []string
}

func container(change func(*corev1.Container)) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { change(&d.Spec.Template.Spec.Containers[0]) }
}

func drifts() map[string]drift {
	const name = "tokyo-credentials"
	rolled, deployment, service := []string{"Secret", "Deployment"}, []string{"Deployment"}, []string{"Service"}
	budget := []string{"PodDisruptionBudget"}
	secret := func(change func(*corev1.Secret)) func(*world) { return edited("kubectl", name, change) }
	workload := func(change func(*appsv1.Deployment)) func(*world) { return edited("kubectl", "tokyo", change) }
	return map[string]drift{
		"Secret deleted":     {deleted[corev1.Secret](name), rolled},
		"Deployment deleted": {deleted[appsv1.Deployment]("tokyo"), deployment},
		"Service deleted":    {deleted[corev1.Service]("tokyo"), service},
		"budget deleted":     {deleted[policyv1.PodDisruptionBudget]("tokyo"), budget},
		"password":           {secret(key("DB_PASS", "x")), rolled},
		"key deleted":        {secret(func(s *corev1.Secret) { delete(s.Data, "DB_PORT") }), rolled},
		"revision annotation of the Secret": {secret(func(s *corev1.Secret) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, ownership.RevisionAnnotation, "mine")
		}), rolled},
		"label of the Secret": {secret(relabelled[*corev1.Secret]), []string{"Secret"}},
		"labels and annotations of the Secret deleted": {secret(func(s *corev1.Secret) {
			s.Labels, s.Annotations = nil, nil
		}), rolled},
		"label of the Deployment": {workload(relabelled[*appsv1.Deployment]), deployment},
		"image":                   {workload(container(func(c *corev1.Container) { c.Image = "evil:1" })), deployment},
		"title":                   {workload(container(func(c *corev1.Container) { c.Env[1].Value = "Kyoto" })), deployment},
		"variable deleted":        {workload(container(func(c *corev1.Container) { c.Env = c.Env[1:] })), deployment},
		"memory limit deleted": {workload(container(func(c *corev1.Container) {
			delete(c.Resources.Limits, corev1.ResourceMemory)
		})), deployment},
		"replicas, by hand": {func(w *world) {
			deleted[autoscalingv2.HorizontalPodAutoscaler]("scaler")(w)
			workload(scaledTo(9))(w)
		}, deployment},
		"target of the port": {edited("kubectl", "tokyo", func(s *corev1.Service) {
			s.Spec.Ports[0].TargetPort = intstr.FromInt32(1)
		}), service},
		"selector": {edited("kubectl", "tokyo", func(s *corev1.Service) {
			s.Spec.Selector[ownership.InstanceLabel] = "kyoto"
		}), service},
		"budget": {edited("kubectl", "tokyo", func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MaxUnavailable = new(intstr.FromString("100%"))
		}), budget},
	}
}

func TestAdditionsOfOthersCostNoWrite(t *testing.T) {
	t.Parallel()
	for name, change := range additions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := dojotest.Dojo()
			w := reconciled(t, dojo)
			change(w)
			if name == "replicas, by an autoscaler" {
				w.do(dojo) // this reconcile stops setting the replicas, so that the autoscaler owns them
			}
			if plan := w.do(dojo); plan.Apply != nil || plan.Delete != nil {
				t.Errorf("writes %v, deletes %v", dojotest.Kinds(plan), dojotest.Deleted(plan))
			}
		})
	}
}

func TestDriftIsCorrected(t *testing.T) {
	t.Parallel()
	for name, c := range drifts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := dojotest.Dojo()
			w := reconciled(t, dojo)
			c.change(w)
			plan := w.do(dojo)
			if diff := cmp.Diff(c.writes, dojotest.Kinds(plan)); diff != "" {
				t.Error("writes", diff)
			}
			if again := w.do(dojo); again.Apply != nil {
				t.Errorf("the next reconcile writes %v again", dojotest.Kinds(again))
			}
			same(t, reconciled(t, dojo), w)
			if plan.Apply[0].Live != nil && !plan.Apply[0].Drift {
				t.Error("the change is not reported as drift")
			}
			for _, o := range plan.Apply[1:] {
				if o.Drift {
					t.Errorf("the %s is reported as drift, but no other client changed it", o.Kind)
				}
			}
		})
	}
}

func TestManagedFieldsAreLost(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	w := reconciled(t, dojo)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
	must(t, w.Patch(t.Context(), w.deployment(), patch))
	if plan := w.do(dojo); cmp.Diff([]string{"Deployment"}, dojotest.Kinds(plan)) != "" {
		t.Errorf("writes %v", dojotest.Kinds(plan))
	}
	if again := w.do(dojo); again.Apply != nil {
		t.Errorf("the next reconcile writes %v again", dojotest.Kinds(again))
	}
	same(t, reconciled(t, dojo), w)
}

func same(t dojotest.TB, want, got *world) {
	t.Helper()
	spec := func(w *world) appsv1.DeploymentSpec {
		spec := w.deployment().Spec
		delete(spec.Template.Annotations, ownership.RevisionAnnotation)
		return spec
	}
	budget := func(w *world) policyv1.PodDisruptionBudgetSpec {
		if live := objectOf[policyv1.PodDisruptionBudget](w, "tokyo"); live != nil {
			return live.Spec
		}
		return policyv1.PodDisruptionBudgetSpec{}
	}
	for what, diff := range map[string]string{
		"Secret":                   cmp.Diff(want.own().Data, got.own().Data),
		"labels of the Secret":     cmp.Diff(want.own().Labels, got.own().Labels),
		"Deployment":               cmp.Diff(spec(want), spec(got)),
		"labels of the Deployment": cmp.Diff(want.deployment().Labels, got.deployment().Labels),
		"Service":                  cmp.Diff(want.service().Spec, got.service().Spec),
		"budget":                   cmp.Diff(budget(want), budget(got)),
	} {
		if diff != "" {
			t.Fatal(what, diff)
		}
	}
}
