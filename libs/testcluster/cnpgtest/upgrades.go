// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"context"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// majorUpgrade is the phase of a Cluster whose data is being upgraded.
const majorUpgrade = "Upgrading Postgres major version"

// Upgrades is what comes of upgrades to another major version.
type Upgrades int

// The outcomes; at first upgrades succeed.
const (
	UpgradesSucceed Upgrades = iota
	UpgradesRun              // and do not end
	UpgradesFail
)

// SetUpgrades sets what comes of upgrades of a Cluster from now on, one that is under way included.
func (s *StandIn) SetUpgrades(namespace, cluster string, outcome Upgrades) {
	s.change(namespace, cluster, func(i *instances) { i.upgrades = outcome })
}

// majorOf is the major version in the tag of an image, 0 for none.
func majorOf(image string) int64 {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	end := strings.IndexFunc(tag, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(tag)
	}
	major, _ := strconv.ParseInt(tag[:end], 10, 64)
	return major
}

// playUpgrade brings the data of a Cluster to the version of its image, in a Job while no instance runs; or
// back, where the image is that of the former version again (pkg/reconciler/majorupgrade). It returns the
// image of the data, and whether that is being upgraded.
func (s *StandIn) playUpgrade(ctx context.Context, o *unstructured.Unstructured, image string) (
	data map[string]any, runs bool, err error,
) {
	job := &batchv1.Job{ObjectMeta: metaOf(o, "-1-major-upgrade")}
	exists := s.client.Get(ctx, client.ObjectKeyFromObject(job), job) == nil
	data, found, _ := unstructured.NestedMap(o.Object, "status", "pgDataImageInfo")
	wanted := majorOf(image)
	if !found || wanted <= data["majorVersion"].(int64) {
		if exists {
			return data, true, s.deleteJob(ctx, job)
		}
		return map[string]any{"image": image, "majorVersion": wanted}, false, nil
	}
	if !exists {
		return data, true, s.createUpgrade(ctx, o, job)
	}
	switch outcome := s.instancesOf(o).upgrades; {
	case hasEnded(job, batchv1.JobComplete):
		data = map[string]any{"image": image, "majorVersion": wanted}
		return data, true, s.deleteJob(ctx, job)
	case outcome == UpgradesSucceed:
		err = s.endPods(ctx, job, corev1.PodSucceeded)
	case outcome == UpgradesFail && !hasEnded(job, batchv1.JobFailed):
		err = s.endPods(ctx, job, corev1.PodFailed)
	}
	return data, true, err
}

// createUpgrade creates the Job. Its image cannot be pulled, so that its pod runs until the stand-in ends it.
func (s *StandIn) createUpgrade(ctx context.Context, cluster *unstructured.Unstructured, job *batchv1.Job) error {
	job.Labels["cnpg.io/jobRole"] = "major-upgrade"
	job.Spec = batchv1.JobSpec{
		BackoffLimit: new(int32(0)),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(26)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "major-upgrade", Image: "standin.invalid/postgres",
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		}},
	}
	return s.createOnce(ctx, cluster, job)
}

func (s *StandIn) deleteJob(ctx context.Context, job *batchv1.Job) error {
	return client.IgnoreNotFound(s.client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

func hasEnded(job *batchv1.Job, how batchv1.JobConditionType) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == how && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// endPods ends the pods of a Job, as a kubelet would report it.
func (s *StandIn) endPods(ctx context.Context, job *batchv1.Job, phase corev1.PodPhase) error {
	var pods corev1.PodList
	labels := client.MatchingLabels{"batch.kubernetes.io/job-name": job.Name}
	if err := s.client.List(ctx, &pods, client.InNamespace(job.Namespace), labels); err != nil {
		return err
	}
	for i := range pods.Items {
		before := pods.Items[i].DeepCopy()
		pods.Items[i].Status.Phase = phase
		if err := s.client.Status().Patch(ctx, &pods.Items[i], client.MergeFrom(before)); err != nil {
			return err
		}
	}
	return nil
}
