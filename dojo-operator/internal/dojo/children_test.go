package dojo

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// kinds tells of each step what it writes, and in which order.
func kinds(s *steps) []string {
	var kinds []string
	for _, c := range s.apply {
		kinds = append(kinds, c.kind)
	}
	return kinds
}

// harmless is what others may do to the children of a Dojo.
func harmless() map[string]func(w *world) {
	return map[string]func(w *world){
		"nothing":                 func(*world) {},
		"note on the Secret":      func(w *world) { w.own = edit(w, w.own, "kubectl", annotate[*corev1.Secret]) },
		"note on the Deployment":  func(w *world) { w.deployment = edit(w, w.deployment, "kubectl", annotate[*appsv1.Deployment]) },
		"note on the Service":     func(w *world) { w.service = edit(w, w.service, "kubectl", annotate[*corev1.Service]) },
		"note on the budget":      func(w *world) { w.budget = edit(w, w.budget, "kubectl", annotate[*policyv1.PodDisruptionBudget]) },
		"further key":             func(w *world) { w.own = edit(w, w.own, "kubectl", key("EXTRA", "x")) },
		"further port":            func(w *world) { w.service = edit(w, w.service, "kubectl", addPort) },
		"further owner":           func(w *world) { w.service = edit(w, w.service, "kubectl", addOwner) },
		"sidecar":                 func(w *world) { w.deployment = edit(w, w.deployment, "injector", addSidecar) },
		"kubectl rollout restart": func(w *world) { w.deployment = edit(w, w.deployment, "kubectl-rollout", restart) },
		"replicas, by autoscaling": func(w *world) {
			w.scaler, w.deployment = true, edit(w, w.deployment, "kube-controller-manager", scaleTo(7))
		},
	}
}

// harm is what others must not do, and what is written to put it right.
type harm struct {
	change func(w *world)
	writes []string
}

// variable puts others into the place of a variable of the container.
func variable(name string, others ...corev1.EnvVar) func(*corev1.Container) {
	return func(c *corev1.Container) {
		if i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name }); i >= 0 {
			c.Env = slices.Replace(c.Env, i, i+1, others...)
		}
	}
}

func harmful() map[string]harm {
	secret := func(change func(*corev1.Secret)) func(w *world) {
		return func(w *world) { w.own = edit(w, w.own, "kubectl", change) }
	}
	workload := func(change func(*appsv1.Deployment)) func(w *world) {
		return func(w *world) { w.deployment = edit(w, w.deployment, "kubectl", change) }
	}
	service := func(change func(*corev1.Service)) func(w *world) {
		return func(w *world) { w.service = edit(w, w.service, "kubectl", change) }
	}
	rolled := []string{kindSecret, kindDeployment}
	return map[string]harm{
		"Secret deleted":          {func(w *world) { w.own = nil }, rolled},
		"Deployment deleted":      {func(w *world) { w.deployment = nil }, []string{kindDeployment}},
		"Service deleted":         {func(w *world) { w.service = nil }, []string{kindService}},
		"budget deleted":          {func(w *world) { w.budget = nil }, []string{kindBudget}},
		"password":                {secret(key("DB_PASS", "x")), rolled},
		"key deleted":             {secret(without("DB_PORT")), rolled},
		"revision":                {secret(func(s *corev1.Secret) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, revisionAnnotation, "mine") }), rolled},
		"label of the Secret":     {secret(relabel[*corev1.Secret]), []string{kindSecret}},
		"all notes, all labels":   {secret(func(s *corev1.Secret) { s.Labels, s.Annotations = nil, nil }), rolled},
		"label of the Deployment": {workload(relabel[*appsv1.Deployment]), []string{kindDeployment}},
		"image":                   {workload(container(func(c *corev1.Container) { c.Image = "evil" })), []string{kindDeployment}},
		"title":                   {workload(container(variable("DOJO_TITLE", corev1.EnvVar{Name: "DOJO_TITLE", Value: "Kyoto"}))), []string{kindDeployment}},
		"variable deleted":        {workload(container(variable("DOJO_ACCOUNT_ID"))), []string{kindDeployment}},
		"memory limit deleted":    {workload(container(func(c *corev1.Container) { delete(c.Resources.Limits, corev1.ResourceMemory) })), []string{kindDeployment}},
		"replicas, by hand":       {func(w *world) { w.scaler = false; workload(scaleTo(9))(w) }, []string{kindDeployment}},
		"target of the port":      {service(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(1) }), []string{kindService}},
		"selector":                {service(func(s *corev1.Service) { s.Spec.Selector[instanceLabel] = "kyoto" }), []string{kindService}},
		"budget": {func(w *world) {
			w.budget = edit(w, w.budget, "kubectl", func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = ptr.To(intstr.FromString("100%")) })
		}, []string{kindBudget}},
	}
}

func TestWhatOthersAddCostsNoWrite(t *testing.T) {
	t.Parallel()
	for name, change := range harmless() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tokyo()
			w := settledWorld(t, d)
			change(w)
			s := w.pass(d)
			if s.apply != nil || s.remove != nil {
				t.Errorf("writes %v, removes %v", kinds(s), s.remove)
			}
		})
	}
}

func TestWhatOthersChangeOfOursIsPutBack(t *testing.T) {
	t.Parallel()
	for name, c := range harmful() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tokyo()
			w := settledWorld(t, d)
			c.change(w)
			if diff := cmp.Diff(c.writes, kinds(w.pass(d))); diff != "" {
				t.Error("writes", diff)
			}
			if again := kinds(w.pass(d)); again != nil {
				t.Errorf("put back, and yet %v is written again", again)
			}
			same(t, settledWorld(t, d), w)
		})
	}
}

// same compares what two worlds make of the pods and of the way to them.
func same(t rapid.TB, want, got *world) {
	t.Helper()
	delete(got.deployment.Spec.Template.Annotations, revisionAnnotation)
	delete(want.deployment.Spec.Template.Annotations, revisionAnnotation)
	if (want.budget == nil) != (got.budget == nil) {
		t.Fatalf("budget %v, want %v", got.budget, want.budget)
	}
	if want.budget == nil {
		want.budget, got.budget = &policyv1.PodDisruptionBudget{}, &policyv1.PodDisruptionBudget{}
	}
	for what, diff := range map[string]string{
		"Secret":               cmp.Diff(want.own.Data, got.own.Data),
		"labels of the Secret": cmp.Diff(want.own.Labels, got.own.Labels),
		"Deployment":           cmp.Diff(want.deployment.Spec, got.deployment.Spec),
		"its labels":           cmp.Diff(want.deployment.Labels, got.deployment.Labels),
		"Service":              cmp.Diff(want.service.Spec, got.service.Spec),
		"budget":               cmp.Diff(want.budget.Spec, got.budget.Spec),
	} {
		if diff != "" {
			t.Error(what, diff)
		}
	}
}

// What is ours by an update, too, would stay when we no longer apply it.
func TestWhatWeHaveUpdatedIsMerged(t *testing.T) {
	t.Parallel()
	d := tokyo()
	w := settledWorld(t, d)
	w.deployment = edit(w, w.deployment, FieldOwner, addSidecar)
	s := w.pass(d)
	if diff := cmp.Diff([]string{kindDeployment}, kinds(s)); diff != "" {
		t.Fatal("writes", diff)
	}
	if s.apply[0].merge == nil {
		t.Error("nothing is merged")
	}
	w = settledWorld(t, d)
	w.deployment = edit(w, w.deployment, FieldOwner+"-2", addSidecar)
	w.service = edit(w, w.service, "kubectl", func(s *corev1.Service) { s.Spec.Selector = nil })
	s = w.pass(d)
	if diff := cmp.Diff([]string{kindService}, kinds(s)); diff != "" || s.apply[0].merge != nil {
		t.Errorf("merges what is not ours: %s", diff)
	}
}

func TestMoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change              func(*appsv1.Deployment) // what somebody does
		generation, version string                   // of the answer
		want                bool
	}{
		"nothing":                               {func(*appsv1.Deployment) {}, "4", "7", false},
		"the status has moved meanwhile":        {func(*appsv1.Deployment) {}, "4", "8", false},
		"the spec was put back":                 {scaleTo(9), "5", "8", true},
		"a label was put back":                  {relabel[*appsv1.Deployment], "4", "8", true},
		"a label that a policy keeps otherwise": {relabel[*appsv1.Deployment], "4", "7", false},
	} {
		t.Run(name, func(t *testing.T) {
			live := deployment(c.change)
			live.Name, live.ResourceVersion, live.Labels = "tokyo", "7", labels(tokyo())
			c.change(live)
			want := deploymentFor(tokyo(), testConfig, "r", false)
			moved := newChild(kindDeployment, live, want, want.ObjectMetaApplyConfiguration)
			generation, err := strconv.ParseInt(c.generation, 10, 64)
			must(t, err)
			want.WithGeneration(generation).WithResourceVersion(c.version)
			if got := moved.moved(); got != c.want {
				t.Errorf("moved is %v", got)
			}
		})
	}
}

func TestEveryChildIsOwnedAndLabelled(t *testing.T) {
	t.Parallel()
	d := tokyo()
	w := settledWorld(t, d)
	for _, o := range []metav1.Object{w.own, w.deployment, w.service, w.budget} {
		if o.GetNamespace() != "school" || !metav1.IsControlledBy(o, d) || !ownedByDojo(o) {
			t.Errorf("%T %s/%s belongs to %v", o, o.GetNamespace(), o.GetName(), o.GetOwnerReferences())
		}
		want := map[string]string{
			"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "tokyo", "app.kubernetes.io/managed-by": "dojo-operator",
		}
		if diff := cmp.Diff(want, o.GetLabels()); diff != "" {
			t.Errorf("labels of the %T: %s", o, diff)
		}
	}
}

func TestTaken(t *testing.T) {
	t.Parallel()
	ours := func(d *corev1api.Dojo) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(d, corev1api.GroupVersion.WithKind("Dojo")),
		}}}
	}
	cases := map[string]struct {
		live *corev1.Service
		want bool
	}{
		"absent":            {nil, false},
		"ours":              {ours(tokyo()), false},
		"owned by nobody":   {&corev1.Service{}, true},
		"of another Dojo":   {ours(tokyo(func(d *corev1api.Dojo) { d.Name, d.UID = "kyoto", "uid of kyoto" })), true},
		"of a Dojo of old":  {ours(tokyo(func(d *corev1api.Dojo) { d.UID = "uid of the one before" })), true},
		"not as controller": {&corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "uid of tokyo"}}}}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := taken(tokyo(), c.live); got != c.want {
				t.Errorf("taken is %v", got)
			}
		})
	}
}

func annotate[L metav1.Object](o L) {
	annotations := map[string]string{"example.org/note": "hands off"}
	maps.Copy(annotations, o.GetAnnotations())
	o.SetAnnotations(annotations)
}

func relabel[L metav1.Object](o L) {
	labels := map[string]string{}
	maps.Copy(labels, o.GetLabels())
	labels[managedByLabel] = "somebody"
	o.SetLabels(labels)
}

func addPort(s *corev1.Service) {
	s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "extra", Port: 9000, TargetPort: httpPort, Protocol: corev1.ProtocolTCP})
}

func addOwner(s *corev1.Service) {
	s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"})
}

func addSidecar(d *appsv1.Deployment) {
	pod := &d.Spec.Template.Spec
	pod.Containers = append(pod.Containers, corev1.Container{Name: "proxy", Image: "proxy"})
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "proxy", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
}

func restart(d *appsv1.Deployment) {
	d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "2026-01-02T12:00:00Z"
}

func scaleTo(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

func container(change func(*corev1.Container)) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { change(&d.Spec.Template.Spec.Containers[0]) }
}
