// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managedBy is the spec.managedBy of simulated Jobs. The Job controller ignores such Jobs.
const managedBy = "jutsu.com/cnpg-stand-in"

// FailBootstrap sets the number of failing pods of the Job that fills a new Cluster.
func (s *StandIn) FailBootstrap(namespace, cluster string, pods int32) {
	s.change(namespace, cluster, func(i *instances) { i.failedPods = pods })
}

// fill simulates the Job that fills a new Cluster. It reports whether the Cluster has its data
// (createPrimaryInstance in internal/controller/cluster_create.go, and pkg/specs/jobs.go).
func (s *StandIn) fill(ctx context.Context, o *unstructured.Unstructured) (filled bool, err error) {
	role := bootstrapRole(o)
	if primary, _, _ := unstructured.NestedString(o.Object, "status", "currentPrimary"); role == "" || primary != "" {
		return true, nil
	}
	if name, found, _ := unstructured.NestedString(o.Object, "spec", "bootstrap", "recovery", "backup", "name"); found {
		if backup := s.get(ctx, "Backup", o.GetNamespace(), name); backup == nil || phaseOf(backup) != BackupCompleted {
			return false, nil
		}
	}
	job := &batchv1.Job{ObjectMeta: metaOf(o, "-1-"+role)}
	err = s.client.Get(ctx, client.ObjectKeyFromObject(job), job)
	if apierrors.IsNotFound(err) {
		return false, s.createJob(ctx, o, job)
	} else if err != nil {
		return false, err
	}
	pods := s.instancesOf(o)
	status := batchv1.JobStatus{Active: 1, Failed: pods.failedPods}
	if s.lacksPassword(ctx, o) {
		status.Failed = max(status.Failed, 1)
	}
	if status.Failed == 0 && (pods.atMost == nil || *pods.atMost > 0) {
		return true, client.IgnoreNotFound(s.client.Delete(ctx, job, client.PropagationPolicy("Background")))
	}
	if job.Status.Active == status.Active && job.Status.Failed == status.Failed {
		return false, nil
	}
	job.Status = status
	return false, s.client.Status().Update(ctx, job)
}

func bootstrapRole(o *unstructured.Unstructured) string {
	bootstrap, _, _ := unstructured.NestedMap(o.Object, "spec", "bootstrap")
	if recovery, ok := bootstrap["recovery"].(map[string]any); ok {
		if recovery["source"] == nil {
			return "snapshot-recovery"
		}
		return "full-recovery"
	}
	if initdb, ok := bootstrap["initdb"].(map[string]any); ok && initdb["import"] != nil {
		return "import"
	}
	return ""
}

func (s *StandIn) createJob(ctx context.Context, o *unstructured.Unstructured, job *batchv1.Job) error {
	job.Spec.ManagedBy = new(managedBy)
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{Name: "job", Image: Image, SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}},
	}
	return s.createOnce(ctx, o, job)
}

func (s *StandIn) lacksPassword(ctx context.Context, o *unstructured.Unstructured) bool {
	all, _, _ := unstructured.NestedSlice(o.Object, "spec", "externalClusters")
	for _, external := range all {
		ref, found, _ := unstructured.NestedStringMap(external.(map[string]any), "password")
		secret := &corev1.Secret{}
		key := client.ObjectKey{Namespace: o.GetNamespace(), Name: ref["name"]}
		if found && (s.client.Get(ctx, key, secret) != nil || len(secret.Data[ref["key"]]) == 0) {
			return true
		}
	}
	return false
}
