// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

func TestHibernationMessages(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(func(dojo *corev1api.Dojo) { dojo.Spec.Suspend = true })
	in := cnpg.Input{Now: dojotest.Noon, Deadline: time.Minute}
	cluster := &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo-db"}}
	says := func() string { return hibernation(dojo, cluster, in).Message }
	cluster.Status.ReadyInstances = 2
	if got := says(); got != "Waiting for the hibernation of the Cluster school/tokyo-db: 2 instances are still ready." {
		t.Error(got)
	}
	cluster.Status.Conditions = []metav1.Condition{{Type: cnpg.HibernationAnnotation, Message: "Waiting for pg-1 to be deleted"}}
	if got := says(); got != "Waiting for the hibernation of the Cluster school/tokyo-db: Waiting for pg-1 to be deleted." {
		t.Error(got)
	}
	if issue := hibernation(dojo, cluster, in); issue.Type != conditions.TypeProgressing || issue.WaitingFor == "" {
		t.Errorf("%+v", issue)
	}
}

// CloudNativePG sets the image in the status before an instance runs the image, so only the phase
// shows that the roll-out is incomplete.
func TestARollOutIsIncomplete(t *testing.T) {
	t.Parallel()
	dojo := sizedDojo("", "1Gi", nil)
	live := &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo-db"}}
	live.Spec.Instances = 3
	live.Status = cnpgv1.ClusterStatus{
		ReadyInstances: 3, CurrentPrimary: "db-1", TargetPrimary: "db-1", Phase: cnpgv1.PhaseUpgrade,
		InstancesStatus: map[cnpgv1.PodStatus][]string{cnpgv1.PodHealthy: {"db-1"}},
	}
	in := Input{Input: cnpg.Input{Now: dojotest.Noon, Deadline: time.Minute}}
	step := Wait(dojo, State{Live: live}, in)
	if i := step.Incomplete; step.Blocks != nil || i == nil || !strings.HasSuffix(i.Message, "are ready: Upgrading cluster.") {
		t.Errorf("%+v", step)
	}
	live.Status.Phase = cnpgv1.PhaseHealthy
	if step := Wait(dojo, State{Live: live}, in); step.Blocks != nil || step.Incomplete != nil {
		t.Errorf("%+v", step)
	}
}

func TestAdviceForAMissingCluster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known *corev1api.DatabaseStatus
		want  string
	}{
		"no database status":     {nil, "Create the Cluster; the Dojo then continues automatically."},
		"no login in the status": {&corev1api.DatabaseStatus{Name: "dojo_school_tokyo"}, "Create the Cluster;"},
		"a login in the status": {
			&corev1api.DatabaseStatus{Name: "dojo_school_tokyo", Login: "dojo_school_tokyo"},
			"It had the data of this Dojo in the database dojo_school_tokyo. Restore the Cluster",
		},
	} {
		dojo := dojotest.Dojo(func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "pg"}}
			dojo.Status.Database = c.known
			dojotest.WaitingFor("Cluster school/pg", time.Hour)(dojo)
		})
		in := Input{Input: cnpg.Input{Now: dojotest.Noon, Deadline: time.Minute}}
		issue := Wait(dojo, State{}, in).Blocks
		if issue == nil || issue.Reason != corev1api.ReasonClusterNotFound ||
			!strings.Contains(issue.Message, "does not exist. "+c.want) {
			t.Errorf("%s: %+v", name, issue)
		}
	}
}
