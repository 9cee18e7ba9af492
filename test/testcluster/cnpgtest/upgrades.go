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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const majorUpgrade = "Upgrading Postgres major version"

const upgradeRole = "major-upgrade"

// Upgrades selects how a Cluster's upgrades to another major version end.
type Upgrades int

// pg_upgrade renames global/pg_control of the former data before it links the files. The former
// version cannot start after that (disable_old_cluster in pg_upgrade's controldata.c). A successful
// Job has replaced the former data (CloudNativePG's moveDataInPlace).
const (
	UpgradesSucceed    Upgrades = iota
	UpgradesPend                // the pod does not start
	UpgradesRun                 // the Job has begun to link the files and does not end
	UpgradesFail                // the Job fails before it links the files
	UpgradesFailLinked          // the Job fails after it has begun to link the files
	UpgradesFailMoved           // the Job fails after it has replaced the former data
)

type pgData struct {
	of       types.UID // the Cluster
	linkedBy types.UID // the Job that began to link the files, or ""
	major    int64     // version of the data that a Job put in place, or 0
}

func (d pgData) starts(major int64) bool {
	return d.linkedBy == "" && (d.major == 0 || d.major == major)
}

// SetUpgrades selects how a Cluster's upgrades end, including a running upgrade.
func (s *StandIn) SetUpgrades(namespace, cluster string, outcome Upgrades) {
	s.change(namespace, cluster, func(i *instances) { i.upgrades = outcome })
}

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

// playUpgrade upgrades a Cluster's data in a Job while no instance runs. After the Job has
// completed, one call writes the spec's version into the status, and the next call deletes the Job.
// CloudNativePG does both in one reconcile (pkg/reconciler/majorupgrade/reconciler.go). If the spec
// returns to the former version before the status is written, playUpgrade only deletes the Job.
func (s *StandIn) playUpgrade(ctx context.Context, o *unstructured.Unstructured, image string) (
	data map[string]any, phase string, err error,
) {
	if s.instancesOf(o).data.of != o.GetUID() { // a recreated Cluster has its own data
		s.change(o.GetNamespace(), o.GetName(), func(i *instances) { i.data = pgData{of: o.GetUID()} })
	}
	job := &batchv1.Job{ObjectMeta: metaOf(o, "-1-major-upgrade")}
	exists := s.client.Get(ctx, client.ObjectKeyFromObject(job), job) == nil
	data, found, _ := unstructured.NestedMap(o.Object, "status", "pgDataImageInfo")
	wanted := majorOf(image)
	switch {
	case exists && hasEnded(job, batchv1.JobComplete) && (!found || wanted > data["majorVersion"].(int64)):
		return map[string]any{"image": image, "majorVersion": wanted}, majorUpgrade, nil // the next pass deletes the Job
	case found && wanted > data["majorVersion"].(int64):
		if !exists {
			s.archive(o.GetUID())
			return data, majorUpgrade, s.createUpgrade(ctx, o, job)
		}
		return data, majorUpgrade, s.upgrade(ctx, o, job, wanted)
	case exists:
		return data, majorUpgrade, s.deleteJob(ctx, job)
	case !s.instancesOf(o).data.starts(wanted):
		phase = waitingActive
	}
	return map[string]any{"image": image, "majorVersion": wanted}, phase, nil
}

// upgrade simulates the pod of an upgrade Job. The pod fails if another Job began to link the
// files, but did not replace the data.
func (s *StandIn) upgrade(ctx context.Context, o *unstructured.Unstructured, job *batchv1.Job, to int64) error {
	i := s.instancesOf(o)
	outcome, data := i.upgrades, i.data
	if outcome == UpgradesPend || hasEnded(job, batchv1.JobFailed) {
		return nil
	}
	other := data.linkedBy != "" && data.linkedBy != job.UID
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	phase := corev1.PodPending
	switch {
	case outcome == UpgradesRun && !other:
		data.linkedBy = job.UID
	case outcome == UpgradesSucceed && !other:
		data.linkedBy, data.major, phase = "", to, corev1.PodSucceeded
	default:
		phase = corev1.PodFailed
		switch {
		case other:
		case outcome == UpgradesFailLinked:
			data.linkedBy = job.UID
		case outcome == UpgradesFailMoved:
			data.linkedBy, data.major = "", to
		}
	}
	// The pod of a running Job stays Pending, because fake nodes complete Running pods.
	if phase != corev1.PodPending {
		ended := &corev1.ContainerStateTerminated{StartedAt: metav1.Now(), FinishedAt: metav1.Now()}
		if phase == corev1.PodFailed {
			ended.ExitCode, ended.Reason = 1, "Error"
		}
		state = corev1.ContainerState{Terminated: ended}
	}
	moved, err := s.movePods(ctx, job, phase, state)
	if err == nil && moved && data != i.data {
		s.change(o.GetNamespace(), o.GetName(), func(i *instances) { i.data = data })
	}
	return err
}

// The Job's image cannot be pulled, so that only movePods sets the pod's phase.
func (s *StandIn) createUpgrade(ctx context.Context, cluster *unstructured.Unstructured, job *batchv1.Job) error {
	job.Labels["cnpg.io/jobRole"] = upgradeRole
	job.Spec = batchv1.JobSpec{
		BackoffLimit: new(int32(0)),
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: job.Labels}, // as CreatePrimaryJob in pkg/specs/jobs.go does
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), RunAsUser: new(int64(26)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{{
					Name: upgradeRole, Image: "standin.invalid/postgres",
					SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
				}},
			},
		},
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

// movePods sets the phase of a Job's pods as a kubelet would, and reports whether a pod exists.
func (s *StandIn) movePods(
	ctx context.Context, job *batchv1.Job, phase corev1.PodPhase, state corev1.ContainerState,
) (bool, error) {
	var pods corev1.PodList
	labels := client.MatchingLabels{batchv1.JobNameLabel: job.Name}
	if err := s.client.List(ctx, &pods, client.InNamespace(job.Namespace), labels); err != nil {
		return false, err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		already := len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Waiting == nil
		if pod.Status.Phase == phase && already {
			continue
		}
		before := pod.DeepCopy()
		pod.Status.Phase = phase
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: upgradeRole, Image: "standin.invalid/postgres", Ready: state.Running != nil, State: state,
		}}
		if err := s.client.Status().Patch(ctx, pod, client.MergeFrom(before)); err != nil {
			return false, err
		}
	}
	return len(pods.Items) > 0, nil
}
