// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/mounted"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

// history applies random events to one Dojo. Rapid calls the exported methods in random order.
type history struct {
	t      rapid.TB
	ctx    context.Context
	server *applytest.Server
	clock  *testclock.FakePassiveClock
	r      *Reconciler
	dojo   *corev1api.Dojo
	// added lists the changes that [history.Add] has made.
	added []string
	steps int
}

var modelConfig = Config{
	Workload: workload.Config{Image: "registry.example/dojo:9", ProgressDeadline: 90 * time.Second},
}

type allKinds struct{}

func (allKinds) Has(optionalkinds.Kind) bool { return true }

func (allKinds) Defined(context.Context, optionalkinds.Kind) (bool, error) { return true, nil }

var modelScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, corev1api.AddToScheme, discordv1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// ruleCRD lets server-side apply merge the items of a PrometheusRule's spec.groups by name.
const ruleCRD = `
spec:
  group: monitoring.coreos.com
  names: {kind: PrometheusRule}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      groups: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
        items: {type: object, properties: {
          name: {type: string},
          rules: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
      }}}
    }}}}}
`

func newHistory(t rapid.TB, dojo *corev1api.Dojo) *history {
	t.Helper()
	clock := testclock.NewFakePassiveClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	h := &history{t: t, ctx: context.Background(), server: applytest.New(modelScheme, clock), clock: clock, dojo: dojo}
	if err := addIndexes(h.ctx, h.server); err != nil {
		t.Fatal(err)
	}
	if err := h.server.AddCRD([]byte(ruleCRD)); err != nil {
		t.Fatal(err)
	}
	h.Restart(nil)
	return h
}

func (h *history) Restart(*rapid.T) {
	h.r = &Reconciler{Client: asCached(h.server), Live: h.server, Kinds: allKinds{}, Clock: h.clock, Config: modelConfig,
		Catalog: mounted.Fixed(dojotest.Catalog())}
	h.r.applier = apply.New(h.server, ownership.FieldOwner, apply.Reasons{}, h.clock)
}

func modelDojo() *corev1api.Dojo {
	return &corev1api.Dojo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo", UID: "uid of tokyo", Generation: 1},
		Spec: corev1api.DojoSpec{
			AccountID: "Masamichi Yaga", Title: "Tokyo Jujutsu High", Replicas: new(int32(3)),
			Database: corev1api.DatabasePostgres, CredentialsRef: &corev1api.SecretReference{Name: "pg-app"},
		},
	}
}

func maybe[T any](t *rapid.T, name string, value T) (option T) {
	if rapid.Bool().Draw(t, name) {
		return value
	}
	return option
}

func (h *history) Spec(t *rapid.T) {
	h.dojo.Generation++
	h.dojo.Spec.Replicas = new(rapid.Int32Range(0, 5).Draw(t, "replicas"))
	h.dojo.Spec.Title = rapid.StringN(1, 20, -1).Draw(t, "title")
}

func (h *history) Options(t *rapid.T) {
	h.dojo.Generation++
	spec := &h.dojo.Spec
	spec.Image = maybe(t, "image", "registry.example/own:1")
	spec.Env = nil
	for _, variable := range []corev1.EnvVar{
		{Name: "A", Value: "1"},
		{Name: "B", Value: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value of B")},
		// The API server adds a default apiVersion to a fieldRef, which is atomic. The operator must
		// not report this as drift.
		{Name: "NODE", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"},
		}},
	} {
		if rapid.Bool().Draw(t, variable.Name) {
			spec.Env = append(spec.Env, variable)
		}
	}
	spec.NodeSelector = maybe(t, "nodeSelector", map[string]string{
		"disk": rapid.SampledFrom([]string{"ssd", "any"}).Draw(t, "disk"),
	})
	spec.Tolerations = maybe(t, "tolerations", slices.Repeat(
		[]corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
		rapid.IntRange(1, 2).Draw(t, "number of tolerations")))
	spec.ImagePullSecrets = maybe(t, "imagePullSecrets", []corev1.LocalObjectReference{{Name: "pull"}})
	spec.Resources = maybe(t, "resources", &corev1.ResourceRequirements{})
	spec.TopologySpreadConstraints = maybe(t, "topologySpreadConstraints", []corev1api.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: "ScheduleAnyway",
	}})
}

func (h *history) Children(t *rapid.T) {
	h.dojo.Generation++
	h.dojo.Spec.Exposure = maybe(t, "exposure", &corev1api.Exposure{
		Hosts: rapid.SampledFrom([][]corev1api.Hostname{
			{"dojo.example.org"}, {"dojo.example.com", "dojo.example.org"},
		}).Draw(t, "hosts"),
		Ingress: &corev1api.IngressExposure{
			ClassName: maybe(t, "class", "nginx"), Annotations: maybe(t, "annotations", map[string]string{"a": "b"}),
		},
		TLS: maybe(t, "tls", &corev1api.ExposureTLS{SecretName: "tls"}),
	})
	h.dojo.Spec.Monitoring = maybe(t, "monitoring", &corev1api.Monitoring{
		Enabled: rapid.Bool().Draw(t, "enabled"), Labels: maybe(t, "labels", map[string]string{"prometheus": "main"}),
	})
}

func (h *history) Rotate(t *rapid.T) {
	h.steps++
	password := fmt.Sprintf("%d%s", h.steps, rapid.StringN(1, 20, -1).Draw(t, "password"))
	source := read(h, "pg-app", &corev1.Secret{})
	if source == nil {
		h.create(sourceSecret(password))
		return
	}
	applytest.Edit(h.t, h.server, "cloudnative-pg", source, func(s *corev1.Secret) {
		s.Data["password"] = []byte(password)
	})
}

func (h *history) Lose(*rapid.T) {
	if source := read(h, "pg-app", &corev1.Secret{}); source != nil {
		h.delete(source)
	}
}

// Add makes each change at most once, because a Service cannot have the same port twice.
func (h *history) Add(t *rapid.T) {
	what := rapid.SampledFrom(slices.Sorted(maps.Keys(harmless()))).Draw(t, "added")
	if slices.Contains(h.added, what) || !h.complete() {
		t.Skip("it was added, or there is nothing to add it to")
	}
	h.added = append(h.added, what)
	harmless()[what](h)
}

func (h *history) Break(t *rapid.T) {
	what := rapid.SampledFrom(slices.Sorted(maps.Keys(harmful()))).Draw(t, "broken")
	if h.complete() {
		harmful()[what](h)
	}
}

func (h *history) complete() bool {
	own, deployment := read(h, "tokyo-credentials", &corev1.Secret{}), read(h, "tokyo", &appsv1.Deployment{})
	service, budget := read(h, "tokyo", &corev1.Service{}), read(h, "tokyo", &policyv1.PodDisruptionBudget{})
	return own != nil && deployment != nil && service != nil && budget != nil
}

func (h *history) Reconcile(*rapid.T) { h.reconcile() }

// Halfway simulates a crash of the operator, or a refused write.
func (h *history) Halfway(t *rapid.T) {
	p := h.plan()
	p.Apply, p.Delete = p.Apply[:rapid.IntRange(0, len(p.Apply)).Draw(t, "writes")], nil
	h.r.applier.Run(h.ctx, h.dojo, p)
}

func (h *history) plan() apply.Plan {
	h.t.Helper()
	state, err := h.r.observe(h.ctx, h.dojo, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return Plan(h.dojo, state, modelConfig)
}

func (h *history) reconcile() {
	h.t.Helper()
	results := h.r.applier.Run(h.ctx, h.dojo, h.plan())
	if results.Issues != nil {
		h.t.Fatalf("results %+v", results.Issues)
	}
	h.serve()
}

func (h *history) serve() {
	live := read(h, "tokyo", &appsv1.Deployment{})
	if live == nil {
		return
	}
	applytest.EditStatus(h.t, h.server, "kube-controller-manager", live, func(d *appsv1.Deployment) {
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			},
		}
	})
}

// Check runs after each event. It fails if the plan deletes a required child, or starts pods
// without credentials.
func (h *history) Check(t *rapid.T) {
	p := h.plan()
	for _, old := range p.Delete {
		if !slices.Contains([]string{"PodDisruptionBudget", "Ingress", "ServiceMonitor", "PrometheusRule"}, old.Kind) {
			t.Fatalf("a %s would be deleted", old.Kind)
		}
	}
	if read(h, "tokyo-credentials", &corev1.Secret{}) == nil && read(h, "pg-app", &corev1.Secret{}) == nil &&
		read(h, "tokyo", &appsv1.Deployment{}) == nil && slices.Contains(kindsOf(p), "Deployment") {
		t.Fatal("pods would start without credentials")
	}
}

func kindsOf(p apply.Plan) (kinds []string) {
	for _, o := range p.Apply {
		kinds = append(kinds, o.Kind)
	}
	return kinds
}

// After any events and a reconcile, the next reconcile writes nothing. If [history.Add] has made no
// change, the children equal those of a new Dojo.
func TestAnyHistoryEndsLikeAFreshStart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t, modelDojo())
		h.create(sourceSecret("hollow purple"))
		t.Repeat(rapid.StateMachineActions(h))
		if read(h, "pg-app", &corev1.Secret{}) == nil {
			h.Rotate(t)
		}
		if scaler := read(h, "scaler", &autoscalingv2.HorizontalPodAutoscaler{}); scaler != nil {
			h.delete(scaler)
		}
		h.reconcile()
		h.server.Writes = nil
		if p := h.plan(); p.Apply != nil || p.Delete != nil || p.Issues != nil {
			t.Fatalf("a second reconcile writes %v, deletes %v, reports %v", kindsOf(p), p.Delete, p.Issues)
		}
		if h.reconcile(); len(h.server.Writes) > 0 {
			t.Fatalf("a second reconcile makes the requests %v", h.server.Writes)
		}
		if len(h.added) > 0 {
			return
		}
		fresh := newHistory(t, h.dojo)
		fresh.create(read(h, "pg-app", &corev1.Secret{}))
		fresh.reconcile()
		sameChildren(t, fresh, h)
	})
}

func sameChildren(t *rapid.T, want, got *history) {
	t.Helper()
	compare(t, want, got, "tokyo-credentials", func() *corev1.Secret { return &corev1.Secret{} })
	compare(t, want, got, "tokyo", func() *appsv1.Deployment { return &appsv1.Deployment{} })
	compare(t, want, got, "tokyo", func() *corev1.Service { return &corev1.Service{} })
	compare(t, want, got, "tokyo", func() *policyv1.PodDisruptionBudget { return &policyv1.PodDisruptionBudget{} })
	compare(t, want, got, "tokyo", func() *networkingv1.Ingress { return &networkingv1.Ingress{} })
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		compare(t, want, got, "tokyo", func() *unstructured.Unstructured {
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind})
			return o
		})
	}
}

func compare[T client.Object](t *rapid.T, want, got *history, name string, empty func() T) {
	t.Helper()
	if diff := cmp.Diff(lasting(want, name, empty()), lasting(got, name, empty())); diff != "" {
		t.Fatalf("%T %s differs from the same child of a new Dojo: %s", empty(), name, diff)
	}
}

func lasting[T client.Object](h *history, name string, empty T) map[string]any {
	h.t.Helper()
	live := read(h, name, empty)
	if reflect.ValueOf(live).IsNil() {
		return nil
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		h.t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: o}
	o["metadata"] = map[string]any{"labels": u.GetLabels(), "owners": u.GetOwnerReferences()}
	delete(o, "status")
	unstructured.RemoveNestedField(o, "spec", "template", "metadata", "annotations", ownership.RevisionAnnotation)
	return o
}

func read[T client.Object](h *history, name string, into T) T {
	h.t.Helper()
	return applytest.Get(h.t, h.server, "school", name, into)
}

func (h *history) create(o client.Object) {
	h.t.Helper()
	o.SetResourceVersion("")
	if err := h.server.Create(h.ctx, o, client.FieldOwner("kubectl")); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) delete(o client.Object) {
	h.t.Helper()
	if err := h.server.Delete(h.ctx, o); err != nil {
		h.t.Fatal(err)
	}
}

func sourceSecret(password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "pg-app"},
		Data: map[string][]byte{
			"host": []byte("pg-rw"), "port": []byte("5432"), "dbname": []byte("app"),
			"user": []byte("yaga"), "password": []byte(password),
		},
	}
}

// A random sequence takes 0.1 s, so these defaults are lower than those of rapid.
func init() {
	for name, value := range map[string]string{"rapid.checks": "30", "rapid.steps": "15"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

func change[T any, P interface {
	*T
	client.Object
}](name string, edit func(P),
) func(*history) {
	return func(h *history) { applytest.Edit(h.t, h.server, "kubectl", read(h, name, P(new(T))), edit) }
}

func ofSecret(edit func(*corev1.Secret)) func(*history)                { return change("tokyo-credentials", edit) }
func ofDeployment(edit func(*appsv1.Deployment)) func(*history)        { return change("tokyo", edit) }
func ofService(edit func(*corev1.Service)) func(*history)              { return change("tokyo", edit) }
func ofBudget(edit func(*policyv1.PodDisruptionBudget)) func(*history) { return change("tokyo", edit) }

func ofContainer(edit func(*corev1.Container)) func(*history) {
	return ofDeployment(func(d *appsv1.Deployment) { edit(&d.Spec.Template.Spec.Containers[0]) })
}

// setVariable removes the old variable first: the API server refuses a variable with both value and
// valueFrom.
func setVariable(c *corev1.Container, name, value string) {
	removeVariable(c, name)
	c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
}

func removeVariable(c *corev1.Container, name string) {
	c.Env = slices.DeleteFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name })
}

func harmless() map[string]func(*history) {
	return map[string]func(*history){
		"annotation of the Secret":     ofSecret(annotate[*corev1.Secret]),
		"annotation of the Deployment": ofDeployment(annotate[*appsv1.Deployment]),
		"annotation of the Service":    ofService(annotate[*corev1.Service]),
		"annotation of the budget":     ofBudget(annotate[*policyv1.PodDisruptionBudget]),
		"further key":                  ofSecret(func(s *corev1.Secret) { s.Data["EXTRA"] = []byte("x") }),
		"further port": ofService(func(s *corev1.Service) {
			extra := corev1.ServicePort{Name: "extra", Port: 9000, TargetPort: intstr.FromString("http")}
			s.Spec.Ports = append(s.Spec.Ports, extra)
		}),
		"further owner": ofService(func(s *corev1.Service) {
			owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}
			s.OwnerReferences = append(s.OwnerReferences, owner)
		}),
		"sidecar": ofDeployment(func(d *appsv1.Deployment) {
			pod := &d.Spec.Template.Spec
			pod.Containers = append(pod.Containers, corev1.Container{Name: "proxy", Image: "proxy"})
		}),
		"kubectl rollout restart": ofDeployment(func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "2026-01-02T12:00:00Z"
		}),
		"autoscaler": func(h *history) {
			h.create(&autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "scaler"},
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "tokyo"},
					MaxReplicas:    9,
				},
			})
			live := read(h, "tokyo", &appsv1.Deployment{})
			applytest.Scale(h.t, h.server, "kube-controller-manager", live, scaleTo(7))
		},
	}
}

func harmful() map[string]func(*history) {
	return map[string]func(*history){
		"Secret deleted":     func(h *history) { h.delete(read(h, "tokyo-credentials", &corev1.Secret{})) },
		"Deployment deleted": func(h *history) { h.delete(read(h, "tokyo", &appsv1.Deployment{})) },
		"Service deleted":    func(h *history) { h.delete(read(h, "tokyo", &corev1.Service{})) },
		"budget deleted":     func(h *history) { h.delete(read(h, "tokyo", &policyv1.PodDisruptionBudget{})) },
		"password":           ofSecret(func(s *corev1.Secret) { s.Data["DB_PASS"] = []byte("x") }),
		"key deleted":        ofSecret(func(s *corev1.Secret) { delete(s.Data, "DB_PORT") }),
		"revision": ofSecret(func(s *corev1.Secret) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, ownership.RevisionAnnotation, "mine")
		}),
		"label of the Secret":                          ofSecret(relabel[*corev1.Secret]),
		"labels and annotations of the Secret deleted": ofSecret(func(s *corev1.Secret) { s.Labels, s.Annotations = nil, nil }),
		"label of the Deployment":                      ofDeployment(relabel[*appsv1.Deployment]),
		"shape of the Deployment": ofDeployment(func(d *appsv1.Deployment) {
			delete(d.Annotations, apply.ShapeAnnotation)
		}),
		"revision of the pods": ofDeployment(func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations[ownership.RevisionAnnotation] = "x"
		}),
		"image":             ofContainer(func(c *corev1.Container) { c.Image = "evil" }),
		"title":             ofContainer(func(c *corev1.Container) { setVariable(c, "DOJO_TITLE", "Kyoto") }),
		"variable deleted":  ofContainer(func(c *corev1.Container) { removeVariable(c, "DOJO_ACCOUNT_ID") }),
		"limits deleted":    ofContainer(func(c *corev1.Container) { c.Resources.Limits = nil }),
		"port deleted":      ofContainer(func(c *corev1.Container) { c.Ports = nil }),
		"replicas, by hand": ofDeployment(scaleTo(9)),
		"target of the port": ofService(func(s *corev1.Service) {
			s.Spec.Ports[0].TargetPort = intstr.FromInt32(1)
		}),
		"selector": ofService(func(s *corev1.Service) {
			s.Spec.Selector[ownership.InstanceLabel] = "kyoto"
		}),
		"budget": ofBudget(func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MaxUnavailable = new(intstr.FromString("100%"))
		}),
	}
}

func annotate[L metav1.Object](o L) {
	annotations := map[string]string{"example.org/note": "hands off"}
	maps.Copy(annotations, o.GetAnnotations())
	o.SetAnnotations(annotations)
}

func relabel[L metav1.Object](o L) {
	labels := map[string]string{} // an earlier change may have removed all labels
	maps.Copy(labels, o.GetLabels())
	labels["app.kubernetes.io/managed-by"] = "another"
	o.SetLabels(labels)
}

func scaleTo(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}
