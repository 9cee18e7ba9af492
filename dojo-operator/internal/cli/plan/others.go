// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

func nestedMap(o *object, fields ...string) (map[string]any, bool, error) {
	value, found, err := unstructured.NestedFieldNoCopy(o.Object, fields...)
	all, _ := value.(map[string]any)
	return all, found, err
}

func nestedString(o *object, fields ...string) (string, bool, error) {
	return unstructured.NestedString(o.Object, fields...)
}

func nestedInt(o *object, fields ...string) int64 {
	value, _, _ := unstructured.NestedInt64(o.Object, fields...)
	return value
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// answer simulates the success of the other controllers. happened describes their work.
func (m *Model) answer(ctx context.Context, dojo *corev1api.Dojo) (happened []string) {
	byName := func(a, b key) int { return strings.Compare(a.Kind+a.Name, b.Kind+b.Name) }
	for _, k := range slices.SortedFunc(maps.Keys(m.objects), byName) {
		o := m.objects[k]
		if o == nil || k.Namespace != dojo.Namespace || k.GroupVersionKind == kinds.Dojo.GroupVersionKind {
			continue
		}
		if o.GetDeletionTimestamp() != nil {
			m.objects[k] = nil
			if k.Kind != kinds.Pod.Kind {
				happened = append(happened, "the "+k.Kind+" "+m.shownName(k)+" is gone")
			}
			continue
		}
		status, what := m.answerOf(dojo, k, o)
		if status == nil || !m.setStatus(k, o, status) {
			continue
		}
		happened = append(happened, "the "+k.Kind+" "+m.shownName(k)+" "+what)
	}
	happened = append(happened, m.answerPooler(ctx, dojo)...)
	return happened
}

func (m *Model) answerOf(dojo *corev1api.Dojo, k key, o *object) (status map[string]any, what string) {
	switch k.GroupVersionKind {
	case kinds.Deployment.GroupVersionKind:
		if k.Name == dojo.Name {
			m.endPods(dojo, o)
			return rolledOut(o, m.stand.now), "has rolled out"
		}
	case kinds.Cluster.GroupVersionKind:
		if k.Name == cnpg.ClusterName(dojo) {
			return readyCluster(o, m.stand.now)
		}
	case kinds.Role.GroupVersionKind, kinds.Database.GroupVersionKind:
		if ownership.LabelledFor(dojo.Name, o) {
			return m.applied(k, o), "is applied"
		}
	case kinds.Job.GroupVersionKind:
		if metav1.IsControlledBy(o, dojo) {
			return map[string]any{"succeeded": int64(1), "conditions": []any{
				condition("Complete", "True", "CompletionsReached", m.stand.now),
			}}, "is complete"
		}
	case kinds.Backup.GroupVersionKind:
		if ownership.LabelledFor(dojo.Name, o) {
			at := m.stand.now.UTC().Format(time.RFC3339)
			return map[string]any{
				"phase": string(cnpgv1.BackupPhaseCompleted), "startedAt": at, "stoppedAt": at, "backupId": "planned",
			}, "is complete"
		}
	case kinds.Channel.GroupVersionKind:
		if k.Name == monitoring.ChannelName(dojo) && !isTrue(o, "Available") {
			return m.postable(k, o), "is on Discord"
		}
	}
	return nil, ""
}

func (m *Model) setStatus(k key, o *object, fields map[string]any) bool {
	next := o.DeepCopy()
	status, _, _ := nestedMap(next, statusOf)
	if status == nil {
		status = map[string]any{}
	}
	before := maps.Clone(status)
	for name, value := range fields {
		if name == "conditions" {
			value = withConditions(status[name], value.([]any))
		}
		status[name] = value
	}
	if equality.Semantic.DeepEqual(before, status) {
		return false
	}
	next.Object[statusOf] = status
	m.objects[k] = m.next(next)
	return true
}

func withConditions(present any, next []any) []any {
	all, _ := present.([]any)
	all = slices.Clone(all)
	for _, c := range next {
		of := func(other any) bool {
			o, ok := other.(map[string]any)
			return ok && o["type"] == c.(map[string]any)["type"]
		}
		at := slices.IndexFunc(all, of)
		switch {
		case at < 0:
			all = append(all, c)
		case all[at].(map[string]any)["status"] != c.(map[string]any)["status"],
			all[at].(map[string]any)["reason"] != c.(map[string]any)["reason"]:
			all[at] = c
		}
	}
	return all
}

func condition(kind, status, reason string, at time.Time) map[string]any {
	return map[string]any{
		"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": at.UTC().Format(time.RFC3339),
	}
}

func isTrue(o *object, kind string) bool {
	all, _, _ := unstructured.NestedSlice(o.Object, statusOf, "conditions")
	return slices.ContainsFunc(all, func(c any) bool {
		fields, _ := c.(map[string]any)
		return fields["type"] == kind && fields["status"] == "True"
	})
}

func rolledOut(o *object, now time.Time) map[string]any {
	desired := nestedInt(o, "spec", "replicas")
	return map[string]any{
		"observedGeneration": o.GetGeneration(), "replicas": desired, "updatedReplicas": desired,
		"readyReplicas": desired, "availableReplicas": desired,
		"conditions": []any{
			condition("Progressing", "True", "NewReplicaSetAvailable", now),
			condition("Available", "True", "MinimumReplicasAvailable", now),
		},
	}
}

func (m *Model) endPods(dojo *corev1api.Dojo, deployment *object) {
	template, _, _ := nestedMap(deployment, "spec", "template", "metadata", "annotations")
	desired := nestedInt(deployment, "spec", "replicas")
	for k, o := range m.objects {
		if o == nil || k.GroupVersionKind != kinds.Pod.GroupVersionKind || k.Namespace != dojo.Namespace ||
			o.GetLabels()[ownership.InstanceLabel] != dojo.Name {
			continue
		}
		current := o.GetAnnotations()[ownership.RevisionAnnotation] == template[ownership.RevisionAnnotation]
		if desired == 0 || !current {
			m.objects[k] = nil
		}
	}
}

// conditionsOfReady sets the condition of an ended hibernation to False. CloudNativePG removes the
// condition, but setStatus cannot remove conditions.
func conditionsOfReady(o *object, now time.Time) []any {
	all := []any{condition("Ready", "True", "ClusterIsReady", now)}
	if isTrue(o, cnpg.HibernationAnnotation) {
		all = append(all, condition(cnpg.HibernationAnnotation, "False", "Resumed", now))
	}
	return all
}

func readyCluster(o *object, now time.Time) (status map[string]any, what string) {
	wanted := nestedInt(o, "spec", "instances")
	primary, _, _ := nestedString(o, statusOf, "currentPrimary")
	if primary == "" {
		primary = o.GetName() + "-1"
	}
	if o.GetAnnotations()[cnpg.HibernationAnnotation] == cnpg.HibernationOn {
		return map[string]any{
			"phase": "Cluster hibernated", "readyInstances": int64(0), "instancesStatus": map[string]any{},
			"conditions": []any{condition(cnpg.HibernationAnnotation, "True", "Hibernated", now)},
		}, "is hibernated"
	}
	healthy, _, _ := unstructured.NestedSlice(o.Object, statusOf, "instancesStatus", "healthy")
	if int64(len(healthy)) != wanted || !slices.Contains(healthy, any(primary)) {
		healthy = []any{primary}
		for n := int64(1); int64(len(healthy)) < wanted; n++ {
			if name := o.GetName() + "-" + strconv.FormatInt(n, 10); name != primary {
				healthy = append(healthy, name)
			}
		}
	}
	status = map[string]any{
		"phase": cnpgv1.PhaseHealthy, "instances": wanted, "readyInstances": wanted,
		"currentPrimary": primary, "targetPrimary": primary,
		"instancesStatus": map[string]any{"healthy": healthy},
		"conditions":      conditionsOfReady(o, now),
	}
	image, named, _ := nestedString(o, "spec", "imageName")
	if known, _, _ := nestedString(o, statusOf, "image"); !named {
		image = known
	}
	if image == "" {
		image = unknownImage
	}
	status["image"] = image
	if loaded := loadedPlugins(o); loaded != nil {
		status["pluginStatus"] = loaded
	}
	if major, err := strconv.ParseInt(majorOf(image), 10, 64); err == nil {
		status["pgDataImageInfo"] = map[string]any{"image": image, "majorVersion": major}
	}
	return status, "is ready"
}

func loadedPlugins(o *object) (all []any) {
	plugins, _, _ := unstructured.NestedSlice(o.Object, "spec", "plugins")
	known, _, _ := unstructured.NestedSlice(o.Object, statusOf, "pluginStatus")
	nameOf := func(plugin any) any { return plugin.(map[string]any)["name"] }
	missing := false
	for _, plugin := range plugins {
		name := nameOf(plugin)
		missing = missing || !slices.ContainsFunc(known, func(loaded any) bool { return nameOf(loaded) == name })
		all = append(all, map[string]any{"name": name, "version": ""})
	}
	if !missing {
		return nil
	}
	return all
}

const unknownImage = "(the image that CloudNativePG chooses)"

func (m *Model) applied(k key, o *object) map[string]any {
	status := map[string]any{"applied": true, "observedGeneration": o.GetGeneration()}
	if k.GroupVersionKind != kinds.Role.GroupVersionKind {
		return status
	}
	name, _, _ := nestedString(o, "spec", "passwordSecret", "name")
	secret := key{kinds.Secret.GroupVersionKind, types.NamespacedName{Namespace: k.Namespace, Name: name}}
	for _, known := range []*object{m.metadata[secret], m.objects[secret]} {
		if known != nil {
			status["secretResourceVersion"] = known.GetResourceVersion()
		}
	}
	return status
}

// postable returns the status of a DiscordChannel whose channel exists. If the spec has a webhook,
// postable creates the Secret of the webhook.
func (m *Model) postable(k key, o *object) map[string]any {
	status := map[string]any{
		"channelID": "1401681709430341704",
		"conditions": []any{
			condition("Available", "True", "ChannelReady", m.stand.now), condition("Ready", "True", "Reconciled", m.stand.now),
			condition("Degraded", "False", "Reconciled", m.stand.now),
			condition("Progressing", "False", "Reconciled", m.stand.now),
		},
	}
	if _, found, _ := nestedMap(o, "spec", "webhook"); found {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name + "-webhook"},
			Data:       map[string][]byte{"url": []byte(m.stand.webhook())},
		}
		m.conjure(kinds.Secret.GroupVersionKind, secret)
		status["webhook"] = map[string]any{"id": "7", "secretRef": map[string]any{"name": secret.Name}}
	}
	return status
}

func (m *Model) answerPooler(ctx context.Context, dojo *corev1api.Dojo) []string {
	at := func(kind kinds.Kind) key {
		return key{kind.GroupVersionKind, types.NamespacedName{Namespace: dojo.Namespace, Name: cnpg.PoolerName(dojo)}}
	}
	pooler := m.objects[at(kinds.Pooler)]
	if pooler == nil {
		return nil
	}
	made := false
	for _, kind := range []kinds.Kind{kinds.Deployment, kinds.Service} {
		if o, err := m.read(ctx, at(kind), false); err != nil || o != nil {
			continue
		}
		o := kind.Named(dojo.Namespace, pooler.GetName())
		owner := metav1.NewControllerRef(pooler, cnpgv1.SchemeGroupVersion.WithKind("Pooler"))
		o.SetOwnerReferences([]metav1.OwnerReference{*owner})
		m.conjure(kind.GroupVersionKind, o)
		made = true
	}
	desired := nestedInt(pooler, "spec", "instances")
	deployment := m.objects[at(kinds.Deployment)]
	available := map[string]any{"availableReplicas": desired}
	if deployment != nil && m.setStatus(at(kinds.Deployment), deployment, available) || made {
		return []string{"the Pooler " + pooler.GetName() + " is ready"}
	}
	return nil
}

func (m *Model) conjure(gvk schema.GroupVersionKind, o client.Object) {
	made, err := content(o)
	if err != nil {
		return // cannot happen: the object is made of plain fields
	}
	made.SetGroupVersionKind(gvk)
	m.identify(made)
	k := keyOf(made)
	m.objects[k] = m.next(made)
	m.metadata[k] = m.objects[k]
}
