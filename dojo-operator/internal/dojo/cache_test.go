// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"strings"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

func large() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "team", Name: "theirs", UID: "u", ResourceVersion: "5", Generation: 2,
		CreationTimestamp: metav1.NewTime(dojotest.Noon),
		DeletionTimestamp: &metav1.Time{Time: dojotest.Noon},
		Labels:            map[string]string{"app": "theirs"},
		Annotations:       map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{...}"},
		OwnerReferences:   []metav1.OwnerReference{{Kind: "Pod", Name: "theirs"}, theirs},
		ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		Finalizers:        []string{"theirs"},
	}
}

var theirs = metav1.OwnerReference{Kind: "Cluster", Name: "pg", Controller: new(true)}

func small() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "team", Name: "theirs", UID: "u", ResourceVersion: "5",
		CreationTimestamp: metav1.NewTime(dojotest.Noon), DeletionTimestamp: &metav1.Time{Time: dojotest.Noon},
		OwnerReferences: []metav1.OwnerReference{theirs},
	}
}

func forged(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.Labels = ownership.Labels(dojotest.Dojo(), ownership.Application)
	m.OwnerReferences = childOf(dojotest.Dojo()).OwnerReferences
	return m
}

func written(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.ManagedFields = append(m.ManagedFields, metav1.ManagedFieldsEntry{Manager: ownership.FieldOwner})
	return m
}

func granted(m metav1.ObjectMeta) metav1.ObjectMeta {
	metav1.SetMetaDataAnnotation(&m, corev1api.AllowedNamespacesAnnotation, "school")
	return m
}

func TestStripForeign(t *testing.T) {
	t.Parallel()
	metadata := func(kind string, m metav1.ObjectMeta) *metav1.PartialObjectMetadata {
		o := apply.Metadata("v1", kind)
		o.ObjectMeta = m
		return o
	}
	definition := func(m metav1.ObjectMeta) *metav1.PartialObjectMetadata {
		o := optionalkinds.Definition()
		o.ObjectMeta = m
		return o
	}
	ofKind := func(name string) (with, without *unstructured.Unstructured) {
		with, without = kindNamed(t, name).Object(), kindNamed(t, name).Object()
		for field, value := range apply.As[map[string]any](map[string]any{"metadata": large(), "spec": map[string]any{}}) {
			with.Object[field] = value
		}
		without.Object["metadata"] = apply.As[map[string]any](small())
		return with, without
	}
	largeRule, smallRule := ofKind("PrometheusRule")
	largeRoute, smallRoute := ofKind("HTTPRoute")
	target := autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "tokyo"}
	ready := []metav1.Condition{{Type: "Ready"}}
	hibernated := func(m metav1.ObjectMeta) metav1.ObjectMeta {
		m.CreationTimestamp = metav1.NewTime(dojotest.Noon)
		metav1.SetMetaDataAnnotation(&m, "cnpg.io/hibernation", "on")
		return m
	}
	tombstone := toolscache.DeletedFinalStateUnknown{Key: "team/theirs"}
	cases := map[string]struct{ in, want any }{
		"Secret":                        {metadata("Secret", large()), metadata("Secret", small())},
		"Secret shared with namespaces": {metadata("Secret", granted(large())), metadata("Secret", granted(small()))},
		"CustomResourceDefinition":      {definition(large()), definition(small())},
		"ConfigMap":                     {metadata("ConfigMap", large()), metadata("ConfigMap", small())},
		"forged Secret":                 {metadata("Secret", forged(large())), metadata("Secret", forged(small()))},
		"forged Deployment": {
			&appsv1.Deployment{ObjectMeta: forged(large()), Spec: appsv1.DeploymentSpec{MinReadySeconds: 1}},
			&appsv1.Deployment{ObjectMeta: forged(small())},
		},
		"Database with a Cluster name that is too long": {
			&cnpgv1.Database{ObjectMeta: large(), Spec: cnpgv1.DatabaseSpec{
				ClusterRef: corev1.LocalObjectReference{Name: strings.Repeat("a", 318)}}},
			&cnpgv1.Database{ObjectMeta: small()},
		},
		"Service": {
			&corev1.Service{ObjectMeta: large(), Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}},
			&corev1.Service{ObjectMeta: small()},
		},
		"Deployment": {
			&appsv1.Deployment{ObjectMeta: large(), Status: appsv1.DeploymentStatus{Replicas: 1}},
			&appsv1.Deployment{ObjectMeta: small()},
		},
		"budget": {
			&policyv1.PodDisruptionBudget{ObjectMeta: large(), Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1}},
			&policyv1.PodDisruptionBudget{ObjectMeta: small()},
		},
		"autoscaler": {
			&autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: large(), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: target, MaxReplicas: 9},
			},
			&autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: small(), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: target},
			},
		},
		"Ingress": {
			&networkingv1.Ingress{ObjectMeta: large(), Spec: networkingv1.IngressSpec{IngressClassName: new("nginx")}},
			&networkingv1.Ingress{ObjectMeta: small()},
		},
		"HTTPRoute": {largeRoute, smallRoute},
		"Job": {
			&batchv1.Job{ObjectMeta: large(), Status: batchv1.JobStatus{
				Active: 1, Failed: 2, Succeeded: 3, Conditions: []batchv1.JobCondition{{Message: "a"}},
			}},
			&batchv1.Job{ObjectMeta: small(), Status: batchv1.JobStatus{Active: 1, Failed: 2}},
		},
		"Database": {
			&cnpgv1.Database{ObjectMeta: large(), Spec: cnpgv1.DatabaseSpec{Name: "a"}},
			&cnpgv1.Database{ObjectMeta: small()},
		},
		"DatabaseRole":    {&cnpgv1.DatabaseRole{ObjectMeta: large()}, &cnpgv1.DatabaseRole{ObjectMeta: small()}},
		"ScheduledBackup": {&cnpgv1.ScheduledBackup{ObjectMeta: large()}, &cnpgv1.ScheduledBackup{ObjectMeta: small()}},
		"Backup":          {&cnpgv1.Backup{ObjectMeta: large()}, &cnpgv1.Backup{ObjectMeta: small()}},
		"Cluster": {
			&cnpgv1.Cluster{
				ObjectMeta: hibernated(large()), Spec: cnpgv1.ClusterSpec{Instances: 3, ImageName: "x"},
				Status: cnpgv1.ClusterStatus{
					Phase: "fine", Image: "x", ReadyInstances: 2, CurrentPrimary: "a", TargetPrimary: "a", Conditions: ready, Instances: 3,
				},
			},
			&cnpgv1.Cluster{
				ObjectMeta: hibernated(small()), Spec: cnpgv1.ClusterSpec{Instances: 3},
				Status: cnpgv1.ClusterStatus{
					Phase: "fine", Image: "x", ReadyInstances: 2, CurrentPrimary: "a", TargetPrimary: "a", Conditions: ready,
				},
			},
		},
		"DiscordChannel": {
			&discordv1alpha1.DiscordChannel{
				ObjectMeta: large(),
				Spec:       discordv1alpha1.DiscordChannelSpec{Name: "a", Webhook: &discordv1alpha1.ChannelWebhook{Name: "x"}},
				Status: discordv1alpha1.DiscordChannelStatus{
					ChannelID: "1", ChannelURL: "b", Webhook: &discordv1alpha1.WebhookStatus{ID: "2"}, Conditions: ready,
					ObservedGeneration: 2,
				},
			},
			&discordv1alpha1.DiscordChannel{
				ObjectMeta: small(),
				Spec:       discordv1alpha1.DiscordChannelSpec{Webhook: &discordv1alpha1.ChannelWebhook{Name: "x"}},
				Status: discordv1alpha1.DiscordChannelStatus{
					ChannelID: "1", ChannelURL: "b", Webhook: &discordv1alpha1.WebhookStatus{ID: "2"}, Conditions: ready,
				},
			},
		},
		"PrometheusRule": {largeRule, smallRule},
		"tombstone":      {tombstone, tombstone},
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

func TestStripKeepsOurObjectsWhole(t *testing.T) {
	t.Parallel()
	owned, labels := written(large()), written(large())
	owned.OwnerReferences = childOf(dojotest.Dojo()).OwnerReferences
	labels.Labels = ownership.Labels(dojotest.Dojo(), ownership.Application)
	rule := kindNamed(t, "PrometheusRule").Object()
	rule.SetLabels(labels.Labels)
	rule.SetManagedFields(labels.ManagedFields)
	must(t, unstructured.SetNestedField(rule.Object, "x", "spec", "groups"))
	cases := map[string]client.Object{
		"Secret":                    &metav1.PartialObjectMetadata{ObjectMeta: labels},
		"Secret without labels":     &metav1.PartialObjectMetadata{ObjectMeta: owned},
		"Deployment without labels": &appsv1.Deployment{ObjectMeta: owned, Spec: appsv1.DeploymentSpec{MinReadySeconds: 1}},
		"Deployment without owner":  &appsv1.Deployment{ObjectMeta: labels, Spec: appsv1.DeploymentSpec{MinReadySeconds: 1}},
		"Service":                   &corev1.Service{ObjectMeta: owned, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}},
		"Database":                  &cnpgv1.Database{ObjectMeta: labels, Spec: cnpgv1.DatabaseSpec{Name: "a"}},
		"Cluster":                   &cnpgv1.Cluster{ObjectMeta: labels, Spec: cnpgv1.ClusterSpec{ImageName: "x"}},
		"DiscordChannel": &discordv1alpha1.DiscordChannel{
			ObjectMeta: owned, Spec: discordv1alpha1.DiscordChannelSpec{Name: "a"},
		},
		"PrometheusRule": rule,
	}
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			want := o.DeepCopyObject()
			got, err := strip(o)
			must(t, err)
			if diff := cmp.Diff(any(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The limited metadata keeps a user from filling the operator's memory.
func TestStripKeepsReadMetadataOfADojo(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(exposed)
	want := dojo.DeepCopy()
	dojo.Labels, dojo.ManagedFields, dojo.OwnerReferences = large().Labels, large().ManagedFields, large().OwnerReferences
	dojo.Annotations = map[string]string{
		"a": "b", corev1api.RotatePasswordAnnotation: strings.Repeat("now", 1000), corev1api.RecreateDatabaseAnnotation: "uid",
		corev1api.PausedAnnotation: "true", corev1api.RetryReleaseAnnotation: strings.Repeat("a", 1023) + "é",
	}
	want.Annotations = map[string]string{
		corev1api.RotatePasswordAnnotation:   strings.Repeat("now", 1000)[:1024],
		corev1api.RecreateDatabaseAnnotation: "uid",
		corev1api.PausedAnnotation:           "true",
		corev1api.RetryReleaseAnnotation:     strings.Repeat("a", 1023),
	}
	got, err := strip(dojo)
	must(t, err)
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestTooLargeObjectIsANameConflict(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo()
	live := &appsv1.Deployment{ObjectMeta: written(forged(small()))}
	live.Annotations = map[string]string{"a": strings.Repeat("b", apply.MaxKept)}
	_, err := strip(live)
	must(t, err)
	live.DeletionTimestamp = nil
	issue := ownership.NameConflict(dojo, "Deployment", live)
	if !issue.IsDegraded() || issue.Reason != corev1api.ReasonNameConflict || !strings.Contains(issue.Message, "128 KiB") {
		t.Errorf("got %v", issue)
	}
	if ownership.Holds(dojo, live) {
		t.Error("the operator may write to the Deployment")
	}
}

func TestStripKeepsThePodsTrouble(t *testing.T) {
	t.Parallel()
	waiting := func(reason string) []corev1.ContainerStatus {
		state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
		return []corev1.ContainerStatus{{Name: "dojo", State: state}}
	}
	unscheduled := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}
	for name, status := range map[string]corev1.PodStatus{
		"image cannot be pulled":              {ContainerStatuses: waiting("ErrImagePull")},
		"init container has an invalid image": {InitContainerStatuses: waiting("InvalidImageName")},
		"cannot be scheduled":                 {Conditions: []corev1.PodCondition{unscheduled}},
		"refused by its node":                 {Phase: corev1.PodFailed},
		"no trouble":                          {},
	} {
		for _, leaving := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				p := &corev1.Pod{ObjectMeta: labelled(ownership.Application), Status: status}
				if leaving {
					p.DeletionTimestamp = &metav1.Time{Time: dojotest.Noon}
				}
				want := pods.Of(dojotest.Noon, p)
				p.Labels[pods.RevisionLabel], p.CreationTimestamp = "5d8f", metav1.NewTime(dojotest.Noon)
				p.Spec.Containers, p.Status.HostIP = []corev1.Container{{Name: "dojo"}}, "10.0.0.1"
				p.ManagedFields, p.Annotations = large().ManagedFields, large().Annotations
				p.Annotations[ownership.RevisionAnnotation] = "4yq2"
				_, err := strip(p)
				must(t, err)
				if got := pods.Of(dojotest.Noon, p); got != want {
					t.Errorf("trouble was %+v, is %+v", want, got)
				}
				labels := map[string]string{
					ownership.NameLabel: "dojo", ownership.InstanceLabel: "tokyo", pods.RevisionLabel: "5d8f",
				}
				small := &corev1.Pod{Status: status, ObjectMeta: metav1.ObjectMeta{
					Namespace: "school", Name: "a", CreationTimestamp: metav1.NewTime(dojotest.Noon), Labels: labels,
					DeletionTimestamp: p.DeletionTimestamp, Annotations: map[string]string{ownership.RevisionAnnotation: "4yq2"},
				}}
				if diff := cmp.Diff(small, p); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestCacheOptions(t *testing.T) {
	t.Parallel()
	options := CacheOptions(nil)
	if !options.ReaderFailOnMissingInformer {
		t.Error("a read of a kind without an informer would cache the whole kind")
	}
	if options.DefaultTransform == nil {
		t.Error("objects are cached whole")
	}
	ours := ownership.Labels(dojotest.Dojo(), ownership.Application)
	for o, of := range options.ByObject {
		if _, ok := o.(*corev1.Pod); !ok {
			if of.Label != nil {
				t.Errorf("%T: a child whose labels were removed would look deleted", o)
			}
			continue
		}
		if of.Transform != nil {
			t.Error("pods are not stripped")
		}
		if !of.Label.Matches(k8slabels.Set(ours)) {
			t.Errorf("%s misses the pods of a Dojo", of.Label)
		}
		if of.Label.Matches(k8slabels.Set{ownership.NameLabel: ownership.Application}) {
			t.Errorf("%s caches foreign pods", of.Label)
		}
	}
	if options.DefaultNamespaces != nil {
		t.Errorf("by default, only the namespaces %v are watched", options.DefaultNamespaces)
	}
	if some := CacheOptions([]string{"a", "b"}).DefaultNamespaces; len(some) != 2 {
		t.Errorf("want two namespaces, not %v", some)
	}
}
