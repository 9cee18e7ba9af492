package dojo

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// large is the metadata of an object of somebody else, with all that objects gather.
func large() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "team", Name: "theirs", UID: "u", ResourceVersion: "5", Generation: 2,
		Labels:          map[string]string{"app": "theirs"},
		Annotations:     map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{...}"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Cluster", Name: "pg"}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		Finalizers:      []string{"theirs"},
	}
}

// small is what is left of it.
func small() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "team", Name: "theirs", UID: "u", ResourceVersion: "5",
		OwnerReferences: []metav1.OwnerReference{{Kind: "Cluster", Name: "pg"}},
	}
}

func with(m metav1.ObjectMeta, change func(*metav1.ObjectMeta)) metav1.ObjectMeta {
	change(&m)
	return m
}

func granted(m *metav1.ObjectMeta) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[corev1api.AllowedNamespacesAnnotation] = "school"
}

func TestStripOthers(t *testing.T) {
	t.Parallel()
	secret := func(m metav1.ObjectMeta) *metav1.PartialObjectMetadata {
		s := secretMetadata()
		s.ObjectMeta = m
		return s
	}
	target := autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "tokyo"}
	cases := map[string]struct{ in, want any }{
		"Secret":          {secret(large()), secret(small())},
		"Secret, granted": {secret(with(large(), granted)), secret(with(small(), granted))},
		"Service": {&corev1.Service{ObjectMeta: large(), Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}},
			&corev1.Service{ObjectMeta: small()}},
		"Deployment": {&appsv1.Deployment{ObjectMeta: large(), Spec: appsv1.DeploymentSpec{MinReadySeconds: 1}, Status: appsv1.DeploymentStatus{Replicas: 1}},
			&appsv1.Deployment{ObjectMeta: small()}},
		"budget": {&policyv1.PodDisruptionBudget{ObjectMeta: large(), Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1}},
			&policyv1.PodDisruptionBudget{ObjectMeta: small()}},
		"autoscaler": {&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: large(), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: target, MaxReplicas: 9}},
			&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: small(), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: target}}},
		"Ingress": {&networkingv1.Ingress{ObjectMeta: large(), Spec: networkingv1.IngressSpec{IngressClassName: new("nginx")}},
			&networkingv1.Ingress{ObjectMeta: small()}},
		"Job":      {&batchv1.Job{ObjectMeta: large(), Status: batchv1.JobStatus{Active: 1}}, &batchv1.Job{ObjectMeta: small()}},
		"Database": {theirs("Database", "spec: {name: a}\nstatus: {applied: true}"), theirs("Database", "")},
		"Cluster": {
			theirs("Cluster", "spec: {instances: 3, imageName: x}\nstatus: {phase: fine, image: x, readyInstances: 2, currentPrimary: a, conditions: [{type: Ready}], topology: {a: b}}"),
			theirs("Cluster", "spec: {instances: 3}\nstatus: {phase: fine, image: x, readyInstances: 2, currentPrimary: a, conditions: [{type: Ready}]}"),
		},
		"DiscordChannel": {
			ofDiscord("spec: {name: a, webhook: {name: x}}\nstatus: {channelId: \"1\", channelURL: b, serverId: c, webhook: {id: \"2\"}, conditions: [{type: Ready}]}"),
			ofDiscord("spec: {webhook: {name: x}}\nstatus: {channelId: \"1\", channelURL: b, webhook: {id: \"2\"}, conditions: [{type: Ready}]}"),
		},
		"tombstone": {toolscache.DeletedFinalStateUnknown{Key: "team/theirs"}, toolscache.DeletedFinalStateUnknown{Key: "team/theirs"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := strip(c.in)
			must(t, err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// theirs is an object of CloudNativePG that belongs to somebody else.
func theirs(kind, text string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(err)
	}
	if o.Object == nil {
		o.Object = map[string]any{}
	}
	o.SetAPIVersion("postgresql.cnpg.io/v1")
	o.SetKind(kind)
	o.SetNamespace("team")
	o.SetName("theirs")
	return o
}

// ofDiscord is a channel that belongs to somebody else.
func ofDiscord(text string) *unstructured.Unstructured {
	o := theirs("DiscordChannel", text)
	o.SetAPIVersion("discord.jutsu.com/v1alpha1")
	return o
}

func TestStripKeepsOurChildrenWhole(t *testing.T) {
	t.Parallel()
	w := settledWorld(t, tokyo(exposed))
	unlabelled := func(o metav1.Object) metav1.Object { o.SetLabels(nil); return o }
	unowned := func(o metav1.Object) metav1.Object { o.SetOwnerReferences(nil); return o }
	cases := map[string]metav1.Object{
		"Secret":                     metadataOf(w.own),
		"Deployment":                 w.deployment.DeepCopy(),
		"Service":                    w.service.DeepCopy(),
		"budget":                     w.budget.DeepCopy(),
		"Ingress":                    w.ingress.DeepCopy(),
		"database":                   databaseFor(tokyo(inPG)),
		"Cluster":                    clusterFor(tokyo(ownPG), testConfig),
		"Service without its labels": unlabelled(w.service.DeepCopy()),
		"Secret without its labels":  unlabelled(metadataOf(w.own)),
		"Deployment without owner":   unowned(w.deployment.DeepCopy()),
	}
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			want := o.(runtime.Object).DeepCopyObject()
			got, err := strip(o)
			must(t, err)
			if diff := cmp.Diff(any(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStripKeepsThePodsTrouble(t *testing.T) {
	t.Parallel()
	initializing := pod("a")
	initializing.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting("InvalidImageName", "x")}
	leaving := pod("a", crashed(5))
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	for name, p := range map[string]corev1.Pod{
		"crashing": pod("a", crashed(5)), "not scheduled": unscheduled("a", corev1.PodReasonUnschedulable),
		"initializing": initializing, "leaving": leaving,
	} {
		t.Run(name, func(t *testing.T) {
			want := troubleOf(noon, &p)
			p.Labels[revisionLabel], p.CreationTimestamp = "5d8f", metav1.NewTime(noon)
			p.Spec.Containers = []corev1.Container{{Name: "dojo"}}
			p.ManagedFields, p.Annotations = large().ManagedFields, large().Annotations
			out, err := strip(&p)
			must(t, err)
			got := out.(*corev1.Pod)
			if troubleOf(noon, got) != want {
				t.Errorf("trouble was %+v, is %+v", want, troubleOf(noon, got))
			}
			if got.Spec.Containers != nil || got.ManagedFields != nil || got.Annotations != nil {
				t.Errorf("keeps what nobody asks for: %+v", got)
			}
			if !got.CreationTimestamp.Time.Equal(noon) {
				t.Errorf("created at %s", got.CreationTimestamp)
			}
			if diff := cmp.Diff(map[string]string{nameLabel: "dojo", instanceLabel: "tokyo", revisionLabel: "5d8f"}, got.Labels); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCacheOptions(t *testing.T) {
	t.Parallel()
	options := CacheOptions(nil)
	if !options.ReaderFailOnMissingInformer {
		t.Error("a read by mistake would start to cache a whole kind")
	}
	count := 0
	for o, of := range options.ByObject {
		count++
		if of.Transform == nil {
			t.Errorf("%T is cached whole", o)
		}
		if _, ok := o.(*corev1.Pod); ok {
			if !of.Label.Matches(k8slabels.Set(settledWorld(t, tokyo()).deployment.Spec.Template.Labels)) {
				t.Errorf("%s misses the pods of a Dojo", of.Label)
			}
			if of.Label.Matches(k8slabels.Set{nameLabel: nameValue}) {
				t.Errorf("%s caches the pods of others", of.Label)
			}
		} else if of.Label != nil {
			t.Errorf("%T: a child whose labels somebody has taken off would look deleted", o)
		}
	}
	if count != 10 {
		t.Errorf("%d kinds", count)
	}
	if options.DefaultNamespaces != nil {
		t.Errorf("all namespaces are watched by default, not %v", options.DefaultNamespaces)
	}
	if some := CacheOptions([]string{"a", "b"}).DefaultNamespaces; len(some) != 2 {
		t.Errorf("two namespaces, not %v", some)
	}
}
