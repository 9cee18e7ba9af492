// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

func TestStatistics(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	planned := Statistics(d.dojo, State{}, "from 16 to 17", as, pods.Users{})
	if planned == nil || planned.Kind != "Job" {
		t.Fatal(planned)
	}
	job := apply.As[*batchv1.Job](planned.Desired.Object)
	job.UID = "uid of job"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: "gathers"}}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	job.OwnerReferences = []metav1.OwnerReference{{UID: d.dojo.UID, Controller: new(true)}}
	d.more = append(d.more, job, pod)
	s, _ := d.observe()
	if len(s.Jobs) > 0 || len(s.Alive()) > 0 {
		t.Errorf("SQL waits for the statistics: %v %v", s.Jobs, s.Pods)
	}
	if Statistics(d.dojo, s, "from 16 to 17", as, pods.Users{}) != nil {
		t.Error("the statistics are gathered twice")
	}
	if Statistics(d.dojo, s, "from 17 to 18", as, pods.Users{}) == nil {
		t.Error("the statistics are not gathered after another upgrade")
	}
}
