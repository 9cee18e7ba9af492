// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// The phases of a Cluster (api/v1/cluster_types.go, and ensureNoFailoverOnFullDisk).
const (
	healthy       = "Cluster in healthy state"
	hibernated    = "Cluster hibernated"
	firstPrimary  = "Setting up primary"
	creating      = "Creating a new replica"
	failingOver   = "Failing over"
	waitingActive = "Waiting for the instances to become active"
	diskFull      = "Not enough disk space"
	upgrading     = "Upgrading cluster"
	unknownPlugin = "Cluster cannot proceed to reconciliation due to an unknown plugin being required"
)

// pendingFailover is the value of status.targetPrimary until an instance takes over.
const pendingFailover = "pending"

type instances struct {
	atMost   *int64 // bound on ready instances
	primary  int64  // number of the primary instance, minus one
	lost     bool   // the primary's pod does not exist, and no other instance has taken over
	diskFull bool

	upgrades  Upgrades
	data      pgData
	roll      roll
	archiving string // error of archiving the write-ahead log, or ""

	failedPods int32 // failed pods of the Job that fills the Cluster
}

// SetReadyInstances bounds the ready instances of a Cluster. A negative number removes the bound.
func (s *StandIn) SetReadyInstances(namespace, cluster string, atMost int) {
	s.change(namespace, cluster, func(i *instances) {
		i.atMost = nil
		if atMost >= 0 {
			i.atMost = new(int64(atMost))
		}
	})
}

// FailPrimary removes the primary's pod. The Cluster has no primary until Promote.
func (s *StandIn) FailPrimary(namespace, cluster string) {
	s.change(namespace, cluster, func(i *instances) { i.lost = true })
}

// Promote makes the next instance the primary, and the former primary a standby.
func (s *StandIn) Promote(namespace, cluster string) {
	s.change(namespace, cluster, func(i *instances) { i.lost, i.primary = false, i.primary+1 })
}

// FillDisk fills the primary's volume for the write-ahead log, or frees it. No instance takes over.
func (s *StandIn) FillDisk(namespace, cluster string, full bool) {
	s.change(namespace, cluster, func(i *instances) { i.diskFull = full })
}

// FailArchiving makes the archiving of the write-ahead log fail for a reason. With the reason "",
// the archiving succeeds.
func (s *StandIn) FailArchiving(namespace, cluster, reason string) {
	s.change(namespace, cluster, func(i *instances) { i.archiving = reason })
}

func (s *StandIn) change(namespace, cluster string, change func(*instances)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.pods[namespace+"/"+cluster]
	change(&i)
	s.pods[namespace+"/"+cluster] = i
	s.notify()
}

func (s *StandIn) instancesOf(o *unstructured.Unstructured) instances {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[o.GetNamespace()+"/"+o.GetName()]
}

func (s *StandIn) playCluster(ctx context.Context, o *unstructured.Unstructured) error {
	if o.GetDeletionTimestamp() != nil || s.isPaused(o.GetNamespace(), o.GetName()) {
		return nil
	}
	if halted := haltedBy(o); halted != nil {
		return s.setStatus(ctx, o, halted)
	}
	if err := s.createObjects(ctx, o); err != nil {
		return err
	}
	image, ok, _ := unstructured.NestedString(o.Object, "spec", "imageName")
	if !ok {
		image = Image
	}
	pods := s.instancesOf(o)
	filled, err := s.fill(ctx, o)
	if err != nil {
		return err
	}
	if !filled {
		pods.atMost = new(int64)
	}
	data, phase, err := s.playUpgrade(ctx, o, image)
	if err != nil {
		return err
	}
	status := pods.status(o)
	if phase != "" {
		status["phase"], status["readyInstances"] = phase, int64(0)
		status["instancesStatus"] = map[string]any{"healthy": []any(nil)}
	}
	s.playRoll(o, image, status)
	maps.Copy(status, map[string]any{
		"image": image, "writeService": o.GetName() + "-rw", "pgDataImageInfo": data,
		"pluginStatus": pluginStatus(o), "phaseReason": "",
	})
	ready, reason, message, since := "True", "ClusterIsReady", "Cluster is Ready", time.Now()
	switch phase := status["phase"]; {
	case phase != healthy && phase != hibernated: // hibernation does not change the condition Ready
		ready, reason, message = "False", "ClusterIsNotReady", "Cluster Is Not Ready"
	case !hasCondition(o, "Ready"):
		since = o.GetCreationTimestamp().Time
	}
	next := o.DeepCopy()
	all := withCondition(o, "Ready", ready, reason, message, since)
	if err := unstructured.SetNestedSlice(next.Object, all, "status", "conditions"); err != nil {
		return err
	}
	next.Object["status"].(map[string]any)["conditions"] = s.instancesOf(o).archived(next)
	status["conditions"] = hibernationOf(next, phaseOfCluster(o), status["phase"] == hibernated)
	if status["phase"] == healthy {
		if err := s.forgetBackups(ctx, o); err != nil {
			return err
		}
	}
	return s.setStatus(ctx, o, status)
}

// haltedBy returns the status of a Cluster with an unknown plugin, or nil. CloudNativePG changes
// nothing else of such a Cluster.
func haltedBy(o *unstructured.Unstructured) map[string]any {
	for _, plugin := range pluginsOf(o) {
		if plugin != barmanCloud {
			return map[string]any{"phase": unknownPlugin, "phaseReason": fmt.Sprintf("Unknown plugin: '%s'", plugin)}
		}
	}
	return nil
}

// barmanCloud is the only installed plugin.
const barmanCloud = "barman-cloud.cloudnative-pg.io"

func pluginStatus(o *unstructured.Unstructured) (all []any) {
	for _, plugin := range pluginsOf(o) {
		all = append(all, map[string]any{"name": plugin, "version": "0.5.0"})
	}
	return all
}

func phaseOfCluster(o *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}

// mayHibernate reports whether a Cluster with the annotation "on" is healthy or already hibernated.
// Other Clusters do not hibernate (pkg/reconciler/hibernation/status.go in CloudNativePG).
func mayHibernate(o *unstructured.Unstructured) bool {
	return o.GetAnnotations()[hibernation] == "on" && slices.Contains([]string{healthy, hibernated}, phaseOfCluster(o))
}

// hibernationOf sets the condition of the hibernation, or removes it without the annotation "on".
// During hibernation, the reason is DeletingPods at first, because pods take a moment to end.
func hibernationOf(o *unstructured.Unstructured, before string, is bool) []any {
	switch {
	case o.GetAnnotations()[hibernation] != "on":
		all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return slices.DeleteFunc(all, func(c any) bool { return c.(map[string]any)["type"] == hibernation })
	case !is:
		return withCondition(o, hibernation, "False", "WaitingForHealthy",
			"Waiting for the cluster to be healthy before proceeding with hibernation", time.Now())
	case before != hibernated:
		return withCondition(o, hibernation, "False", "DeletingPods", "Hibernation is in progress", time.Now())
	}
	return withCondition(o, hibernation, "True", "Hibernated", "Cluster has been hibernated", time.Now())
}

// archived sets the condition ContinuousArchiving, as CloudNativePG does even without an archive.
func (i instances) archived(o *unstructured.Unstructured) []any {
	const kind = "ContinuousArchiving"
	if i.archiving != "" {
		return withCondition(o, kind, "False", "ContinuousArchivingFailing", i.archiving, time.Now())
	}
	return withCondition(o, kind, "True", "ContinuousArchivingSuccess", "Continuous archiving is working", time.Now())
}

func (i instances) status(o *unstructured.Unstructured) map[string]any {
	wanted, _, _ := unstructured.NestedInt64(o.Object, "spec", "instances")
	was, _, _ := unstructured.NestedString(o.Object, "status", "currentPrimary")
	primary := fmt.Sprintf("%s-%d", o.GetName(), i.primary%wanted+1)
	target, phase := primary, healthy
	var ready []any // instancesStatus does not list pods that are being deleted
	for n := range wanted {
		if i.atMost == nil || n < *i.atMost {
			ready = append(ready, fmt.Sprintf("%s-%d", o.GetName(), (i.primary+n)%wanted+1))
		}
	}
	without := func(name string) []any { return slices.DeleteFunc(ready, func(r any) bool { return r == name }) }
	switch {
	case mayHibernate(o):
		ready, phase = nil, hibernated
	case i.diskFull:
		ready, phase = without(primary), diskFull
	case i.lost && wanted > 1:
		ready, phase, target = without(primary), failingOver, pendingFailover
	case i.lost:
		ready, phase = nil, waitingActive
	case len(ready) == 0:
		phase = firstPrimary
	case int64(len(ready)) < wanted:
		phase = creating
	}
	if len(ready) == 0 && was == "" && phase == firstPrimary {
		primary = "" // the instance manager sets currentPrimary when Postgres runs
	}
	return map[string]any{
		"phase": phase, "instances": wanted, "readyInstances": int64(len(ready)),
		"instancesStatus": map[string]any{"healthy": ready}, "currentPrimary": primary, "targetPrimary": target,
	}
}

func hasCondition(o *unstructured.Unstructured, kind string) bool {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(all, func(c any) bool { return c.(map[string]any)["type"] == kind })
}

func (s *StandIn) createObjects(ctx context.Context, cluster *unstructured.Unstructured) error {
	for _, suffix := range []string{"-rw", "-ro", "-r"} {
		service := &corev1.Service{
			ObjectMeta: metaOf(cluster, suffix),
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "postgres", Port: 5432}}},
		}
		if err := s.createOnce(ctx, cluster, service); err != nil {
			return err
		}
	}
	if err := s.createApplicationSecret(ctx, cluster); err != nil {
		return err
	}
	return s.writeBudgets(ctx, cluster)
}

func metaOf(cluster *unstructured.Unstructured, suffix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: cluster.GetNamespace(), Name: cluster.GetName() + suffix, Labels: map[string]string{
			clusterLabel: cluster.GetName(), "app.kubernetes.io/managed-by": "cloudnative-pg",
		},
	}
}

func (s *StandIn) createOnce(ctx context.Context, cluster *unstructured.Unstructured, o client.Object) error {
	if s.client.Get(ctx, client.ObjectKeyFromObject(o), o) == nil {
		return nil
	}
	if err := controllerutil.SetControllerReference(cluster, o, s.client.Scheme()); err != nil {
		return err
	}
	return client.IgnoreAlreadyExists(s.client.Create(ctx, o))
}

// createApplicationSecret creates the Secret of the database's owner, unless the spec names one
// (ShouldInitDBCreateApplicationSecret in api/v1/cluster_funcs.go).
func (s *StandIn) createApplicationSecret(ctx context.Context, cluster *unstructured.Unstructured) error {
	bootstrap, given, _ := unstructured.NestedMap(cluster.Object, "spec", "bootstrap")
	how, ok := bootstrap["initdb"].(map[string]any)
	if !ok { // recovery gets default names too (defaultRecovery in api/v1/cluster_defaults.go)
		how, ok = bootstrap["recovery"].(map[string]any)
	}
	if given && !ok || how["secret"] != nil {
		return nil
	}
	value := func(field string) string {
		if text, ok := how[field].(string); ok {
			return text
		}
		return "app"
	}
	secret := &corev1.Secret{ObjectMeta: metaOf(cluster, "-app"), Type: corev1.SecretTypeBasicAuth}
	secret.StringData = map[string]string{
		"username": value("owner"), "user": value("owner"), "password": rand.Text(), "dbname": value("database"),
		"host": cluster.GetName() + "-rw", "port": "5432",
	}
	secret.Labels[reloadLabel], secret.Labels["cnpg.io/userType"] = "true", "app"
	return s.createOnce(ctx, cluster, secret)
}

// writeBudgets overwrites existing PodDisruptionBudgets of the same names, as CloudNativePG does.
func (s *StandIn) writeBudgets(ctx context.Context, cluster *unstructured.Unstructured) error {
	wanted, _, _ := unstructured.NestedInt64(cluster.Object, "spec", "instances")
	for _, b := range []struct {
		suffix, role string
		available    int64
	}{{"-primary", "primary", 1}, {"", "replica", wanted - 2}} {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metaOf(cluster, b.suffix)}
		if b.available < 1 {
			if err := client.IgnoreNotFound(s.client.Delete(ctx, budget)); err != nil {
				return err
			}
			continue
		}
		_, err := controllerutil.CreateOrPatch(ctx, s.client, budget, func() error {
			budget.Labels = metaOf(cluster, b.suffix).Labels
			budget.Spec = policyv1.PodDisruptionBudgetSpec{
				MinAvailable: new(intstr.FromInt32(int32(b.available))), //nolint:gosec // G115: at most 7
				Selector: &metav1.LabelSelector{
					MatchLabels: map[string]string{clusterLabel: cluster.GetName(), "cnpg.io/instanceRole": b.role},
				},
			}
			if budget.UID != "" {
				return nil
			}
			return controllerutil.SetControllerReference(cluster, budget, s.client.Scheme())
		})
		if err != nil {
			return err
		}
	}
	return nil
}
